/** New files are made beside the old; one transaction switches the VM; then the task only goes forward. Source: vmm.md 1.6 (revert). */
import type { ValueOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { User } from '@hyperplane/contract/iam/user'
import { Category } from '@hyperplane/contract/platform/category'
import type { RevertParams } from '@hyperplane/contract/vmm/vm/actions'
import { VmRecoveryPoint } from '@hyperplane/contract/vmm/vm/recovery-point'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError } from '../../../../core/api-error.ts'
import type { TaskStarted } from '../../../../core/handlers.ts'
import type { StoppedGuest } from '../../../../drivers/hypervisor.ts'
import type { Reader } from '../../../../store/store.ts'
import { floatingIpsOf } from '../../../addressing/floating-ips.ts'
import { detachTargets } from '../../../addressing/lost-targets.ts'
import { withVolumeGroups } from '../../../block-volumes/attachments.ts'
import { defaultContainer } from '../../../containers/default-container.ts'
import { defineTask, type RecordContext, type WriteContext } from '../../../context.ts'
import { idsOf } from '../../../scheduling/policy-selection.ts'
import { type DiskEntity, filesOf, firmwareFilesOf, mediaOf, type VmEntity } from '../../../virtual-machines/entity.ts'
import { requireNoFunctionOfNics } from '../../../virtual-machines/network-functions.ts'
import { admitVm, affectedVm, endUnchanged, type OfVm, requireVm, taskOf } from '../admission.ts'
import { domainOf } from '../domain.ts'
import { type FirmwareFiles, withFirmware } from '../firmware.ts'
import { refuseClash } from '../parts/devices.ts'
import { slotsTaken } from '../parts/slots.ts'
import { recordOff, removeIso } from '../power/power.ts'
import { type Point, requirePoint, snapshotsOf } from './captured.ts'
import { affectedPoint } from './new-point.ts'
import { releaseChanged, takeCaptured } from './revert-nics.ts'

type Body = ValueOf<typeof RevertParams>

interface Revert extends OfVm {
  readonly pointExtId: string
  readonly withCategories: boolean
  readonly withOwner: boolean
  /** By id of a captured file: the new file that is made from its layer. */
  readonly files: Readonly<Record<string, string>>
  readonly firmware: FirmwareFiles
}

/** Fields of the VM that a revert leaves as they are. */
const keptFields = [
  'biosUuid',
  'cluster',
  'createTime',
  'filesUnderWay',
  'gpus',
  'guestCustomization',
  'isCrossClusterMigrationInProgress',
  'pcieDevices',
  'project',
  'source',
  'tenantId',
  'vmGuestCustomizationStatus',
] as const satisfies readonly (keyof VmEntity)[]

/** @throws ApiError 409 for a recovery point of another VM */
export async function revertVm(ctx: WriteContext<VmEntity>, body: Body): Promise<TaskStarted> {
  const vm = await admitVm(ctx, ctx.target, 'revert')
  const point = (await ctx.store.get(VmRecoveryPoint, body.vmRecoveryPointExtId)) as Point
  if (point.vmExtId !== vm.extId)
    // Without its name: some roles revert VMs but do not see recovery points.
    throw new ApiError('CONFLICT', { fault: `The recovery point ${point.extId} is not one of VM "${vm.name}".` })
  await requireSameCluster(ctx.store, vm, point)
  const kept = new Set((point.vm as VmEntity).nics?.map(({ extId }) => extId))
  await requireNoFunctionOfNics(
    ctx.store,
    (vm.nics ?? []).filter(({ extId }) => !kept.has(extId)),
  )
  const container = await defaultContainer(ctx.store, vm.cluster?.extId as string)
  const files = snapshotsOf(point).map(({ diskExtId }) => [diskExtId, ctx.ids.uuid()])
  const input: Revert = {
    vmExtId: vm.extId,
    pointExtId: point.extId,
    withCategories: body.overrideSpec?.shouldRevertVmCategories === true,
    withOwner: body.overrideSpec?.shouldRevertVmOwner === true,
    files: Object.fromEntries(files),
    firmware: { nvramExtId: ctx.ids.uuid(), tpmExtId: ctx.ids.uuid(), containerExtId: container.extId },
  }
  // Tasks of floating IPs lock the NIC that they translate to.
  const nics = (vm.nics ?? []).flatMap(({ extId }) => extId ?? [])
  const affected = [affectedVm(vm), affectedPoint(point)]
  const locks = [vm.extId, point.extId, ...nics]
  return ctx.startTask(revert, input, { ...taskOf('RevertVm', vm), affected, locks })
}

/** @throws ApiError 409 when the VM has migrated to another cluster since */
async function requireSameCluster(store: Reader, vm: VmEntity, { extId, clusterExtId }: Point): Promise<void> {
  if (clusterExtId === vm.cluster?.extId) return
  const [from, to] = await Promise.all([clusterExtId, vm.cluster?.extId].map((id = '') => store.get(Cluster, id)))
  const places = `is on the cluster "${from?.name ?? clusterExtId}", and the VM "${vm.name}" on the cluster "${to?.name}"`
  throw new ApiError('CONFLICT', {
    fault: `The recovery point ${extId} ${places}. Restore it there, or migrate the VM back.`,
  })
}

