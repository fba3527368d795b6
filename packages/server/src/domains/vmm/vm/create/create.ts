/** createVm. Source: behaviour vmm.md 1.1 (Create, steps). */
import type { EntityOf, Operation } from '@hyperplane/contract'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { Image } from '@hyperplane/contract/vmm/content/image'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { volumes } from '@hyperplane/contract/volumes'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { isInScope } from '../../../../core/access/scope.ts'
import { ApiError, refuseAll } from '../../../../core/api-error.ts'
import type { TaskStarted } from '../../../../core/handlers.ts'
import type { StepContext } from '../../../../core/tasks/define-task.ts'
import type { Drivers } from '../../../../drivers/drivers.ts'
import type { VirtualDisk } from '../../../../drivers/hypervisor.ts'
import type { Reader, Transaction } from '../../../../store/store.ts'
import {
  claimForVm,
  claimsOn,
  confirm,
  drop,
  type Group,
  plugGroups,
  unplugGroups,
} from '../../../block-volumes/attachments.ts'
import { defineTask, type WriteContext } from '../../../context.ts'
import { roomForDisk } from '../../../storage-space/capacity.ts'
import {
  type DiskEntity,
  type FileBacking,
  filesOf,
  firmwareFilesOf,
  type VmBody,
  type VmEntity,
} from '../../../virtual-machines/entity.ts'
import { requireImageRoom } from '../../content/image/image-space.ts'
import { requireImagesAllowed } from '../../content/placement.ts'
import { transferTo } from '../../content/rate-limits.ts'
import { type OfVm, taskOf } from '../admission.ts'
import { domainOf } from '../domain.ts'
import { ethernetNicsOf, releaseNics, takeAskedAddresses, takeFreeAddress, takeMac } from '../parts/nics.ts'
import { bootDeviceFaults } from '../rules.ts'
import { nameOfSource, resolveSource } from './disk-sources.ts'
import { type PlannedVm, planVm } from './plan.ts'

/** Stores the pending row with its unique values; the VM becomes visible when the task has succeeded. */
export async function createVm(ctx: WriteContext, body: VmBody): Promise<TaskStarted> {
  const { vm: planned, groups } = await planVm(ctx, body)
  await requireMayAttach(ctx, groups)
  const nics = []
  for (const [index, nic] of ethernetNicsOf(planned).entries()) {
    nics.push(await takeMac(ctx, planned.extId, nic))
    await takeAskedAddresses(ctx, nic, `nics[${index}]`)
  }
  const imagesRead = imagesOf(planned)
  const vm = {
    ...planned,
    ...(nics.length === 0 ? {} : { nics }),
    ...(imagesRead.length === 0 ? {} : { imagesRead }),
  }
  const groupDisks = groups.map(({ index }) => ({ diskAddress: { busType: 'SCSI' as const, index } }))
  refuseAll(bootDeviceFaults({ ...vm, disks: [...(vm.disks ?? []), ...groupDisks] as DiskEntity[] }))
  await ctx.store.insert(Vm, vm, { pending: true })
  for (const { volumeGroupExtId, index } of groups) {
    await claimForVm(ctx, (await ctx.store.get(VolumeGroup, volumeGroupExtId)) as Group, vm, index)
  }
  const images = (await imagesToCopy(ctx.store, vm)).map(({ extId }) => extId)
  const locks = [vm.extId, ...images]
  const input = { vmExtId: vm.extId, ...(hasDisks(vm) ? {} : { isDiskless: true }) }
  const task = await ctx.startTask(makeVm, input, { ...taskOf('CreateVm', vm), locks })
  return { ...task, created: vm.extId }
}

interface NewVm extends OfVm {
  /** The VM has no files: the steps that check sources, copy images and create disks are skipped. */
  readonly isDiskless?: boolean
}

