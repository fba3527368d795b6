/** New VMs: their admission, and the steps of the tasks that make them. Source: behaviour vmm.md 1.1 (Create, steps). */
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { refuseAll } from '../../../../core/api-error.ts'
import type { TaskStarted } from '../../../../core/handlers.ts'
import type { DiskSource, VirtualDisk } from '../../../../drivers/hypervisor.ts'
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
import {
  defineTask,
  type RecordContext,
  type Step,
  type StepContext,
  type TaskDefinition,
  type TaskOptions,
  type WriteContext,
} from '../../../context.ts'
import { claimDevices, releaseDevices } from '../../../scheduling/host-devices.ts'
import {
  type DiskEntity,
  type FileBacking,
  filesOf,
  firmwareFilesOf,
  mediaOf,
  nvramOf,
  type VmBody,
  type VmEntity,
} from '../../../virtual-machines/entity.ts'
import { requireImagesAllowed } from '../../content/placement.ts'
import type { OfVm } from '../admission.ts'
import { domainOf } from '../domain.ts'
import {
  copyImages,
  createFile,
  imagesOf,
  imagesToCopy,
  locksOf,
  newDiskOf,
  removeCopies,
  requireRoom,
  storeImageCopies,
  underWay,
} from '../files.ts'
import { described, wishesOf } from '../parts/devices.ts'
import { requireMayAttach } from '../parts/group-disk.ts'
import {
  type EthernetNic,
  ethernetNicsOf,
  leaseRequestedAddresses,
  releaseNics,
  takeFreeAddress,
  takeMac,
} from '../parts/nics.ts'
import { bootDeviceFaults } from '../rules.ts'
import { planVm, withoutEmpty } from './plan.ts'
import type { Contents } from './plan-disks.ts'
import type { Planning } from './planning.ts'

/** A VM like another one, or with file contents that no body can name. */
export interface Derived {
  readonly contents: Contents
  /** Index of the NIC that is the boot device; its MAC address is not known before it is leased. */
  readonly bootNic?: number | undefined
  /** Added to the row. */
  readonly internal?: Partial<VmEntity>
}

export interface VmOrigin<I extends NewVm> extends Derived {
  readonly task: TaskDefinition<I>
  readonly input: Omit<I, keyof NewVm>
  readonly options: (vm: VmEntity) => TaskOptions
  /** The task plans the VM again: it may have disks then. */
  readonly isPlannedAgain?: boolean
}

/** Pending, with its unique values; visible when its task has succeeded. @param extId default: the next id of the context */
export async function insertVm(
  ctx: Planning,
  body: VmBody,
  { contents, bootNic, internal }: Derived,
  extId?: string,
): Promise<{ readonly vm: VmEntity; readonly copies: Copies }> {
  const { vm: planned, groups, copies } = await planVm(ctx, body, contents, extId)
  for (const { volumeGroupExtId } of groups) await requireMayAttach(ctx, volumeGroupExtId)
  const nics = []
  for (const [index, nic] of ethernetNicsOf(planned).entries()) {
    nics.push(await takeMac(ctx, planned.extId, nic))
    await leaseRequestedAddresses(ctx, nic, `nics[${index}]/`)
  }
  const filesUnderWay = underWay(filesWithSources(planned), copies)
  const vm = {
    ...planned,
    ...internal,
    ...(nics.length === 0 ? {} : { nics }),
    ...(filesUnderWay.length === 0 ? {} : { filesUnderWay }),
    ...bootedFrom(planned, nics[bootNic ?? -1]),
  }
  const groupDisks = groups.map(({ index }) => ({ diskAddress: { busType: 'SCSI' as const, index } }))
  refuseAll(bootDeviceFaults({ ...vm, disks: [...(vm.disks ?? []), ...groupDisks] as DiskEntity[] }))
  await ctx.store.insert(Vm, vm, { pending: true })
  for (const { volumeGroupExtId, index } of groups) {
    await claimForVm(ctx, (await ctx.store.get(VolumeGroup, volumeGroupExtId)) as Group, vm, index)
  }
  return { vm, copies }
}

export async function newVm<I extends NewVm>(
  ctx: WriteContext,
  body: VmBody,
  origin: VmOrigin<I>,
): Promise<TaskStarted> {
  const { vm, copies } = await insertVm(ctx, body, origin)
  const options = origin.options(vm)
  const sources = await locksOf(ctx.store, ...sourcesOf(vm, copies))
  const locks = [...options.affected.map(({ extId }) => extId), ...(options.locks ?? []), vm.extId, ...sources]
  const input = {
    ...origin.input,
    vmExtId: vm.extId,
    ...(Object.keys(copies).length === 0 ? {} : { copies }),
    ...(hasDisks(vm) || origin.isPlannedAgain === true ? {} : { isDiskless: true }),
  } as I
  const task = await ctx.startTask(origin.task, input, { ...options, locks: [...new Set(locks)] })
  return { ...task, created: vm.extId }
}

