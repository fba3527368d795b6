/** Disks of a VM: files, and volume groups (`group-disk.ts`). Source: behaviour vmm.md 1.2, 1.16. */
import { Disk, diskOperations } from '@hyperplane/contract/vmm/vm/parts/disk'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError, refuseAll } from '../../../../core/api-error.ts'
import { canonicalJson } from '../../../../core/idempotency.ts'
import { withVolumeGroups } from '../../../block-volumes/attachments.ts'
import { implement, parentOf, type RecordContext, type WriteContext } from '../../../context.ts'
import { writtenTo } from '../../../storage-space/written.ts'
import {
  type DiskEntity,
  type FileBacking,
  fileOf,
  type VmEntity,
  volumeGroupOf,
} from '../../../virtual-machines/entity.ts'
import { fault } from '../../../virtual-machines/fault.ts'
import { requireVm } from '../admission.ts'
import { copyImages, createFile, removeCopies, requireRoom, storeImageCopies } from '../files.ts'
import { withHydration } from '../hydrated.ts'
import { attributeFaults, busFaultsAt, diskFaults, sizeFaults } from '../rules.ts'
import { refuseUnbuiltSource } from '../unbuilt.ts'
import { attributesOfDisk } from './custom-attributes.ts'
import { attachGroup, attachTask, detachGroup, detachTask } from './group-disk.ts'
import { hydrationOfDisk } from './hydration.ts'
import { changeOf, distinctAddresses, type PartChange, type PartKind, type PartTask, readsOf } from './part.ts'
import {
  endWithoutFile,
  freeSlot,
  holdFile,
  makeStep,
  planFile,
  releaseFile,
  requireFile,
  reserveStep,
  stepsOfPart,
  type WithFile,
} from './part-file.ts'
import { busAddressFaults, requireNotBootDevice, slotsTaken, wishOf } from './slots.ts'

type DiskBody = Omit<DiskEntity, 'extId'>

interface Plan extends WithFile {
  readonly disk: DiskBody
}

const hotBuses: readonly (string | undefined)[] = ['SCSI', 'PCI']

const disks: PartKind<'disks'> = {
  resource: Disk,
  field: 'disks',
  maximum: 1024,
  addresses: {
    path: 'diskAddress',
    of: (vm) => slotsTaken(vm).map(({ busType, index }) => `address (${busType} ${index})`),
  },
  coldFields: (before, after) => {
    if (before === undefined || after === undefined)
      return hotBuses.includes((before ?? after)?.diskAddress?.busType) ? [] : ['disks']
    return hasSameSource(fileOf(before), fileOf(after)) ? [] : ['backingInfo/dataSource']
  },
}

// The disks of the VM itself, and the volume groups that are attached to it.
const reads = readsOf(Disk, 'disks', async (ctx, vms) => withHydration(ctx, await withVolumeGroups(ctx.store, vms)))

const create = changeOf<'disks', Plan>(
  disks,
  'Create',
  async ({ body: { disk, file }, rest, store }) => {
    const wish = wishOf('diskAddress', disk.diskAddress, 'SCSI')
    refuseAll(busFaultsAt(rest, wish.busType, 'diskAddress/busType'))
    return stored(disk, file as FileBacking, await freeSlot(store, rest, wish))
  },
  (task) => {
    const { define, store } = stepsOfPart(task)
    const plug = {
      ...define,
      name: 'plug',
      record: async (ctx: RecordContext, input: PartChange<Plan>) => {
        await store.record?.(ctx, input, undefined)
        await releaseFile(ctx, input)
        await noteFill(ctx, input, { writtenBytes: 0, addedAt: ctx.clock.iso() })
      },
    }
    return { ...task, steps: [reserveStep('reserve', 30), makeStep('make', 70), plug], onUndone: endWithoutFile }
  },
)