export const makeVm = defineTask<NewVm>({
  name: 'vmm.create-vm',
  cancelableUntil: 'define',
  steps: [
    {
      name: 'check references',
      progress: 5,
      acts: async (_, { isDiskless }) => isDiskless !== true,
      run: async (ctx, input) => {
        const vm = await coming(ctx.store, input)
        for (const file of filesOf(vm)) await diskOf(ctx.store, file)
        await requireImagesAllowed(ctx.store, imagesOf(vm), vm.cluster?.extId as string)
        await requireRoom(ctx, filesOf(vm))
      },
      // No undo: the step only reads.
    },
    {
      name: 'copy images',
      progress: 20,
      acts: async (ctx, input) =>
        input.isDiskless !== true && (await imagesToCopy(ctx.store, await coming(ctx.store, input))).length > 0,
      run: async (ctx, input) => {
        const vm = await coming(ctx.store, input)
        const clusterExtId = vm.cluster?.extId as string
        for (const { extId, sizeBytes = 0, clusterLocationExtIds = [] } of await imagesToCopy(ctx.store, vm)) {
          await requireImageRoom(ctx, [clusterExtId], sizeBytes)
          const from = { imageExtId: extId, clusterExtId: clusterLocationExtIds[0] as string }
          await ctx.drivers.contentSource.copy(from, { imageExtId: extId, clusterExtId }, transferTo(ctx, clusterExtId))
        }
      },
      record: async (ctx, input) => {
        const vm = await coming(ctx.store, input)
        for (const { extId, clusterLocationExtIds = [] } of await imagesToCopy(ctx.store, vm)) {
          await ctx.store.update(Image, extId, {
            clusterLocationExtIds: [...clusterLocationExtIds, vm.cluster?.extId as string],
          })
        }
      },
      // A recorded copy belongs to the image, and other VMs may use it already.
      undo: async (ctx, input) => {
        const vm = await coming(ctx.store, input)
        const clusterExtId = vm.cluster?.extId as string
        for (const { extId } of await imagesToCopy(ctx.store, vm))
          await ctx.drivers.contentSource.remove({ imageExtId: extId, clusterExtId })
      },
    },
    {
      name: 'create disks',
      progress: 50,
      seconds: [0.4, 1],
      acts: async (_, { isDiskless }) => isDiskless !== true,
      run: async (ctx, input) => {
        const vm = await coming(ctx.store, input)
        for (const file of filesOf(vm)) await ctx.drivers.hypervisor.createDisk(await diskOf(ctx.store, file))
        for (const firmware of firmwareDisks(vm)) await ctx.drivers.hypervisor.createDisk(firmware)
      },
      undo: async (ctx, input) => removeDisks(ctx, await coming(ctx.store, input)),
    },
    {
      name: 'reserve addresses',
      progress: 60,
      record: async (ctx, input) => {
        const vm = await coming(ctx.store, input)
        const nics = []
        for (const nic of ethernetNicsOf(vm)) nics.push(await takeFreeAddress(ctx, nic))
        if (nics.length > 0) await ctx.store.observe(Vm, vm.extId, { nics })
      },
      // `onUndone` releases these addresses together with those that the request reserved.
    },
    {
      name: 'define',
      progress: 85,
      seconds: [0.5, 1],
      run: async (ctx, input) => {
        const vm = await coming(ctx.store, input)
        await ctx.drivers.hypervisor.defineVm(await domainOf(ctx.store, vm))
        await plugGroups(ctx, vm.extId)
      },
      undo: async (ctx, { vmExtId }) => {
        await unplugGroups(ctx, vmExtId)
        await ctx.drivers.hypervisor.undefineVm(vmExtId)
      },
    },
    {
      name: 'store',
      progress: 100,
      record: async (ctx, { vmExtId }) => {
        await ctx.store.update(Vm, vmExtId, { updateTime: ctx.clock.iso(), imagesRead: undefined })
        await ctx.store.publish(Vm, vmExtId)
        for (const { extId } of await claimsOn(ctx.store, 'Vm', vmExtId)) await confirm(ctx.store, extId)
      },
    },
  ],
  async onUndone(ctx, { vmExtId }) {
    const vm = await ctx.store.pending(Vm, vmExtId)
    await releaseNics(ctx.store, vmExtId, vm?.nics ?? [])
    await detachGroups(ctx.store, vmExtId)
    await ctx.store.remove(Vm, vmExtId)
  },
})

