/** migrateVmDisks: moves files to other storage containers of the cluster, one after another. Source: behaviour vmm.md 1.1. */
import type { ValueOf } from '@hyperplane/contract'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { Disk } from '@hyperplane/contract/vmm/vm/parts/disk'
import type { DiskMigrationParams } from '@hyperplane/contract/vmm/vm/parts/disk-migration'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError, refuseAll } from '../../../../core/api-error.ts'
import type { TaskStarted } from '../../../../core/handlers.ts'
import type { Reader } from '../../../../store/store.ts'
import { claimsOn } from '../../../block-volumes/attachments.ts'
import {
  DriverError,
  defineTask,
  mayRefer,
  type RecordContext,
  type StepContext,
  throwIfCanceled,
  type WriteContext,
} from '../../../context.ts'
import { type DiskEntity, type FileBacking, fileOf, type VmEntity } from '../../../virtual-machines/entity.ts'
import { fault } from '../../../virtual-machines/fault.ts'
import { admitVm, affectedVm, endUnchanged, type OfVm, requireVm, taskOf } from '../admission.ts'
import { requireRoom, without } from '../files.ts'

type Body = ValueOf<typeof DiskMigrationParams>

interface Move {
  readonly diskExtId: string
  readonly containerExtId: string
}

interface Migration extends OfVm {
  /** Container for all disks that the VM has when the task runs. */
  readonly allTo?: string
  readonly moves?: readonly Move[]
  /** The caller may not use them: reported like unknown ones. */
  readonly unusable: readonly string[]
}

interface Plans {
  readonly plans?: readonly {
    readonly storageContainer?: { readonly extId?: string }
    readonly vmDisks?: readonly { readonly diskExtId?: string }[]
  }[]
  readonly storageContainer?: { readonly extId?: string }
}

const [movesFrom, movesTo] = [10, 95]
const isForAll = ({ migrateDisks }: Body): boolean =>
  migrateDisks?.$objectType === 'vmm.v4.ahv.config.AllDisksMigrationPlan'

const movesOf = ({ plans = [] }: Plans): Move[] =>
  plans.flatMap(({ storageContainer, vmDisks = [] }) =>
    vmDisks.map(({ diskExtId }) => ({
      diskExtId: diskExtId as string,
      containerExtId: storageContainer?.extId as string,
    })),
  )

export function migrationFaults({ body }: { readonly body: Body }): ApiError[] {
  const given = body.migrateDisks as Plans | undefined
  if (given === undefined) return [fault('migrateDisks', 'one plan for all disks, or plans', undefined)]
  if (isForAll(body)) {
    const isNamed = given.storageContainer?.extId !== undefined
    return isNamed ? [] : [fault('migrateDisks/storageContainer/extId', 'a storage container', undefined)]
  }
  const { plans = [] } = given
  if (plans.length === 0) return [fault('migrateDisks/plans', 'at least one plan', plans)]
  const seen = new Set<string>()
  return plans.flatMap(({ storageContainer, vmDisks = [] }, index) => {
    const at = `migrateDisks/plans[${index}]`
    const faults: ApiError[] = []
    if (storageContainer?.extId === undefined)
      faults.push(fault(`${at}/storageContainer/extId`, 'a storage container', undefined))
    if (vmDisks.length === 0) faults.push(fault(`${at}/vmDisks`, 'at least one disk', vmDisks))
    for (const [position, { diskExtId }] of vmDisks.entries()) {
      if (diskExtId === undefined || seen.has(diskExtId))
        faults.push(fault(`${at}/vmDisks[${position}]/diskExtId`, 'a disk that no other plan names', diskExtId))
      else seen.add(diskExtId)
    }
    return faults
  })
}