const update = changeOf<'disks', Plan>(
  disks,
  'Update',
  async ({ body, before }) => {
    const current = fileOf(before as DiskEntity) as FileBacking
    refuseAll(changeFaults(body, before as DiskEntity, current))
    requirePlanFits(body.file, current)
    const { diskSizeBytes, storageConfig } = body.disk.backingInfo as FileBacking
    const { storageConfig: _, ...rest } = current
    const file = {
      ...rest,
      ...(diskSizeBytes === undefined ? {} : { diskSizeBytes }),
      ...(body.file === undefined ? {} : { ...body.file, diskExtId: current.diskExtId as string }),
      ...(storageConfig === undefined ? {} : { storageConfig }),
    }
    return stored(body.disk, file, before?.diskAddress)
  },
  extending,
)

const remove = changeOf(
  disks,
  'Delete',
  async ({ before, rest }) => {
    if (before !== undefined) requireNotBootDevice(rest, before, 'disk')
    return undefined
  },
  (task) => {
    const { define, store } = stepsOfPart(task)
    return {
      ...task,
      steps: [
        { ...define, name: 'unplug', progress: 50 },
        {
          name: 'free',
          run: (ctx, { partExtId }) => ctx.drivers.hypervisor.deleteDisk(partExtId),
          isIrreversible: true,
          record: async (ctx, input) => {
            await store.record?.(ctx, input, undefined)
            await forgetFill(ctx, input.vmExtId, input.partExtId)
          },
        },
      ],
    }
  },
)

/** A new source gets a file of its own, which replaces the former one in the last step. */
function extending(task: PartTask<Plan>): PartTask<Plan> {
  const { define, store } = stepsOfPart(task)
  return {
    ...task,
    pointOfNoReturn: 'replace content',
    steps: [
      {
        name: 'extend',
        progress: 70,
        seconds: [0.4, 1],
        run: async (ctx, { vmExtId, partExtId, body: { disk, file } }) => {
          const vm = await requireVm(ctx.store, vmExtId, 'update')
          const current = currentFile(vm, partExtId)
          const { diskSizeBytes = 0 } = disk.backingInfo as FileBacking
          if (current !== undefined && diskSizeBytes > (current.diskSizeBytes ?? 0)) {
            await requireRoom(ctx, [{ ...current, diskSizeBytes }])
            await ctx.drivers.hypervisor.resizeDisk(partExtId, diskSizeBytes)
          }
          if (file === undefined) return
          await requireFile(ctx, vm, file)
          await copyImages(ctx, [file], vm.cluster?.extId as string)
          await createFile(ctx, file)
        },
        record: async (ctx, { vmExtId, body: { file } }) => {
          const vm = await requireVm(ctx.store, vmExtId)
          if (file !== undefined) await storeImageCopies(ctx.store, [file], vm.cluster?.extId as string)
        },
        // The guest has not seen the new size yet.
        undo: async (ctx, { vmExtId, partExtId, body: { disk, file } }) => {
          const vm = await ctx.store.get(Vm, vmExtId)
          const former = vm === undefined ? undefined : currentFile(vm, partExtId)?.diskSizeBytes
          const { diskSizeBytes = 0 } = disk.backingInfo as FileBacking
          if (former !== undefined && diskSizeBytes > former) await ctx.drivers.hypervisor.resizeDisk(partExtId, former)
          if (file === undefined) return
          await ctx.drivers.hypervisor.deleteDisk(file.diskExtId as string)
          if (vm !== undefined) await removeCopies(ctx, [file], vm.cluster?.extId as string)
        },
      },
      {
        ...define,
        name: 'tell guest',
        progress: 90,
        record: async (ctx, input) => {
          const written = await writtenNow(ctx, input)
          await store.record?.(ctx, input, undefined)
          await releaseFile(ctx, input)
          if (written !== undefined) await noteFill(ctx, input, { writtenBytes: written })
        },
      },
      {
        name: 'replace content',
        acts: async (_, { body }) => body.file !== undefined,
        run: async (ctx, { partExtId, body: { file } }) => {
          if (file !== undefined) await ctx.drivers.hypervisor.replaceDisk(partExtId, file.diskExtId as string)
        },
      },
    ],
    onUndone: endWithoutFile,
  }
}

const currentFile = ({ disks: own = [] }: VmEntity, extId: string): FileBacking | undefined => {
  const disk = own.find((one) => one.extId === extId)
  return disk === undefined ? undefined : fileOf(disk)
}