export async function detachGroups(store: Transaction, vmExtId: string): Promise<void> {
  for (const attachment of await claimsOn(store, 'Vm', vmExtId)) await drop(store, attachment)
}

/** A disk that represents a volume group is an attachment: the caller needs the permission for attachments as well. */
async function requireMayAttach(ctx: WriteContext, groups: PlannedVm['groups']): Promise<void> {
  const attach = volumes.operations.find(({ id }) => id === 'attachVm') as Operation
  const scope = groups.length === 0 ? 'all' : await ctx.services.access.scope(ctx.caller, attach)
  for (const { volumeGroupExtId } of groups) {
    const group = await ctx.store.get(VolumeGroup, volumeGroupExtId)
    if (isInScope(scope, group)) continue
    throw new ApiError('ACCESS_DENIED', { operation: attach.iamOperation, reason: ' on this volume group' })
  }
}

const hasDisks = (vm: VmEntity): boolean => filesOf(vm).length + firmwareDisks(vm).length > 0

async function coming(store: Reader, { vmExtId }: OfVm): Promise<VmEntity> {
  return (await store.pending(Vm, vmExtId)) as VmEntity
}

function imagesOf(vm: VmEntity): string[] {
  const ids = filesOf(vm).flatMap(
    ({ dataSource }) => (dataSource?.reference as { imageExtId?: string } | undefined)?.imageExtId ?? [],
  )
  return [...new Set(ids)]
}

/** Source images that the cluster of the VM does not hold yet. */
async function imagesToCopy(store: Reader, vm: VmEntity): Promise<EntityOf<typeof Image>[]> {
  const images = await store.getMany(Image, imagesOf(vm))
  return images.filter(({ clusterLocationExtIds }) => !clusterLocationExtIds?.includes(vm.cluster?.extId as string))
}

/** @throws ApiError 404 when the source no longer exists */
export async function diskOf(store: Reader, file: FileBacking): Promise<VirtualDisk> {
  const reference = file.dataSource?.reference
  const resolved = reference === undefined ? undefined : await resolveSource(store, reference)
  if (reference !== undefined && resolved === undefined) {
    throw new ApiError('VMM_ENTITY_NOT_FOUND', { ...nameOfSource(reference), attribute: 'dataSource/reference' })
  }
  return {
    extId: file.diskExtId as string,
    containerExtId: file.storageContainer?.extId as string,
    sizeBytes: file.diskSizeBytes ?? 0,
    ...(resolved === undefined ? {} : { source: resolved.source }),
  }
}

function firmwareDisks(vm: VmEntity): VirtualDisk[] {
  const boot = vm.bootConfig as { nvramDevice?: { backingStorageInfo?: FileBacking } } | undefined
  const nvram = boot?.nvramDevice?.backingStorageInfo
  const tpm = vm.vtpmConfig?.vtpmDevice
  const files = [
    { extId: nvram?.diskExtId, containerExtId: nvram?.storageContainer?.extId },
    { extId: tpm?.diskExtId, containerExtId: tpm?.backingFirmwareDiskStorageInfo?.storageContainer?.extId },
  ]
  return files
    .filter((file): file is { extId: string; containerExtId: string } => file.extId !== undefined)
    .map((file) => ({ ...file, sizeBytes: 0 }))
}

export async function requireRoom(
  ctx: { readonly store: Reader; readonly drivers: Drivers },
  files: readonly FileBacking[],
): Promise<void> {
  for (const { diskSizeBytes = 0, storageContainer } of files) {
    const extId = storageContainer?.extId as string
    const container = await ctx.store.get(StorageContainer, extId)
    const free = container === undefined ? 0 : await roomForDisk(ctx, container)
    if (diskSizeBytes > free)
      throw new ApiError('OUT_OF_STORAGE', { name: container?.name ?? extId, free, asked: diskSizeBytes })
  }
}

export async function removeDisks(ctx: Pick<StepContext<Drivers>, 'drivers'>, vm: VmEntity): Promise<void> {
  const files = filesOf(vm).flatMap(({ diskExtId }) => diskExtId ?? [])
  for (const extId of [...files, ...firmwareFilesOf(vm)]) await ctx.drivers.hypervisor.deleteDisk(extId)
}
