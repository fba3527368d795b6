/**
 * Files are copied beside the running VM; then one call switches over. Earlier failures leave the VM unchanged.
 * Source: behaviour vmm.md 1.1 (migrate), 1.16, 3.5; conventions 7.
 */
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { type ApiError, refuseAll } from '../../../../core/api-error.ts'
import type { TaskStarted } from '../../../../core/handlers.ts'
import type { ClusterMove } from '../../../../drivers/hypervisor.ts'
import { floatingIpsOf } from '../../../addressing/floating-ips.ts'
import {
  defineTask,
  type Plan,
  type RecordContext,
  type StepContext,
  throwIfCanceled,
  type WriteContext,
} from '../../../context.ts'
import { requireClusterReachable } from '../../../registrations/reachability.ts'
import { releaseOtherReservations, releaseReservation, reserve } from '../../../scheduling/scheduler.ts'
import type { FileBacking, VmEntity } from '../../../virtual-machines/entity.ts'
import { fault } from '../../../virtual-machines/fault.ts'
import { notePower } from '../../../virtual-machines/power-journal.ts'
import { isEmulated } from '../../../virtual-machines/virtual-functions.ts'
import { admitVm, endUnchanged, type OfVm, requireVm, taskOf } from '../admission.ts'
import { domainOf } from '../domain.ts'
import { underWay, without } from '../files.ts'
import { keepShownAddresses, reserveAddresses } from '../parts/nic-addresses.ts'
import { withHeld } from '../parts/nics.ts'
import { refuseUnbuiltNic } from '../unbuilt.ts'
import { type Asking, allFilesOf, type Body, findingsOf, type Request, type Target } from './findings.ts'
import { leaveCopies } from './left-copies.ts'
import { movedVm } from './moved-vm.ts'

interface Migration extends OfVm, Request {}

interface MovedFile {
  readonly diskExtId: string
  readonly copyExtId: string
  readonly containerExtId: string
}

interface Move extends Target {
  readonly formerExtId: string
  readonly files: readonly MovedFile[]
}

const [copyFrom, copyTo, memoryTo] = [10, 80, 95]

export function crossClusterFaults({ overrides, targetAvailabilityZone: zone }: Body): ApiError[] {
  const { overrideNicList = [], storageContainersMapping: mapping = [] } = overrides ?? {}
  for (const nic of overrideNicList) if (!isEmulated(nic)) refuseUnbuiltNic('crossClusterMigrateVm', nic)
  const sources = mapping.map(({ sourceStorageContainer }) => sourceStorageContainer?.extId)
  return [
    ...(zone.extId === undefined ? [fault('targetAvailabilityZone/extId', 'the id of a zone', undefined)] : []),
    ...mapping.flatMap(({ sourceStorageContainer, targetStorageContainer }, index) => {
      const at = `overrides/storageContainersMapping[${index}]`
      const source = sourceStorageContainer?.extId
      const isNew = source !== undefined && sources.indexOf(source) === index
      return [
        ...(isNew
          ? []
          : [fault(`${at}/sourceStorageContainer/extId`, 'a container that no other entry names', source)]),
        ...(targetStorageContainer?.extId === undefined
          ? [fault(`${at}/targetStorageContainer/extId`, 'the id of a storage container', undefined)]
          : []),
      ]
    }),
  ]
}

export async function migrateAcross(ctx: WriteContext<VmEntity>, body: Body): Promise<TaskStarted> {
  const vm = await admitVm(ctx, ctx.target, stateFor(body))
  const target = body.targetCluster?.extId
  await requireClusterReachable(ctx, target)
  // Tasks of floating IPs lock the NIC that they translate to.
  const locks = [vm.extId, ...(vm.nics ?? []).flatMap(({ extId }) => extId ?? [])]
  const options = taskOf('CrossClusterMigrateVm', vm)
  const clusterExtIds = [...options.clusterExtIds, ...(target === undefined ? [] : [target])]
  const input = { vmExtId: vm.extId, body }
  const task = await ctx.startTask(migrateToCluster, input, { ...options, clusterExtIds, locks })
  // From now on: requests that are planned for the former cluster must not wait behind the migration.
  await ctx.store.observe(Vm, vm.extId, { migrationTaskExtId: task.extId })
  return task
}

const stateFor = ({ isLiveMigration }: Body): 'migrate live' | 'migrate' =>
  isLiveMigration ? 'migrate live' : 'migrate'

const moveIn = (ctx: Pick<StepContext, 'outputs'>): Move | undefined => ctx.outputs['check'] as Move | undefined