const stored = (disk: DiskBody, file: FileBacking, diskAddress: DiskEntity['diskAddress']): DiskBody => ({
  ...disk,
  backingInfo: { $objectType: 'vmm.v4.ahv.config.VmDisk', ...file } as DiskEntity['backingInfo'],
  diskAddress,
})

/** Fields that are equal or absent stay as they are. */
function changeFaults({ disk, file }: Plan, before: DiskEntity, current: FileBacking): ApiError[] {
  const faults: ApiError[] = []
  const { diskSizeBytes, storageContainer } = disk.backingInfo as FileBacking
  const size = current.diskSizeBytes ?? 0
  const at = (field: string): string => `backingInfo/${field}`
  if (diskSizeBytes !== undefined && diskSizeBytes < size)
    faults.push(fault(at('diskSizeBytes'), `at least ${size}: disks do not shrink`, diskSizeBytes))
  if (file !== undefined && diskSizeBytes !== undefined && diskSizeBytes !== size)
    faults.push(fault(at('diskSizeBytes'), `${size}, or nothing, with another dataSource`, diskSizeBytes))
  const container = storageContainer?.extId
  if (container !== undefined && container !== current.storageContainer?.extId)
    faults.push(
      fault(at('storageContainer/extId'), `${current.storageContainer?.extId}: use migrateVmDisks`, container),
    )
  const { busType, index } = disk.diskAddress ?? {}
  const { diskAddress } = before
  if (busType !== undefined && (busType !== diskAddress?.busType || (index ?? diskAddress.index) !== diskAddress.index))
    faults.push(
      fault('diskAddress', `${diskAddress?.busType} ${diskAddress?.index}, which does not change`, disk.diskAddress),
    )
  return faults
}

/** An earlier task may have resized or moved the disk since the new file was planned. @throws ApiError 409 */
function requirePlanFits(file: FileBacking | undefined, current: FileBacking): void {
  if (file === undefined) return
  const isLargeEnough = (file.diskSizeBytes ?? 0) >= (current.diskSizeBytes ?? 0)
  if (isLargeEnough && file.storageContainer?.extId === current.storageContainer?.extId) return
  throw new ApiError('CONFLICT', { fault: 'The disk changed while the request waited. Read it again and retry.' })
}

/** Answers repeat `$objectType` in each object; bodies need not. */
function hasSameSource(one: FileBacking | undefined, other: FileBacking | undefined): boolean {
  const plain = (file: FileBacking | undefined): string =>
    canonicalJson(
      JSON.parse(
        JSON.stringify(file?.dataSource?.reference ?? null, (key, value) =>
          key === '$objectType' ? undefined : value,
        ),
      ),
    )
  return plain(one) === plain(other)
}

/** Bytes that the disk holds when its size or content changes; undefined: neither changes. */
async function writtenNow(ctx: RecordContext, input: PartChange<Plan>): Promise<number | undefined> {
  const vm = await requireVm(ctx.store, input.vmExtId)
  const disk = vm.disks?.find(({ extId }) => extId === input.partExtId)
  if (disk === undefined || input.body.file !== undefined) return 0
  const { diskSizeBytes } = input.body.disk.backingInfo as FileBacking
  const hasNewSize = diskSizeBytes !== undefined && diskSizeBytes !== fileOf(disk)?.diskSizeBytes
  return hasNewSize ? writtenTo(vm, disk, ctx.clock.now()) : undefined
}

async function noteFill(
  ctx: RecordContext,
  { vmExtId, partExtId: diskExtId }: PartChange<Plan>,
  changes: { readonly writtenBytes: number; readonly addedAt?: string },
): Promise<void> {
  const { diskFills = [] } = await requireVm(ctx.store, vmExtId)
  const former = diskFills.find((fill) => fill.diskExtId === diskExtId)
  const fill = { ...former, diskExtId, since: ctx.clock.iso(), ...changes }
  await ctx.store.update(Vm, vmExtId, { diskFills: [...diskFills.filter((one) => one !== former), fill] })
}

