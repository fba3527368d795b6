/** createVm, perhaps like another VM or one in a recovery point, except for fields of the request. Source: behaviour vmm.md 1.1. */
import type { EntityOf, Resource } from '@hyperplane/contract'
import { VmRecoveryPoint } from '@hyperplane/contract/vmm/vm/recovery-point'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError } from '../../../../core/api-error.ts'
import type { TaskStarted } from '../../../../core/handlers.ts'
import { mayRefer, type WriteContext } from '../../../context.ts'
import { requireClusterReachable } from '../../../registrations/reachability.ts'
import type { VmBody, VmEntity } from '../../../virtual-machines/entity.ts'
import { fault } from '../../../virtual-machines/fault.ts'
import { requireShortQueue } from '../../admission.ts'
import { requireNoMigration, taskOf } from '../admission.ts'
import { blueprintOfVm, requireFilesOf } from '../clone.ts'
import { blueprintOfPoint } from '../recovery-points/captured.ts'
import { requireNative } from '../recovery-points/native.ts'
import { type Missing, presentNics, requireCaptured } from '../recovery-points/restore.ts'
import { overrideFaults } from '../rules.ts'
import { refuseUnbuilt } from '../unbuilt.ts'
import { makeVm, makingVm, type NewVm, newVm } from './create.ts'
import { type Blueprint, deriveVm, nicLike, type Overrides } from './derived-vm.ts'
import { newVmBodyFaults } from './plan.ts'

interface Creation {
  readonly body: VmBody
  readonly defaulted?: readonly string[]
}

interface Copy extends NewVm {
  readonly sourceExtId: string
  readonly isPoint?: true
  readonly missing?: readonly Missing[]
}

const givenIn = ({ body, defaulted = [] }: Creation): Overrides =>
  Object.fromEntries(Object.entries(body).filter(([name]) => !defaulted.includes(name)))

export function newVmFaults(creation: Creation): ApiError[] {
  const { source } = creation.body
  if (source === undefined) return newVmBodyFaults(creation.body)
  refuseUnbuilt('createVm', creation.body)
  const missing = (['entityType', 'extId'] as const).filter((name) => source[name] === undefined)
  return [
    ...missing.map((name) => fault(`source/${name}`, 'the type and the id of a VM or a recovery point', undefined)),
    ...overrideFaults(givenIn(creation)),
  ]
}

export async function createVm(ctx: WriteContext, creation: Creation): Promise<TaskStarted> {
  const { source, guestTools } = creation.body
  const body = guestTools === undefined ? creation.body : { ...creation.body, guestTools: enabled(guestTools) }
  if (source === undefined)
    return newVm(ctx, body, { contents: new Map(), task: makeVm, input: {}, options: (vm) => taskOf('CreateVm', vm) })
  const { blueprint, overrides, ...input } = await (source.entityType === 'VM' ? likeVm : likePoint)(
    ctx,
    source.extId as string,
    givenIn({ ...creation, body }),
  )
  return deriveVm(ctx, blueprint, overrides, {
    task: copyVm,
    input: { ...input, sourceExtId: source.extId as string },
    options: (vm) => ({ ...taskOf('CreateVm', vm), locks: [source.extId as string] }),
  })
}

type Like = Pick<Copy, 'isPoint' | 'missing'> & { readonly blueprint: Blueprint; readonly overrides: Overrides }

async function likeVm(ctx: WriteContext, extId: string, given: Overrides): Promise<Like> {
  const vm = await requireSource(ctx, Vm, extId)
  await requireClusterReachable(ctx, vm.cluster?.extId)
  if (requireShortQueue(ctx, vm.extId, vm.name) > 0) requireNoMigration(vm)
  const blueprint = blueprintOfVm(vm)
  return { blueprint, overrides: { ...given, ...toolsOver(blueprint.spec, given) } }
}

async function likePoint(ctx: WriteContext, extId: string, given: Overrides): Promise<Like> {
  const point = await requireSource(ctx, VmRecoveryPoint, extId)
  await requireClusterReachable(ctx, point.clusterExtId)
  requireNative(point)
  const blueprint = blueprintOfPoint(point)
  const captured = given.nics === undefined ? (blueprint.spec.nics ?? []) : []
  const { kept, missing } = await presentNics(ctx.store, captured)
  const nics = missing.length === 0 ? {} : { nics: kept.map(nicLike) }
  const overrides = { categories: undefined, ...given, ...nics, ...toolsOver(blueprint.spec, given) }
  return { blueprint, overrides, isPoint: true, missing }
}

/** @throws ApiError 404 also for an entity that the caller may not see */
async function requireSource<R extends typeof Vm | typeof VmRecoveryPoint>(
  ctx: WriteContext,
  kind: R,
  extId: string,
): Promise<EntityOf<R>> {
  const entity = (await ctx.store.get(kind as Resource, extId)) as EntityOf<R> | undefined
  if (entity !== undefined && (await mayRefer(ctx, kind, entity))) return entity
  throw new ApiError('VMM_ENTITY_NOT_FOUND', { kind: kind.title, id: extId, attribute: 'source/extId' })
}

type Tools = NonNullable<VmBody['guestTools']>
const enabled = (tools: Tools): Tools => ({ ...tools, isEnabled: tools.isEnabled ?? true })

/** The tools are installed on the disks: other disks do not have them. */
function toolsOver(spec: VmEntity, { disks, guestTools }: Overrides): Overrides {
  const copied = disks === undefined ? spec.guestTools : undefined
  return copied === undefined && guestTools === undefined
    ? { guestTools: undefined }
    : { guestTools: { ...copied, ...guestTools } }
}

export const copyVm = makingVm<Copy>('vmm.copy-vm', {
  check: ({ store }, { sourceExtId, isPoint, missing = [], copies }) =>
    isPoint === true
      ? requireCaptured(store, { pointExtId: sourceExtId, isStrict: true, missing })
      : requireFilesOf(store, sourceExtId, copies),
})
