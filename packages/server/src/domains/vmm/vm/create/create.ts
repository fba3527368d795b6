/** createVm. Source: behaviour vmm.md 1.1 (Create, steps). */
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { refuseAll } from '../../../../core/api-error.ts'
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
import {
  type DiskEntity,
  type FileBacking,
  filesOf,
  firmwareFilesOf,
  type VmBody,
  type VmEntity,
} from '../../../virtual-machines/entity.ts'
import { type OfVm, taskOf } from '../admission.ts'
import { domainOf } from '../domain.ts'
import { copyImages, createFile, diskOf, imagesToCopy, requireRoom, storeCopies, underWay } from '../files.ts'
import { requireMayAttach } from '../parts/group-disk.ts'
import { ethernetNicsOf, releaseNics, takeAskedAddresses, takeFreeAddress, takeMac } from '../parts/nics.ts'
import { bootDeviceFaults } from '../rules.ts'
import { planVm } from './plan.ts'

/** Stores the pending row with its unique values; the VM becomes visible when the task has succeeded. */
export async function createVm(ctx: WriteContext, body: VmBody): Promise<TaskStarted> {
  const { vm: planned, groups } = await planVm(ctx, body)
  for (const { volumeGroupExtId } of groups) await requireMayAttach(ctx, volumeGroupExtId)
  const nics = []
  for (const [index, nic] of ethernetNicsOf(planned).entries()) {
    nics.push(await takeMac(ctx, planned.extId, nic))
    await takeAskedAddresses(ctx, nic, `nics[${index}]`)
  }
  const filesUnderWay = underWay(filesOf(planned))
  const vm = {
    ...planned,
    ...(nics.length === 0 ? {} : { nics }),
    ...(filesUnderWay.length === 0 ? {} : { filesUnderWay }),
  }
  const groupDisks = groups.map(({ index }) => ({ diskAddress: { busType: 'SCSI' as const, index } }))
  refuseAll(bootDeviceFaults({ ...vm, disks: [...(vm.disks ?? []), ...groupDisks] as DiskEntity[] }))
  await ctx.store.insert(Vm, vm, { pending: true })
  for (const { volumeGroupExtId, index } of groups) {
    await claimForVm(ctx, (await ctx.store.get(VolumeGroup, volumeGroupExtId)) as Group, vm, index)
  }
  const images = (await imagesToCopy(ctx.store, filesOf(vm), vm.cluster?.extId as string)).map(({ extId }) => extId)
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
        await requireRoom(ctx, filesOf(vm))
      },
      // No undo: the step only reads.
    },
    {
      name: 'copy images',
      progress: 20,
      acts: async (ctx, input) => {
        if (input.isDiskless === true) return false
        const vm = await coming(ctx.store, input)
        return (await imagesToCopy(ctx.store, filesOf(vm), vm.cluster?.extId as string)).length > 0
      },
      run: async (ctx, input) => {
        const vm = await coming(ctx.store, input)
        await copyImages(ctx, filesOf(vm), vm.cluster?.extId as string)
      },
      record: async (ctx, input) => {
        const vm = await coming(ctx.store, input)
        await storeCopies(ctx.store, filesOf(vm), vm.cluster?.extId as string)
      },
      // No undo: the copy belongs to the image from then on, and other VMs may use it already.
    },
    {
      name: 'create disks',
      progress: 50,
      seconds: [0.4, 1],
      acts: async (_, { isDiskless }) => isDiskless !== true,
      run: async (ctx, input) => {
        const vm = await coming(ctx.store, input)
        for (const file of filesOf(vm)) await createFile(ctx, file)
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
        await ctx.store.update(Vm, vmExtId, { updateTime: ctx.clock.iso(), filesUnderWay: undefined })
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

const hasDisks = (vm: VmEntity): boolean => filesOf(vm).length + firmwareDisks(vm).length > 0

async function coming(store: Reader, { vmExtId }: OfVm): Promise<VmEntity> {
  return (await store.pending(Vm, vmExtId)) as VmEntity
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

export async function removeDisks(ctx: Pick<StepContext<Drivers>, 'drivers'>, vm: VmEntity): Promise<void> {
  const files = filesOf(vm).flatMap(({ diskExtId }) => diskExtId ?? [])
  for (const extId of [...files, ...firmwareFilesOf(vm)]) await ctx.drivers.hypervisor.deleteDisk(extId)
}
