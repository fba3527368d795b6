/** New VMs: their admission, and the steps of the tasks that make them. Source: behaviour vmm.md 1.1 (Create, steps). */
import type { EntityOf, Operation } from '@hyperplane/contract'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { Image } from '@hyperplane/contract/vmm/content/image'
import { Ova } from '@hyperplane/contract/vmm/content/ova'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { volumes } from '@hyperplane/contract/volumes'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { isInScope } from '../../../../core/access/scope.ts'
import { ApiError, refuseAll } from '../../../../core/api-error.ts'
import { defined } from '../../../../core/defined.ts'
import type { TaskStarted } from '../../../../core/handlers.ts'
import { notFound } from '../../../../core/standard.ts'
import type {
  RecordContext,
  Step,
  StepContext,
  TaskDefinition,
  TaskOptions,
} from '../../../../core/tasks/define-task.ts'
import type { Drivers } from '../../../../drivers/drivers.ts'
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
import { type OfVm, taskOf } from '../admission.ts'
import { domainOf } from '../domain.ts'
import {
  type EthernetNic,
  ethernetNicsOf,
  releaseNics,
  takeAskedAddresses,
  takeFreeAddress,
  takeMac,
} from '../parts/nics.ts'
import { bootDeviceFaults } from '../rules.ts'
import { nameOfSource, resolveSource } from './disk-sources.ts'
import { type PlannedVm, planVm } from './plan.ts'
import type { Contents } from './plan-disks.ts'
import type { Planning } from './planning.ts'

/** A VM like another one, or with the content of files that no disk of a body can name. */
export interface Derived {
  readonly contents: Contents
  /** Index of the NIC that is the boot device; its MAC address is not known before it is leased. */
  readonly bootNic?: number | undefined
}

export interface VmOrigin<I extends NewVm> extends Derived {
  readonly task: TaskDefinition<Drivers, I>
  /** What the task needs to know beside `NewVm`. */
  readonly input: Omit<I, keyof NewVm>
  readonly options: (vm: VmEntity) => TaskOptions
}

export const createVm = (ctx: WriteContext, body: VmBody): Promise<TaskStarted> =>
  newVm(ctx, body, { contents: new Map(), task: makeVm, input: {}, options: (vm) => taskOf('CreateVm', vm) })

/**
 * Stores the pending row with its unique values; the VM becomes visible when its task has succeeded.
 * @param extId default: the next id of the context
 */