const pointOf = (store: Reader, { pointExtId }: Revert): Promise<Point> =>
  requirePoint(store, pointExtId, 'vmRecoveryPointExtId')

/** The captured configuration with its new files; NICs without leases. */
function nextOf(vm: VmEntity, point: Point, { files, firmware, withCategories, withOwner }: Revert): VmEntity {
  const captured = point.vm as VmEntity
  const renewed = <T extends { readonly diskExtId?: string | undefined }>(backing: T): T => ({
    ...backing,
    diskExtId: files[backing.diskExtId as string] ?? backing.diskExtId,
  })
  const disks = (captured.disks ?? []).map((disk) => {
    const backingInfo = renewed(disk.backingInfo as { diskExtId?: string })
    return { ...disk, extId: backingInfo.diskExtId, backingInfo } as DiskEntity
  })
  const cdRoms = (captured.cdRoms ?? []).map((drive) =>
    drive.backingInfo === undefined ? drive : { ...drive, backingInfo: renewed(drive.backingInfo) },
  )
  const kept = Object.fromEntries(keptFields.map((field) => [field, vm[field]]))
  const config = { ...captured, ...kept }
  return {
    ...config,
    ...withFirmware(config as VmEntity, firmware, vm),
    extId: vm.extId,
    disks: disks.length === 0 ? undefined : disks,
    cdRoms: cdRoms.length === 0 ? undefined : cdRoms,
    categories: withCategories ? captured.categories : vm.categories,
    ownershipInfo: withOwner ? captured.ownershipInfo : vm.ownershipInfo,
    pinnedHostExtId: point.pinnedHostExtId,
    lastHostExtId: vm.lastHostExtId,
    powerState: 'OFF',
    host: undefined,
    isLiveMigrateCapable: undefined,
  } as VmEntity
}

const allFilesOf = (vm: VmEntity): string[] => [
  ...filesOf(vm).flatMap(({ diskExtId }) => diskExtId ?? []),
  ...firmwareFilesOf(vm),
]

interface Left {
  readonly files: readonly string[]
  /** Floating IPs of NICs that lost their addresses. */
  readonly floatingIpExtIds: readonly string[]
}

const leftIn = (ctx: { readonly outputs: Readonly<Record<string, unknown>> }): Left => ctx.outputs['switch'] as Left

export const revert = defineTask<Revert>({
  name: 'vmm.revert-vm',
  // Once the row names the new files, the old ones can only be deleted.
  pointOfNoReturn: 'define',
  steps: [
    {
      name: 'check',
      progress: 5,
      record: async (ctx, input) => {
        const vm = await requireVm(ctx.store, input.vmExtId, 'revert')
        const point = await pointOf(ctx.store, input)
        await requireSameCluster(ctx.store, vm, point)
        const next = nextOf(vm, point, input)
        refuseClash(next)
        await requireFreeSlots(ctx.store, next)
      },
      // No undo: the step only reads.
    },
    {
      name: 'power off',
      progress: 20,
      seconds: [0.5, 1],
      acts: async (ctx, { vmExtId }) => (await requireVm(ctx.store, vmExtId)).powerState !== 'OFF',
      run: (ctx, { vmExtId }) => ctx.drivers.hypervisor.stopVm(vmExtId),
      record: async (ctx, input, output?: StoppedGuest) => {
        const { powerState } = await requireVm(ctx.store, input.vmExtId)
        return powerState === 'OFF' ? undefined : recordOff(ctx, input, output)
      },
      // No undo: the state that the guest had in its memory is lost.
    },
    removeIso('power off', 25),
    {
      name: 'build layers',
      progress: 60,
      seconds: [0.2, 1],
      run: async (ctx, input) => {
        const point = await pointOf(ctx.store, input)
        const vm = await requireVm(ctx.store, input.vmExtId)
        const next = nextOf(vm, point, input)
        const layers = new Map(
          snapshotsOf(point).map(({ diskExtId, layerExtId }) => [input.files[diskExtId], layerExtId]),
        )
        const media = new Set(mediaOf(next))
        for (const file of filesOf(next)) {
          const { diskExtId = '', diskSizeBytes = 0, storageContainer } = file
          const containerExtId = storageContainer?.extId as string
          const source = { kind: 'disk', extId: layers.get(diskExtId) as string } as const
          await ctx.drivers.hypervisor.createDisk({
            extId: diskExtId,
            containerExtId,
            sizeBytes: diskSizeBytes,
            source,
            ...(media.has(file) && { isReadOnly: true }),
          })
        }
        const { containerExtId } = input.firmware
        for (const extId of firmwareFilesOf(next))
          await ctx.drivers.hypervisor.createDisk({ extId, containerExtId, sizeBytes: 0 })
      },
      undo: async (ctx, input) => {
        const { nvramExtId, tpmExtId } = input.firmware
        for (const extId of [...Object.values(input.files), nvramExtId, tpmExtId])
          await ctx.drivers.hypervisor.deleteDisk(extId)
      },
    },
    { name: 'switch', progress: 80, record: switchOver },
    {
      name: 'define',
      progress: 90,
      run: async (ctx, { vmExtId }) => {
        for (const extId of leftIn(ctx).floatingIpExtIds) await ctx.drivers.networkFabric.removeFloatingIp(extId)
        await ctx.drivers.hypervisor.defineVm(await domainOf(ctx.store, await requireVm(ctx.store, vmExtId)))
      },
    },
    {
      name: 'remove old files',
      run: async (ctx) => {
        for (const extId of leftIn(ctx).files) await ctx.drivers.hypervisor.deleteDisk(extId)
      },
      record: async (ctx, { vmExtId, pointExtId }) => {
        await endUnchanged(ctx, { vmExtId })
        ctx.complete([{ name: 'VM Recovery Point UUID', value: pointExtId }])
      },
    },
  ],
  onUndone: endUnchanged,
})