export async function migrateDisks(ctx: WriteContext<VmEntity>, body: Body): Promise<TaskStarted> {
  const vm = await admitVm(ctx, ctx.target, 'update')
  const given = body.migrateDisks as Plans
  const target = isForAll(body) ? { allTo: given.storageContainer?.extId as string } : { moves: movesOf(given) }
  const named = target.moves?.map(({ containerExtId }) => containerExtId) ?? [target.allTo as string]
  const unusable: string[] = []
  for (const extId of new Set(named)) {
    const container = await ctx.store.get(StorageContainer, extId)
    if (container !== undefined && !(await mayRefer(ctx, StorageContainer, container))) unusable.push(extId)
  }
  const disks = target.moves?.map(({ diskExtId }) => diskExtId) ?? filesOf(vm).map(([extId]) => extId)
  const affected = [...disks.map((extId) => ({ extId, rel: Disk.rel })), affectedVm(vm)]
  const input = { vmExtId: vm.extId, unusable, ...target }
  return ctx.startTask(migrateTask, input, { ...taskOf('MigrateVmDisks', vm), affected, locks: [vm.extId] })
}

const filesOf = ({ disks = [] }: VmEntity): [string, FileBacking][] =>
  disks.flatMap((disk): [string, FileBacking][] => {
    const file = fileOf(disk)
    return file === undefined ? [] : [[disk.extId as string, file]]
  })

export const migrateTask = defineTask<Migration>({
  name: 'vmm.migrate-vm-disks',
  cancelableUntil: 'store',
  steps: [
    {
      name: 'check',
      progress: movesFrom,
      record: async (ctx, input) => {
        const vm = await requireVm(ctx.store, input.vmExtId, 'update')
        const moves = await movesNow(ctx.store, vm, input)
        if (moves.length > 0)
          await ctx.store.update(Vm, vm.extId, { filesUnderWay: [...(vm.filesUnderWay ?? []), ...moves] })
        return { keep: moves }
      },
      unrecord: async (ctx, { vmExtId }) => {
        const vm = await ctx.store.get(Vm, vmExtId)
        if (vm !== undefined) await ctx.store.update(Vm, vmExtId, { filesUnderWay: without(vm, movedIds(ctx)) })
      },
    },
    {
      name: 'move disks',
      progress: movesTo,
      run: moveAll,
      // Disks that were moved before stay where they are.
      undo: async (ctx, { vmExtId }) => {
        const vm = await ctx.store.get(Vm, vmExtId)
        const current =
          vm === undefined ? undefined : filesOf(vm).find(([, file]) => file.isMigrationInProgress === true)
        if (vm === undefined || current === undefined) return
        const [diskExtId, file] = current
        await ctx.drivers.hypervisor.moveDisk(diskExtId, file.storageContainer?.extId as string, async () => undefined)
        await ctx.checkpoint(undefined, (record) => observeFile(record, vmExtId, diskExtId, {}))
      },
    },
    {
      name: 'store',
      record: async (ctx, { vmExtId }) => {
        const vm = await requireVm(ctx.store, vmExtId)
        const changes = { filesUnderWay: without(vm, movedIds(ctx)), updateTime: ctx.clock.iso() }
        await ctx.store.update(Vm, vmExtId, changes)
      },
    },
  ],
  onUndone: endUnchanged,
})

const plannedIn = (ctx: Pick<StepContext, 'outputs'>): readonly Move[] =>
  (ctx.outputs['check'] ?? []) as readonly Move[]
const movedIds = (ctx: Pick<StepContext, 'outputs'>): string[] => plannedIn(ctx).map(({ diskExtId }) => diskExtId)