function bootedFrom({ bootConfig }: VmEntity, nic: EthernetNic | undefined): Pick<VmEntity, 'bootConfig'> {
  if (nic === undefined) return {}
  const bootDevice = { $objectType: 'vmm.v4.ahv.config.BootDeviceNic', macAddress: nic.backingInfo.macAddress }
  return { bootConfig: { ...bootConfig, bootDevice } as VmEntity['bootConfig'] }
}

/** By id of a new file: the content that it copies, instead of the source that it names. */
export type Copies = Readonly<Record<string, DiskSource>>

export interface NewVm extends OfVm {
  readonly copies?: Copies
  /** The VM has no files: the steps that check sources, copy images and create disks are skipped. */
  readonly isDiskless?: boolean
}

export interface MakingOptions<I> {
  /** The first step. @throws ApiError that fails the task */
  readonly check?: (ctx: RecordContext, input: I) => Promise<void>
  /** Inserts the pending row, if the request did not; the copies are its output. */
  readonly plan?: Step<I> & { readonly name: typeof planning }
  /** Default: `define`. */
  readonly cancelableUntil?: typeof planning | 'never'
  readonly creation?: string
  /** In the transaction that ends the task, as `undone`. */
  readonly stored?: (ctx: RecordContext, input: I) => Promise<void>
  readonly undone?: (ctx: RecordContext, input: I) => Promise<void>
}

export const planning = 'copy config'

/** From the first step of the task, or from the request. */
const copiesIn = ({ outputs }: Pick<StepContext, 'outputs'>, { copies }: NewVm): Copies | undefined =>
  (outputs[planning] as Copies | undefined) ?? copies

const creatingDisks = 'create disks'

const makingSteps: readonly Step<NewVm>[] = [
  {
    name: 'check references',
    progress: 5,
    acts: async (_, { isDiskless }) => isDiskless !== true,
    run: async (ctx, input) => {
      const vm = await pendingVm(ctx.store, input)
      for (const file of filesWithSources(vm))
        await newDiskOf(ctx.store, file, { content: contentOf(file, copiesIn(ctx, input)) })
      const [files, clusterExtId] = sourcesOf(vm, copiesIn(ctx, input))
      await requireImagesAllowed(ctx, imagesOf(files), clusterExtId)
      await requireRoom(ctx, filesWithSources(vm))
    },
    // No undo: the step only reads.
  },
  {
    name: 'copy images',
    progress: 20,
    acts: async (ctx, input) =>
      input.isDiskless !== true && (await imagesToCopy(ctx.store, ...(await comingSources(ctx, input)))).length > 0,
    run: async (ctx, input) => copyImages(ctx, ...(await comingSources(ctx, input))),
    record: async (ctx, input) => storeImageCopies(ctx.store, ...(await comingSources(ctx, input))),
    undo: async (ctx, input) => removeCopies(ctx, ...(await comingSources(ctx, input))),
  },
  {
    name: creatingDisks,
    progress: 50,
    seconds: [0.4, 1],
    acts: async (_, { isDiskless }) => isDiskless !== true,
    run: async (ctx, input) => {
      const vm = await pendingVm(ctx.store, input)
      const media = new Set(mediaOf(vm))
      for (const file of filesWithSources(vm)) {
        const content = contentOf(file, copiesIn(ctx, input))
        await createFile(ctx, file, { content, isReadOnly: media.has(file) || undefined })
      }
      const tpm = tpmDisk(vm)
      if (tpm !== undefined) await ctx.drivers.hypervisor.createDisk(tpm)
    },
    undo: async (ctx, input) => removeDisks(ctx, await pendingVm(ctx.store, input)),
  },
  {
    name: 'reserve addresses',
    progress: 60,
    record: async (ctx, input) => {
      const vm = await pendingVm(ctx.store, input)
      const nics = []
      for (const nic of ethernetNicsOf(vm)) nics.push(await takeFreeAddress(ctx, nic))
      if (nics.length > 0) await ctx.store.observe(Vm, vm.extId, { nics })
    },
    // `onUndone` releases these addresses together with those that the request reserved.
  },
  {
    name: 'claim devices',
    progress: 70,
    record: async (ctx, input) => {
      const vm = await pendingVm(ctx.store, input)
      const wishes = wishesOf(vm)
      if (wishes.length === 0) return
      await claimDevices(ctx, vm, wishes)
      await ctx.store.observe(Vm, vm.extId, withoutEmpty(await described(ctx, vm, vm)))
    },
    unrecord: (ctx, { vmExtId }) => releaseDevices(ctx.store, vmExtId),
  },
  {
    name: 'define',
    progress: 85,
    seconds: [0.5, 1],
    run: async (ctx, input) => {
      const vm = await pendingVm(ctx.store, input)
      await ctx.drivers.hypervisor.defineVm(await domainOf(ctx.store, vm))
      await plugGroups(ctx, vm.extId)
    },
    undo: async (ctx, { vmExtId }) => {
      await unplugGroups(ctx, vmExtId)
      await ctx.drivers.hypervisor.undefineVm(vmExtId)
    },
  },
]