/** Volume groups stay attached at their addresses. @throws ApiError 409 when a captured disk needs one of them */
async function requireFreeSlots(store: Reader, next: VmEntity): Promise<void> {
  const [vm = next] = await withVolumeGroups(store, [next])
  const slots = slotsTaken(vm).map(({ busType, index }) => `${busType} ${index}`)
  const double = slots.find((slot, at) => slots.indexOf(slot) < at)
  if (double !== undefined)
    throw new ApiError('ADDRESS_IN_USE', {
      kind: 'volume group that is attached to the VM',
      fields: `address (${double})`,
    })
}

/** The row gets the captured configuration, and the NICs their captured MAC addresses and addresses. */
async function switchOver(ctx: RecordContext, input: Revert): Promise<{ keep: Left }> {
  const vm = await requireVm(ctx.store, input.vmExtId)
  const next = await withExistingReferences(ctx, vm, nextOf(vm, await pointOf(ctx.store, input), input))
  const captured = next.nics ?? []
  const floatingIps = await floatingIpsOf(ctx.store, vm.nics ?? [])
  const kept = await releaseChanged(ctx.store, vm.nics ?? [], captured)
  const nics = await takeCaptured(ctx, vm.extId, captured, kept)
  await detachTargets(ctx.store, vm.nics ?? [])
  const { bootConfig } = next
  const device = bootConfig?.bootDevice as { readonly macAddress?: string } | undefined
  const index = captured.findIndex(({ backingInfo }) => backingInfo?.macAddress === device?.macAddress)
  const macAddress = nics.find(({ extId }) => extId === captured[index]?.extId)?.backingInfo?.macAddress
  // The NIC may have another MAC address than before, or be left out.
  const bootDevice = macAddress === undefined ? undefined : { ...bootConfig?.bootDevice, macAddress }
  await ctx.store.replace(Vm, {
    ...next,
    nics: nics.length === 0 ? undefined : nics,
    ...(device?.macAddress === undefined
      ? {}
      : { bootConfig: { ...bootConfig, bootDevice } as VmEntity['bootConfig'] }),
    generationUuid: ctx.ids.uuid(),
    updateTime: ctx.clock.iso(),
  })
  const files = allFilesOf(next)
  const isLost = ({ vmNicReference }: { readonly vmNicReference?: string | undefined }): boolean =>
    !kept.some(({ extId }) => extId === vmNicReference)
  return {
    keep: {
      files: allFilesOf(vm).filter((extId) => !files.includes(extId)),
      floatingIpExtIds: floatingIps.filter(isLost).map(({ extId }) => extId),
    },
  }
}

/** Categories and an owner that were deleted since are left out with a warning. */
async function withExistingReferences(ctx: RecordContext, vm: VmEntity, next: VmEntity): Promise<VmEntity> {
  const ownerExtId = next.ownershipInfo?.owner?.extId
  const isOwnerKnown = ownerExtId === undefined || (await ctx.store.has(User, ownerExtId))
  if (!isOwnerKnown) ctx.warn(`The owner ${ownerExtId} was deleted: the VM keeps its owner.`)
  const existing = new Set((await ctx.store.getMany(Category, idsOf(next.categories))).map(({ extId }) => extId))
  for (const extId of idsOf(next.categories))
    if (!existing.has(extId)) ctx.warn(`The category ${extId} was deleted and is left out.`)
  const categories = next.categories?.filter(({ extId }) => existing.has(extId as string))
  return {
    ...next,
    categories: categories === undefined || categories.length === 0 ? undefined : categories,
    ownershipInfo: isOwnerKnown ? next.ownershipInfo : vm.ownershipInfo,
  } as VmEntity
}
