/** The file of an existing VM's disk or drive: planned by the request, created by its task. */
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { refuseAll } from '../../../../core/api-error.ts'
import type { Reader } from '../../../../store/store.ts'
import { claimsOn } from '../../../block-volumes/attachments.ts'
import { defaultContainer } from '../../../containers/default-container.ts'
import { requireContainersNotRemoved } from '../../../containers/storage-containers.ts'
import type { RecordContext, Step, StepContext, WriteContext } from '../../../context.ts'
import type { FileBacking, VmEntity } from '../../../virtual-machines/entity.ts'
import { requireImagesAllowed } from '../../content/placement.ts'
import { endUnchanged, requireVm } from '../admission.ts'
import { chooseCluster } from '../create/clusters.ts'
import { fileConstraints, placed, withSources } from '../create/plan-disks.ts'
import {
  copyImages,
  createFile,
  imagesOf,
  locksOf,
  removeCopies,
  requireRoom,
  storeImageCopies,
  underWay,
  without,
} from '../files.ts'
import type { PartChange, PartTask } from './part.ts'
import { assignSlots, type Slot, type SlotWish, slotsTaken } from './slots.ts'

export interface WithFile {
  readonly file?: FileBacking
}

type FileChange = PartChange<WithFile>

/** @throws ApiError 404 source or container; 409 on another cluster, or the container is being removed */
export async function planFile(
  ctx: WriteContext,
  vm: VmEntity,
  backing: FileBacking,
  diskExtId: string,
): Promise<FileBacking> {
  const clusterExtId = vm.cluster?.extId as string
  const files = await withSources(ctx, [{ path: 'backingInfo', backing }])
  await chooseCluster(ctx, clusterExtId, await fileConstraints(ctx, files, true))
  const container = await defaultContainer(ctx.store, clusterExtId)
  const [file] = files.map((part) => placed(part, container.extId, clusterExtId, diskExtId)) as [FileBacking]
  await requireContainersNotRemoved(ctx.store, [file.storageContainer?.extId as string])
  return file
}

/** Until the task ends, image and container of the file cannot be deleted. @returns locks for the task */
export async function holdFile(ctx: WriteContext, vm: VmEntity, file: FileBacking): Promise<string[]> {
  await ctx.store.update(Vm, vm.extId, { filesUnderWay: [...(vm.filesUnderWay ?? []), ...underWay([file])] })
  return locksOf(ctx.store, [file], vm.cluster?.extId as string)
}

export async function releaseFile(ctx: RecordContext, { vmExtId, body: { file } }: FileChange): Promise<void> {
  const vm = await ctx.store.get(Vm, vmExtId)
  if (vm === undefined || file === undefined) return
  await ctx.store.update(Vm, vmExtId, { filesUnderWay: without(vm, [file.diskExtId as string]) })
}

export async function endWithoutFile<B extends WithFile>(ctx: RecordContext, input: PartChange<B>): Promise<void> {
  await releaseFile(ctx, input)
  await endUnchanged(ctx, input)
}

/** Checks the image policies and the space, and copies the image to the cluster. */
export const reserveStep = (name: string, progress: number): Step<FileChange> => ({
  name,
  progress,
  acts: async (_, { body }) => body.file !== undefined,
  run: async (ctx, { vmExtId, body: { file } }) => {
    if (file === undefined) return
    const vm = await requireVm(ctx.store, vmExtId)
    await requireFile(ctx, vm, file)
    await copyImages(ctx, [file], vm.cluster?.extId as string)
  },
  record: async (ctx, { vmExtId, body: { file } }) => {
    const vm = await requireVm(ctx.store, vmExtId)
    if (file !== undefined) await storeImageCopies(ctx.store, [file], vm.cluster?.extId as string)
  },
  undo: async (ctx, { vmExtId, body: { file } }) => {
    const vm = await ctx.store.get(Vm, vmExtId)
    if (vm !== undefined && file !== undefined) await removeCopies(ctx, [file], vm.cluster?.extId as string)
  },
})

/** @throws ApiError IMAGE_PLACEMENT_FORBIDDEN, OUT_OF_STORAGE */
export async function requireFile(ctx: StepContext, vm: VmEntity, file: FileBacking): Promise<void> {
  await requireImagesAllowed(ctx, imagesOf([file]), vm.cluster?.extId as string)
  await requireRoom(ctx, [file])
}

export const makeStep = (name: string, progress: number, isReadOnly?: true): Step<FileChange> => ({
  name,
  progress,
  seconds: [0.4, 1],
  acts: async (_, { body }) => body.file !== undefined,
  run: async (ctx, { body: { file } }) => {
    if (file !== undefined) await createFile(ctx, file, { isReadOnly })
  },
  undo: async (ctx, { body: { file } }) => {
    if (file !== undefined) await ctx.drivers.hypervisor.deleteDisk(file.diskExtId as string)
  },
})

export function stepsOfPart<B>({ steps }: PartTask<B>): {
  readonly define: Step<PartChange<B>>
  readonly store: Step<PartChange<B>>
} {
  const [define, store] = steps
  if (define === undefined || store === undefined) throw new Error('a part has two steps')
  return { define, store }
}

/** The wished slot, or the lowest free one, among disks, CD-ROM drives and attached volume groups. @throws ApiError 409 */
export async function freeSlot(store: Reader, vm: VmEntity, wish: SlotWish): Promise<Slot> {
  const groups = (await claimsOn(store, 'Vm', vm.extId)).map(
    ({ scsiIndex }): Slot => ({ busType: 'SCSI', index: scsiIndex as number }),
  )
  const { slots, refusals } = assignSlots([wish], [...slotsTaken(vm), ...groups])
  refuseAll(refusals)
  return slots[0] as Slot
}