/** The task that makes a planned VM. A stored task refers to `name` after a restart: never rename. */
export const makingVm = <I extends NewVm>(
  name: string,
  { check, plan, cancelableUntil, creation = creatingDisks, stored, undone }: MakingOptions<I> = {},
): TaskDefinition<I> =>
  defineTask<I>({
    name,
    ...(cancelableUntil === 'never' ? {} : { cancelableUntil: cancelableUntil ?? 'define' }),
    steps: [
      ...(check === undefined
        ? []
        : // No undo: the step only reads.
          [{ name: 'check', progress: 1, record: check }]),
      ...(plan === undefined ? [] : [plan]),
      ...makingSteps.map((step) => (step.name === creatingDisks ? { ...step, name: creation } : step)),
      {
        name: 'store',
        record: async (ctx, input) => {
          const { vmExtId } = input
          await ctx.store.update(Vm, vmExtId, { updateTime: ctx.clock.iso(), filesUnderWay: undefined })
          await ctx.store.publish(Vm, vmExtId)
          for (const { extId } of await claimsOn(ctx.store, 'Vm', vmExtId)) await confirm(ctx.store, extId)
          await stored?.(ctx, input)
        },
      },
    ],
    async onUndone(ctx, input) {
      await discardVm(ctx.store, input.vmExtId)
      await undone?.(ctx, input)
    },
  })

export const makeVm = makingVm<NewVm>('vmm.create-vm')

export async function discardVm(store: Transaction, vmExtId: string): Promise<void> {
  const vm = await store.pending(Vm, vmExtId)
  await releaseNics(store, vmExtId, vm?.nics ?? [])
  await detachGroups(store, vmExtId)
  await store.remove(Vm, vmExtId)
}

export async function detachGroups(store: Transaction, vmExtId: string): Promise<void> {
  for (const attachment of await claimsOn(store, 'Vm', vmExtId)) await drop(store, attachment)
}

const hasDisks = (vm: VmEntity): boolean => filesOf(vm).length + firmwareFilesOf(vm).length > 0

async function pendingVm(store: Reader, { vmExtId }: OfVm): Promise<VmEntity> {
  return (await store.pending(Vm, vmExtId)) as VmEntity
}

/** Files with named sources, and the cluster that needs them. */
const sourcesOf = (vm: VmEntity, copies: Copies = {}): [readonly FileBacking[], string] => [
  filesWithSources(vm).filter(({ diskExtId }) => copies[diskExtId as string] === undefined),
  vm.cluster?.extId as string,
]

const comingSources = async (
  ctx: Pick<StepContext, 'outputs' | 'store'>,
  input: NewVm,
): Promise<[readonly FileBacking[], string]> => sourcesOf(await pendingVm(ctx.store, input), copiesIn(ctx, input))

const contentOf = ({ diskExtId }: FileBacking, copies: Copies = {}): DiskSource | undefined =>
  copies[diskExtId as string]

const filesWithSources = (vm: VmEntity): FileBacking[] => [...filesOf(vm), ...[nvramOf(vm) ?? []].flat()]

function tpmDisk({ vtpmConfig }: VmEntity): VirtualDisk | undefined {
  const { diskExtId: extId, backingFirmwareDiskStorageInfo } = vtpmConfig?.vtpmDevice ?? {}
  const containerExtId = backingFirmwareDiskStorageInfo?.storageContainer?.extId
  return extId === undefined || containerExtId === undefined ? undefined : { extId, containerExtId, sizeBytes: 0 }
}

export async function removeDisks(ctx: Pick<StepContext, 'drivers'>, vm: VmEntity): Promise<void> {
  const files = filesOf(vm).flatMap(({ diskExtId }) => diskExtId ?? [])
  for (const extId of [...files, ...firmwareFilesOf(vm)]) await ctx.drivers.hypervisor.deleteDisk(extId)
}
