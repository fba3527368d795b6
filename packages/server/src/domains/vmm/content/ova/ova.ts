/** Operations on OVAs, and the download of their files. Source: behaviour vmm.md 1.11, 1.16, 3.6, 3.9. */
import type { BodyOf, Declared } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Ova, ovaOperations } from '@hyperplane/contract/vmm/content/ova'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError, refuseAll } from '../../../../core/api-error.ts'
import type { TaskStarted } from '../../../../core/handlers.ts'
import { created } from '../../../../core/updates.ts'
import type { ByteRange } from '../../../../drivers/content-source.ts'
import { type AffectedEntity, implement, mayRefer, type TaskOptions, type WriteContext } from '../../../context.ts'
import { requireClusterReachable } from '../../../registrations/reachability.ts'
import type { VmBody, VmEntity } from '../../../virtual-machines/entity.ts'
import { fault, withPathPrefix } from '../../../virtual-machines/fault.ts'
import { affectedVm, requireNoMigration } from '../../vm/admission.ts'
import { makingVm, type NewVm } from '../../vm/create/create.ts'
import { derivedFaults, deriveVm, type Overrides } from '../../vm/create/derived-vm.ts'
import { nameFaults, overrideFaults } from '../../vm/rules.ts'
import { refuseUnbuilt } from '../../vm/unbuilt.ts'
import { fileAnswer } from '../file-answer.ts'
import { distinct, holderOf, requireLocations } from '../locations.ts'
import { keyFaults, noObjectStore, objectOf, pathOf } from '../object-source.ts'
import { createOvaOfUrl, createOvaOfVm, deleteOva, maximumOvas, requireRoomForOva, updateOva } from './ova-tasks.ts'
import { blueprintOfOva, type OvaEntity } from './vm-config.ts'

type Body = BodyOf<typeof Ova>
type Source = NonNullable<Body['source']>
type Deployment = typeof ovaOperations.deployOva extends Declared<infer B> ? B : never

const vmSourceType = 'vmm.v4.content.OvaVmSource'

const affectedOva = ({ extId, name }: OvaEntity): AffectedEntity => ({ extId, name, rel: Ova.rel })

const taskOf = (action: 'Create' | 'Delete' | 'Update', ova: OvaEntity): TaskOptions => ({
  operation: `kOva${action}`,
  description: `${action} OVA`,
  affected: [affectedOva(ova)],
  clusterExtIds: ova.clusterLocationExtIds ?? [],
})

interface DeployedVm extends NewVm {
  readonly ovaExtId: string
}

export const makeOvaVm = makingVm<DeployedVm>('vmm.deploy-ova', { creation: 'unpack' })

export const ova = implement(
  ovaOperations,
  {
    async createOva(ctx, { body, prepared }) {
      const source = body.source as Source
      const object = objectOf(Ova.kind, source)
      if (object !== undefined && !ctx.drivers.contentSource.readsObjects)
        throw new ApiError('OVA_UPLOAD_FAILED', { name: body.name, source: pathOf(object), cause: noObjectStore })
      await requireRoomForOva(ctx)
      return source.$objectType === vmSourceType
        ? createOfVm(ctx, body, source as FromVm)
        : createFromOutside(ctx, body, object !== undefined || prepared === true)
    },

    async updateOvaById(ctx, { body }) {
      const { extId } = ctx.target
      await ctx.store.touch(Ova, extId)
      return ctx.startTask(updateOva, { extId, name: body.name }, taskOf('Update', { ...ctx.target, name: body.name }))
    },

    deleteOvaById: (ctx) => ctx.startTask(deleteOva, { extId: ctx.target.extId }, taskOf('Delete', ctx.target)),

    deployOva: (ctx, { body }) => deploy(ctx, body),

    async getFileByOvaId(ctx, { headers }) {
      const { extId: ovaExtId, name, sizeBytes = 0 } = ctx.target
      const file = { ovaExtId, clusterExtId: holderOf(ctx, ctx.target) }
      const { sha256, areGiven } = await ctx.drivers.ovaFiles.digests(file)
      const read = (part: ByteRange) => ctx.drivers.ovaFiles.read(file, part)
      const own = areGiven === true ? undefined : sha256
      return fileAnswer({ name: `${name}.ova`, sizeBytes, sha256: own, range: headers.range, read })
    },
  },
  {
    rules: {
      createOva: ({ body }) => [...nameFaults(body), ...sourceFaults(body)],
      updateOvaById: ({ body }) => nameFaults(body),
      deployOva: ({ body: { overrideVmConfig } }) => {
        refuseUnbuilt('deployOva', overrideVmConfig as VmBody)
        return withPathPrefix('overrideVmConfig', overrideFaults(overrideVmConfig as Overrides))
      },
    },
    prepare: {
      // Before the transaction: the answer may take time.
      async createOva(ctx, { body }) {
        const url = urlOf(body)
        return url === undefined ? undefined : ctx.drivers.ovaFiles.canReach(url)
      },
    },
    tasks: [createOvaOfUrl, createOvaOfVm, deleteOva, makeOvaVm, updateOva],
    limits: [maximumOvas],
  },
)