export const migrateToCluster = defineTask<Migration>({
  name: 'vmm.migrate-vm-to-cluster',
  cancelableUntil: 'switch',
  pointOfNoReturn: 'release source',
  plan: async (ctx, input) => planOf(ctx, input),
  steps: [
    {
      name: 'check',
      progress: copyFrom,
      record: async (ctx, input) => ({ keep: await reserveMove(ctx, input) }),
      unrecord: async (ctx, { vmExtId }) => {
        const vm = await ctx.store.get(Vm, vmExtId)
        if (vm === undefined) return
        await releaseOtherReservations(ctx.store, vm)
        for (const { extId } of vm.nics ?? []) await keepShownAddresses(ctx, { vmExtId, partExtId: extId as string })
      },
    },
    {
      name: 'copy disks',
      progress: copyTo,
      run: copyAll,
      undo: deleteCopies,
    },
    {
      name: 'switch',
      progress: 99,
      run: async (ctx, { vmExtId }) => {
        const vm = await requireVm(ctx.store, vmExtId)
        const report = (share: number): Promise<void> => reached(ctx, copyTo + (memoryTo - copyTo) * share)
        await ctx.drivers.hypervisor.moveVm(await driverMove(ctx, vm), report)
      },
      record: recordSwitch,
      undo: async (ctx, { vmExtId }) => {
        const vm = await ctx.store.get(Vm, vmExtId)
        const move = moveIn(ctx)
        if (vm !== undefined && move !== undefined)
          await ctx.drivers.hypervisor.moveVm(await driverMoveBack(ctx, vm, move))
      },
    },
    {
      name: 'release source',
      run: releaseSource,
      record: async (ctx, input, isReleased) => {
        const { formerExtId = '', files = [] } = moveIn(ctx) ?? {}
        if (isReleased === false) await leaveCopies(ctx.store, formerExtId, copyIds(files))
        await endUnchanged(ctx, input)
      },
    },
  ],
  onUndone: unlock,
})

/** @returns false if the former cluster does not answer: `removeLeftCopies` deletes its files later */
async function releaseSource(ctx: StepContext): Promise<boolean> {
  const { formerExtId = '', files = [] } = moveIn(ctx) ?? {}
  const { floatingIpExtIds = [] } = (ctx.outputs['switch'] ?? {}) as { floatingIpExtIds?: readonly string[] }
  for (const extId of floatingIpExtIds) await ctx.drivers.networkFabric.removeFloatingIp(extId)
  if (!ctx.drivers.hardware.isReachable(formerExtId)) return false
  // The ids of the copies now name the files on the former cluster.
  for (const extId of copyIds(files)) await ctx.drivers.hypervisor.deleteDisk(extId)
  return true
}

/** @throws ApiError with all problems together */
async function reserveMove(ctx: RecordContext, input: Migration): Promise<Move> {
  const vm = await requireVm(ctx.store, input.vmExtId, stateFor(input.body))
  const { problems, warnings, target } = await findingsOf(ctx, vm, input)
  refuseAll(problems)
  for (const text of warnings) ctx.warn(text)
  const { hostExtId, nics, containers } = target as Target
  const files = Object.entries(containers).map(([diskExtId, containerExtId]): MovedFile => {
    return { diskExtId, copyExtId: ctx.ids.uuid(), containerExtId }
  })
  if (hostExtId !== undefined) await reserve(ctx.store, movedVm(vm, target as Target), hostExtId)
  for (const nic of nics) await reserveAddresses(ctx, nic)
  await ctx.store.observe(Vm, vm.extId, {
    isCrossClusterMigrationInProgress: true,
    filesUnderWay: [...(vm.filesUnderWay ?? []), ...underWay(files.map(copyOf))],
  })
  return { ...(target as Target), formerExtId: vm.cluster?.extId as string, files }
}

const copyOf = ({ copyExtId, containerExtId }: MovedFile): FileBacking => ({
  diskExtId: copyExtId,
  storageContainer: { extId: containerExtId },
})

async function copyAll(ctx: StepContext): Promise<void> {
  const { files = [] } = moveIn(ctx) ?? {}
  for (const [index, { diskExtId, ...copy }] of files.entries()) {
    const report = (share: number): Promise<void> =>
      reached(ctx, copyFrom + ((copyTo - copyFrom) * (index + share)) / files.length)
    await report(0)
    await ctx.drivers.hypervisor.copyDisk(diskExtId, copy, report)
  }
}

/** A request to cancel the task ends the migration until the VM switches over. */
async function reached(ctx: StepContext, percentage: number): Promise<void> {
  throwIfCanceled(ctx)
  await ctx.progress(Math.floor(percentage))
}

/** Does not wait for a silent target, which would lock the VM: `removeLeftCopies` deletes the copies later. */
async function deleteCopies(ctx: StepContext, { vmExtId }: OfVm): Promise<void> {
  const { clusterExtId = '', files = [] } = moveIn(ctx) ?? {}
  if (!ctx.drivers.hardware.isReachable(clusterExtId)) return
  for (const { copyExtId } of files) await ctx.drivers.hypervisor.deleteDisk(copyExtId)
  await ctx.checkpoint(undefined, async ({ store }) => {
    const vm = await store.get(Vm, vmExtId)
    if (vm !== undefined) await store.observe(Vm, vmExtId, { filesUnderWay: without(vm, copyIds(files)) })
  })
}