export async function insertVm(
  ctx: Planning,
  body: VmBody,
  { contents, bootNic }: Derived,
  extId?: string,
): Promise<{ readonly vm: VmEntity; readonly copies: Copies }> {
  const { vm: planned, groups, copies } = await planVm(ctx, body, contents, extId)
  await requireMayAttach(ctx, groups)
  const nics = []
  for (const [index, nic] of ethernetNicsOf(planned).entries()) {
    nics.push(await takeMac(ctx, planned.extId, nic))
    await takeAskedAddresses(ctx, nic, `nics[${index}]`)
  }
  const imagesRead = imagesOf(planned, copies)
  const vm = {
    ...planned,
    ...(nics.length === 0 ? {} : { nics }),
    ...(imagesRead.length === 0 ? {} : { imagesRead }),
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
  const images = (await imagesToCopy(ctx.store, vm, copies)).map(({ extId }) => extId)
  const locks = [...options.affected.map(({ extId }) => extId), vm.extId, ...images]
  const input = {
    ...origin.input,
    vmExtId: vm.extId,
    ...(Object.keys(copies).length === 0 ? {} : { copies }),
    ...(hasDisks(vm) ? {} : { isDiskless: true }),
  } as I
  const task = await ctx.startTask(origin.task, input, { ...options, locks: [...new Set(locks)] })
  return { ...task, created: vm.extId }
}

function bootedFrom({ bootConfig }: VmEntity, nic: EthernetNic | undefined): Pick<VmEntity, 'bootConfig'> {
  if (nic === undefined) return {}
  const { $objectType } = bootConfig?.bootDevice ?? {}
  const bootDevice = { $objectType, macAddress: nic.backingInfo.macAddress }
  return { bootConfig: { ...bootConfig, bootDevice } as VmEntity['bootConfig'] }
}

/** By id of a new file: the content that it copies. */
export type Copies = Readonly<Record<string, DiskSource>>

export interface NewVm extends OfVm {
  readonly copies?: Copies
  /** The VM has no files: the steps that check sources, copy images and create disks are skipped. */
  readonly isDiskless?: boolean
}

export interface MakingOptions<I> {
  /** Inserts the pending row, if the request did not; returns the copies as its output. */
  readonly plan?: Step<Drivers, I> & { readonly name: typeof planning }
  readonly isCancelable?: boolean
  /** Name of the step that creates the disks. */
  readonly creation?: string
  /** In the transaction that ends the task, as `undone`. */
  readonly stored?: (ctx: RecordContext<Drivers>, input: I) => Promise<void>
  readonly undone?: (ctx: RecordContext<Drivers>, input: I) => Promise<void>
}

export const planning = 'copy config'

/** By the request that started the task, else by its first step. */
const copiesIn = ({ outputs }: Pick<StepContext<Drivers>, 'outputs'>, { copies }: NewVm): Copies | undefined =>
  copies ?? (outputs[planning] as Copies | undefined)

const creatingDisks = 'create disks'

const makingSteps: readonly Step<Drivers, NewVm>[] = [
  {
    name: 'check references',
    progress: 5,
    acts: async (_, { isDiskless }) => isDiskless !== true,
    run: async (ctx, input) => {
      const vm = await coming(ctx.store, input)
      for (const file of filesOf(vm)) await diskOf(ctx.store, file, copiesIn(ctx, input))
      await requireRoom(ctx, filesOf(vm))
    },
    // No undo: the step only reads.
  },
  {
    name: 'copy images',
    progress: 20,
    acts: async (ctx, input) =>
      input.isDiskless !== true &&
      (await imagesToCopy(ctx.store, await coming(ctx.store, input), copiesIn(ctx, input))).length > 0,
    run: async (ctx, input) => {
      const vm = await coming(ctx.store, input)
      const clusterExtId = vm.cluster?.extId as string
      const images = await imagesToCopy(ctx.store, vm, copiesIn(ctx, input))
      for (const { extId, sizeBytes = 0, clusterLocationExtIds = [] } of images) {
        await requireImageRoom(ctx, [clusterExtId], sizeBytes)
        const from = { imageExtId: extId, clusterExtId: clusterLocationExtIds[0] as string }
        await ctx.drivers.contentSource.copy(from, { imageExtId: extId, clusterExtId })
      }
    },
    record: async (ctx, input) => {
      const vm = await coming(ctx.store, input)
      for (const { extId, clusterLocationExtIds = [] } of await imagesToCopy(ctx.store, vm, copiesIn(ctx, input))) {
        await ctx.store.update(Image, extId, {
          clusterLocationExtIds: [...clusterLocationExtIds, vm.cluster?.extId as string],
        })
      }
    },
    // No undo: the copy belongs to the image from then on, and other VMs may use it already.
  },
  {
    name: creatingDisks,
    progress: 50,
    seconds: [0.4, 1],
    acts: async (_, { isDiskless }) => isDiskless !== true,
    run: async (ctx, input) => {
      const vm = await coming(ctx.store, input)
      for (const file of filesOf(vm))
        await ctx.drivers.hypervisor.createDisk(await diskOf(ctx.store, file, copiesIn(ctx, input)))
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
]

/** The task that makes a planned VM. A stored task refers to `name` after a restart: never rename. */
export const makingVm = <I extends NewVm>(
  name: string,
  { plan, isCancelable = true, creation = creatingDisks, stored, undone }: MakingOptions<I> = {},
): TaskDefinition<Drivers, I> =>
  defineTask<I>({
    name,
    ...(isCancelable ? { cancelableUntil: 'define' } : {}),
    steps: [
      ...(plan === undefined ? [] : [plan]),
      ...makingSteps.map((step) => (step.name === creatingDisks ? { ...step, name: creation } : step)),
      {
        name: 'store',
        progress: 100,
        record: async (ctx, input) => {
          const { vmExtId } = input
          await ctx.store.update(Vm, vmExtId, { updateTime: ctx.clock.iso(), imagesRead: undefined })
          await ctx.store.publish(Vm, vmExtId)
          for (const { extId } of await claimsOn(ctx.store, 'Vm', vmExtId)) await confirm(ctx.store, extId)
          await stored?.(ctx, input)
        },
      },
    ],
    async onUndone(ctx, input) {
      const { vmExtId } = input
      const vm = await ctx.store.pending(Vm, vmExtId)
      await releaseNics(ctx.store, vmExtId, vm?.nics ?? [])
      await detachGroups(ctx.store, vmExtId)
      await ctx.store.remove(Vm, vmExtId)
      await undone?.(ctx, input)
    },
  })

export const makeVm = makingVm<NewVm>('vmm.create-vm')

export async function detachGroups(store: Transaction, vmExtId: string): Promise<void> {
  for (const attachment of await claimsOn(store, 'Vm', vmExtId)) await drop(store, attachment)
}

/** A disk that represents a volume group is an attachment: the caller needs the permission for attachments as well. */
async function requireMayAttach(ctx: Planning, groups: PlannedVm['groups']): Promise<void> {
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

function imagesOf(vm: VmEntity, copies: Copies = {}): string[] {
  const ids = filesOf(vm).flatMap(({ dataSource, diskExtId }) =>
    copies[diskExtId as string] === undefined
      ? ((dataSource?.reference as { imageExtId?: string } | undefined)?.imageExtId ?? [])
      : [],
  )
  return [...new Set(ids)]
}

/** Source images that the cluster of the VM does not hold yet. */
async function imagesToCopy(store: Reader, vm: VmEntity, copies?: Copies): Promise<EntityOf<typeof Image>[]> {
  const images = await store.getMany(Image, imagesOf(vm, copies))
  return images.filter(({ clusterLocationExtIds }) => !clusterLocationExtIds?.includes(vm.cluster?.extId as string))
}

/** @throws ApiError 404 when the source no longer exists */
export async function diskOf(store: Reader, file: FileBacking, copies: Copies = {}): Promise<VirtualDisk> {
  const content = copies[file.diskExtId as string]
  if (content?.kind === 'ova' && (await store.get(Ova, content.extId)) === undefined)
    throw notFound(Ova, Ova.kind, content.extId, 'extId')
  const reference = content === undefined ? file.dataSource?.reference : undefined
  const resolved = reference === undefined ? undefined : await resolveSource(store, reference)
  if (reference !== undefined && resolved === undefined) {
    throw new ApiError('VMM_ENTITY_NOT_FOUND', { ...nameOfSource(reference), attribute: 'dataSource/reference' })
  }
  return {
    extId: file.diskExtId as string,
    containerExtId: file.storageContainer?.extId as string,
    sizeBytes: file.diskSizeBytes ?? 0,
    ...defined({ source: content ?? resolved?.source }),
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