const urlOf = ({ source }: Body): string | undefined => (source as { readonly url?: string } | undefined)?.url

function sourceFaults({ source, checksum, clusterLocationExtIds = [] }: Body): ApiError[] {
  if (source === undefined)
    return [fault('source', 'one of OvaVmSource, OvaUrlSource and ObjectsLiteSource', undefined)]
  if (source.$objectType !== vmSourceType)
    return clusterLocationExtIds.length > 0
      ? keyFaults(source)
      : [...keyFaults(source), fault('clusterLocationExtIds', 'the clusters that get the OVA', undefined)]
  if (checksum === undefined) return []
  return [fault('checksum', 'none: the archive of a VM has no digest beforehand', checksum)]
}

async function insertOva(ctx: WriteContext, body: Body, clusterLocationExtIds: readonly string[]): Promise<OvaEntity> {
  const now = ctx.clock.iso()
  const createdBy = { extId: ctx.caller.extId, username: ctx.caller.name }
  const ova = created(ctx, Ova, body, {
    clusterLocationExtIds: [...clusterLocationExtIds],
    createTime: now,
    lastUpdateTime: now,
    createdBy,
  })
  await ctx.store.insert(Ova, ova, { pending: true })
  return ova
}

async function createFromOutside(ctx: WriteContext, body: Body, isReachable: boolean): Promise<TaskStarted> {
  const locations = distinct(body.clusterLocationExtIds ?? [])
  await requireLocations(ctx, locations)
  if (!isReachable) {
    const values = { name: body.name, source: urlOf(body) ?? '', cause: 'the server cannot be reached' }
    throw new ApiError('OVA_UPLOAD_FAILED', values)
  }
  const ova = await insertOva(ctx, body, locations)
  const task = await ctx.startTask(createOvaOfUrl, { extId: ova.extId }, taskOf('Create', ova))
  return { ...task, created: ova.extId }
}

interface FromVm {
  readonly vmExtId: string
  readonly diskFileFormat: 'QCOW2' | 'VMDK'
}

/** An unknown VM, or one that the caller may not refer to, fails the task. */
async function createOfVm(ctx: WriteContext, body: Body, source: FromVm): Promise<TaskStarted> {
  const { vmExtId, diskFileFormat: format } = source
  const stored = await ctx.store.get(Vm, vmExtId)
  const vm = (await mayRefer(ctx, Vm, stored)) ? stored : undefined
  const locations = vm === undefined ? [] : [vm.cluster?.extId as string]
  const others = (body.clusterLocationExtIds ?? []).filter((extId) => !locations.includes(extId))
  if (vm !== undefined && others.length > 0)
    throw fault('clusterLocationExtIds', `the cluster of the VM (${locations[0]}), or nothing`, others)
  if (vm !== undefined) {
    await requireClusterReachable(ctx, vm.cluster?.extId)
    // The archive is written where the disks are.
    requireNoMigration(vm)
  }
  const ova = await insertOva(ctx, body, locations)
  const input = { extId: ova.extId, vmExtId, format, ...(vm === undefined ? { isAbsent: true as const } : {}) }
  const locks = [ova.extId, ...(vm === undefined ? [] : [vmExtId])]
  const task = await ctx.startTask(createOvaOfVm, input, { ...taskOf('Create', ova), locks })
  return { ...task, created: ova.extId }
}

async function deploy(ctx: WriteContext<OvaEntity>, body: Deployment): Promise<TaskStarted> {
  const { extId: ovaExtId, name, parentVm, clusterLocationExtIds = [] } = ctx.target
  const { clusterLocationExtId: clusterExtId, overrideVmConfig } = body
  if (!clusterLocationExtIds.includes(clusterExtId)) {
    const cluster = (await ctx.store.get(Cluster, clusterExtId))?.name ?? clusterExtId
    throw new ApiError('CONFLICT', {
      fault: `The OVA "${name}" is not on the cluster "${cluster}". Deploy it to one of its locations: ${clusterLocationExtIds.join(', ')}.`,
    })
  }
  const blueprint = blueprintOfOva(ctx.target, clusterExtId)
  const overrides = { name: parentVm, ...overrideVmConfig, cluster: { extId: clusterExtId } } as Overrides
  refuseAll(withPathPrefix('overrideVmConfig', derivedFaults(blueprint, overrides)))
  return deriveVm(ctx, blueprint, overrides, {
    task: makeOvaVm,
    input: { ovaExtId },
    options: (vm: VmEntity) => ({
      operation: 'kOvaDeploy',
      description: 'Deploy OVA',
      affected: [affectedOva(ctx.target), affectedVm(vm)],
      clusterExtIds: [clusterExtId],
    }),
  })
}