/** Omits moves without effect. @throws ApiError for all unknown disks and containers together */
async function movesNow(store: Reader, vm: VmEntity, { allTo, moves, unusable }: Migration): Promise<Move[]> {
  const files = new Map(filesOf(vm))
  const wanted = moves ?? [...files.keys()].map((diskExtId) => ({ diskExtId, containerExtId: allTo as string }))
  const faults: ApiError[] = []
  const groups = await claimsOn(store, 'Vm', vm.extId)
  const named = moves === undefined ? [allTo as string] : moves.map(({ containerExtId }) => containerExtId)
  for (const extId of new Set(named)) {
    const container = unusable.includes(extId) ? undefined : await store.get(StorageContainer, extId)
    if (container === undefined) faults.push(unknown('storage container', extId, 'storageContainer/extId'))
    else if (container.clusterExtId !== vm.cluster?.extId || container.isMarkedForRemoval === true)
      faults.push(fault('storageContainer/extId', 'a storage container of the same cluster that stays', container.name))
  }
  if (moves === undefined && groups.length > 0) faults.push(isGroup(groups[0]?.extId as string))
  for (const { diskExtId } of moves ?? []) {
    if (files.has(diskExtId)) continue
    const isAttached = groups.some(({ extId }) => extId === diskExtId)
    faults.push(isAttached ? isGroup(diskExtId) : unknown('disk', diskExtId, 'diskExtId'))
  }
  refuseAll(faults)
  return wanted.filter(
    ({ diskExtId, containerExtId }) => files.get(diskExtId)?.storageContainer?.extId !== containerExtId,
  )
}

const unknown = (kind: string, id: string, attribute: string): ApiError =>
  new ApiError('VMM_ENTITY_NOT_FOUND', { kind, id, attribute })
const isGroup = (diskExtId: string): ApiError =>
  new ApiError('CONFLICT', { fault: `The disk ${diskExtId} is a volume group, which this operation does not move.` })

async function moveAll(ctx: StepContext, { vmExtId }: Migration): Promise<void> {
  const moves = plannedIn(ctx)
  for (const [index, { diskExtId, containerExtId }] of moves.entries()) {
    const file = new Map(filesOf(await requireVm(ctx.store, vmExtId))).get(diskExtId)
    const source = file?.storageContainer?.extId
    if (file === undefined || source === containerExtId) continue
    const report = async (share: number): Promise<void> => {
      throwIfCanceled(ctx)
      await ctx.progress(Math.floor(movesFrom + ((movesTo - movesFrom) * (index + share)) / moves.length))
    }
    try {
      await report(0)
      await requireRoom(ctx, [{ ...file, storageContainer: { extId: containerExtId } }])
      await ctx.checkpoint(undefined, (record) =>
        observeFile(record, vmExtId, diskExtId, { isMigrationInProgress: true }),
      )
      await ctx.drivers.hypervisor.moveDisk(diskExtId, containerExtId, report)
    } catch (error) {
      throw stopped(error, diskExtId, source as string, moves.slice(0, index))
    }
    const moved = { storageContainer: { extId: containerExtId } }
    await ctx.checkpoint(undefined, (record) => observeFile(record, vmExtId, diskExtId, moved))
  }
}

/** Adds the moved disks to a refusal. */
function stopped(error: unknown, diskExtId: string, source: string, moved: readonly Move[]): unknown {
  const isFinal = error instanceof ApiError || (error instanceof DriverError && !error.retryable)
  if (!isFinal) return error
  const before = moved.length === 0 ? 'none' : moved.map((one) => one.diskExtId).join(', ')
  return new ApiError(
    'DISK_MIGRATION_STOPPED',
    { disk: diskExtId, container: source, moved: before },
    { cause: error, ...(error instanceof ApiError ? { further: [error.appMessage] } : {}) },
  )
}

/** The entity tag stays: the container is an observation until the task ends. */
async function observeFile(
  { store }: RecordContext,
  vmExtId: string,
  diskExtId: string,
  changes: Partial<FileBacking>,
): Promise<void> {
  const vm = await requireVm(store, vmExtId)
  const disks = (vm.disks ?? []).map((disk): DiskEntity => {
    if (disk.extId !== diskExtId) return disk
    const { isMigrationInProgress: _, ...backing } = disk.backingInfo as FileBacking
    return { ...disk, backingInfo: { ...backing, ...changes } as DiskEntity['backingInfo'] }
  })
  await store.observe(Vm, vmExtId, { disks })
}