const copyIds = (files: readonly MovedFile[]): string[] => files.map(({ copyExtId }) => copyExtId)

async function unlock(ctx: RecordContext, input: OfVm): Promise<void> {
  const vm = await ctx.store.get(Vm, input.vmExtId)
  if (vm === undefined) return
  const { clusterExtId, files = [] } = moveIn(ctx) ?? {}
  const copies = copyIds(files)
  const left = (vm.filesUnderWay ?? []).flatMap(({ diskExtId }) => (copies.includes(diskExtId) ? [diskExtId] : []))
  await ctx.store.observe(Vm, vm.extId, {
    isCrossClusterMigrationInProgress: false,
    migrationTaskExtId: undefined,
    filesUnderWay: without(vm, copies),
  })
  await endUnchanged(ctx, input)
  await leaveCopies(ctx.store, clusterExtId as string, left)
}

async function driverMove(ctx: StepContext, vm: VmEntity): Promise<ClusterMove> {
  const { files, ...target } = moveIn(ctx) as Move
  const nics = await Promise.all(target.nics.map((nic) => withHeld(ctx.store, nic)))
  return {
    domain: await domainOf(ctx.store, movedVm(vm, { ...target, nics })),
    ...(target.hostExtId === undefined ? {} : { hostExtId: target.hostExtId }),
    disks: files,
  }
}

async function driverMoveBack(ctx: StepContext, vm: VmEntity, { files }: Move): Promise<ClusterMove> {
  const containers = new Map(allFilesOf(vm).map((file) => [file.diskExtId, file.storageContainer?.extId]))
  return {
    domain: await domainOf(ctx.store, vm),
    ...(vm.host?.extId === undefined ? {} : { hostExtId: vm.host.extId }),
    disks: files.map((file) => ({ ...file, containerExtId: containers.get(file.diskExtId) as string })),
  }
}

async function recordSwitch(ctx: RecordContext, { vmExtId }: OfVm): Promise<{ keep: { floatingIpExtIds: string[] } }> {
  const vm = await requireVm(ctx.store, vmExtId)
  const { files, ...target } = moveIn(ctx) as Move
  const nics = await Promise.all(target.nics.map((nic) => withHeld(ctx.store, nic)))
  const now = ctx.clock.iso()
  const stored = await ctx.store.update(Vm, vmExtId, {
    ...movedVm(vm, { ...target, nics }),
    isCrossClusterMigrationInProgress: false,
    migrationTaskExtId: undefined,
    filesUnderWay: without(vm, copyIds(files)),
    updateTime: now,
  })
  const translated = await floatingIpsOf(ctx.store, nics)
  for (const { extId } of nics) await keepShownAddresses(ctx, { vmExtId, partExtId: extId })
  const kept = new Set((await floatingIpsOf(ctx.store, nics)).map(({ extId }) => extId))
  if (vm.host?.extId !== undefined) await releaseReservation(ctx.store, vmExtId, vm.host.extId)
  await notePower(ctx.store, ctx.ids, stored, 'MOVED', now)
  return { keep: { floatingIpExtIds: translated.map(({ extId }) => extId).filter((extId) => !kept.has(extId)) } }
}

async function planOf(ctx: Asking, input: Migration): Promise<Plan> {
  const vm = await requireVm(ctx.store, input.vmExtId, stateFor(input.body))
  const { problems, warnings, target } = await findingsOf(ctx, vm, input)
  return {
    changes: target === undefined ? [] : changesOf(vm, target),
    warnings,
    problems: problems.flatMap(({ appMessage, further }) => [appMessage, ...further]),
  }
}

function changesOf(vm: VmEntity, { clusterExtId, hostExtId, nics, containers }: Target): Plan['changes'] {
  const change = (attribute: string, from = '', to = ''): Plan['changes'] =>
    from === to ? [] : [{ attribute, from, to }]
  return [
    ...change('cluster/extId', vm.cluster?.extId, clusterExtId),
    ...(hostExtId === undefined ? [] : change('host/extId', vm.host?.extId, hostExtId)),
    ...nics.flatMap(({ networkInfo }, index) => {
      const former = vm.nics?.[index]?.networkInfo?.subnet?.extId
      return change(`nics[${index}]/networkInfo/subnet/extId`, former, networkInfo.subnet?.extId)
    }),
    ...allFilesOf(vm).flatMap(({ diskExtId = '', storageContainer }) =>
      change(`storage container of ${diskExtId}`, storageContainer?.extId, containers[diskExtId]),
    ),
  ]
}