async function forgetFill(ctx: RecordContext, vmExtId: string, diskExtId: string): Promise<void> {
  const { diskFills = [] } = await requireVm(ctx.store, vmExtId)
  const others = diskFills.filter((fill) => fill.diskExtId !== diskExtId)
  if (others.length < diskFills.length)
    await ctx.store.update(Vm, vmExtId, { diskFills: others.length === 0 ? undefined : others })
}

async function createDisk(ctx: WriteContext<unknown, 'vmExtId'>, vmExtId: string, disk: DiskBody) {
  const vm = parentOf(ctx, 'vmExtId', Vm)
  const volumeGroupExtId = volumeGroupOf(disk as DiskEntity)
  if (volumeGroupExtId !== undefined) return attachGroup(ctx, vm, volumeGroupExtId, disk.diskAddress)
  const extId = ctx.ids.uuid()
  const file = await planFile(ctx, vm, disk.backingInfo as FileBacking, extId)
  const locks = await holdFile(ctx, vm, file)
  return create.handle(ctx, { path: { vmExtId, extId }, body: { disk, file }, locks })
}

async function updateDisk(
  ctx: WriteContext<unknown, 'vmExtId'>,
  path: { readonly vmExtId: string; readonly extId: string },
  disk: DiskBody,
) {
  const vm = parentOf(ctx, 'vmExtId', Vm)
  const current = currentFile(vm, path.extId)
  if (current === undefined)
    throw fault('backingInfo', 'a disk with a file: a volume group is changed by its own operations', disk.backingInfo)
  if (volumeGroupOf(disk as DiskEntity) !== undefined)
    throw fault('backingInfo', 'a VmDisk, as before', disk.backingInfo)
  const { dataSource } = disk.backingInfo as FileBacking
  if (dataSource === undefined || hasSameSource(current, { dataSource }))
    return update.handle(ctx, { path, body: { disk } })
  refuseUnbuiltSource('updateDiskById', disk.backingInfo)
  const { diskSizeBytes, storageContainer } = current
  const file = await planFile(ctx, vm, { diskSizeBytes, storageContainer, dataSource } as FileBacking, ctx.ids.uuid())
  const locks = await holdFile(ctx, vm, file)
  return update.handle(ctx, { path, body: { disk, file }, locks })
}

function creationFaults({ body }: { readonly body: DiskBody }): ApiError[] {
  refuseUnbuiltSource('createDisk', body.backingInfo)
  return [...diskFaults(body, ''), ...busAddressFaults(wishOf('', body.diskAddress, 'SCSI'))]
}

function updateFaults({ body }: { readonly body: DiskBody }): ApiError[] {
  const faults = attributeFaults('customAttributes', body.customAttributes)
  if (body.backingInfo === undefined) return [...faults, fault('backingInfo', 'a VmDisk', undefined)]
  return [...faults, ...sizeFaults(body.backingInfo as FileBacking, '')]
}

export const disk = implement(
  diskOperations,
  {
    listDisksByVmId: reads.list,
    createDisk: (ctx, { path, body }) => createDisk(ctx, path.vmExtId, body),
    getDiskById: reads.get,
    updateDiskById: (ctx, { path, body }) => updateDisk(ctx, path, body),
    async deleteDiskById(ctx, { path }) {
      const vm = parentOf(ctx, 'vmExtId', Vm)
      const isGroup = currentFile(vm, path.extId) === undefined
      return isGroup ? detachGroup(ctx, vm, path.extId) : remove.handle(ctx, { path, body: undefined })
    },
    addVmDiskCustomAttributes: attributesOfDisk.add,
    removeVmDiskCustomAttributes: attributesOfDisk.remove,
    enableVmDiskHydration: hydrationOfDisk.enable,
    disableVmDiskHydration: hydrationOfDisk.disable,
  },
  {
    rules: {
      createDisk: creationFaults,
      updateDiskById: updateFaults,
      addVmDiskCustomAttributes: attributesOfDisk.faults,
      removeVmDiskCustomAttributes: attributesOfDisk.faults,
    },
    tasks: [
      create.task,
      update.task,
      remove.task,
      attachTask,
      detachTask,
      ...attributesOfDisk.tasks,
      ...hydrationOfDisk.tasks,
    ],
    invariants: [distinctAddresses(disks)],
  },
)
