/** GPU profiles, derived from the devices of hosts and their owners. Source: behaviour clustermgmt.md 1.7. */
import type { EntityOf } from '@hyperplane/contract'
import {
  gpuProfileOperations,
  type PhysicalGpuProfile,
  type VirtualGpuProfile,
} from '@hyperplane/contract/clustermgmt/gpu-profile'
import { derivedId } from '../../core/ids/named-id.ts'
import { listOf } from '../../core/standard.ts'
import type { HostDevice, SharedGpu } from '../../drivers/hardware.ts'
import { implement, type ReadContext } from '../context.ts'
import { DeviceClaim } from '../scheduling/device-claim.ts'
import { HostAllocation } from '../scheduling/host-allocation.ts'
import { canCarry, sharedGpus } from '../scheduling/host-devices.ts'

type Physical = EntityOf<typeof PhysicalGpuProfile>
type Virtual = EntityOf<typeof VirtualGpuProfile>
type Gpu = Exclude<HostDevice, { kind: 'PCIE' }>

const maximumGpusOfVm = 16

export const gpuProfile = implement(gpuProfileOperations, {
  listPhysicalGpuProfiles: async (ctx, request) =>
    listOf(await physicalProfiles(ctx, request.path.clusterExtId), request),
  listVirtualGpuProfiles: async (ctx, request) =>
    listOf(await virtualProfiles(ctx, request.path.clusterExtId), request),
})

const typeOf = (gpu: Gpu) => (gpu.kind === 'GPU' ? gpu.mode : 'VIRTUAL')

function grouped<T>(items: readonly T[], keyOf: (item: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item])
  return groups
}

async function physicalProfiles(ctx: ReadContext, clusterExtId: string): Promise<readonly Physical[]> {
  const gpus = ctx.drivers.hardware.devicesOf(clusterExtId).filter((device): device is Gpu => device.kind !== 'PCIE')
  const claims = await ctx.store.findWhere(DeviceClaim, { clusterExtId })
  const owners = new Map(claims.map(({ deviceExtId, vmExtId }) => [deviceExtId, vmExtId]))
  const sharing = await sharesOf(ctx, clusterExtId)
  return [...grouped(gpus, (gpu) => [gpu.vendor, gpu.deviceId, typeOf(gpu)].join('/'))].map(([key, cards]) => {
    const [model] = cards as readonly [Gpu]
    const isShared = model.kind === 'SHARED_GPU'
    const vmExtIds = isShared
      ? sharing
          .filter(({ typeId }) => model.types.some(({ deviceId }) => deviceId === typeId))
          .map(({ vmExtId }) => vmExtId)
      : cards.flatMap(({ extId }) => owners.get(extId) ?? [])
    const assignable = isShared ? freeCards(cards as readonly SharedGpu[], sharing) : cards.length - vmExtIds.length
    return {
      extId: derivedId('physical GPU profile', clusterExtId, key),
      clusterExtId,
      allocatedVmExtIds: [...new Set(vmExtIds)],
      physicalGpuConfig: {
        assignable,
        deviceId: model.deviceId,
        deviceName: model.name,
        frameBufferSizeBytes: model.frameBufferSizeBytes,
        isInUse: assignable < cards.length,
        mode: assignable === cards.length ? 'UNUSED' : isShared ? 'USED_FOR_VIRTUAL' : 'USED_FOR_PASSTHROUGH',
        type: typeOf(model),
        vendorName: model.vendor,
      },
    } as const
  })
}

interface Share {
  readonly hostExtId: string
  readonly vmExtId: string
  readonly typeId: number
}

async function sharesOf(ctx: ReadContext, clusterExtId: string): Promise<readonly Share[]> {
  const held = await ctx.store.findWhere(HostAllocation, { clusterExtId })
  return held.flatMap(({ hostExtId, vmExtId, virtualGpus = [] }) =>
    virtualGpus.map((typeId) => ({ hostExtId, vmExtId, typeId })),
  )
}

const onHost = <T extends { readonly hostExtId: string }>(items: readonly T[], hostExtId: string): readonly T[] =>
  items.filter((item) => item.hostExtId === hostExtId)

/** Cards that the virtual GPUs in use could leave empty. */
function freeCards(cards: readonly SharedGpu[], sharing: readonly Share[]): number {
  let free = 0
  for (const [hostExtId, installed] of grouped(cards, (card) => card.hostExtId)) {
    const installedTypes = new Set(installed.flatMap(({ types }) => types.map(({ deviceId }) => deviceId)))
    const held = onHost(sharing, hostExtId).flatMap(({ typeId }) => (installedTypes.has(typeId) ? typeId : []))
    let needed = 0
    while (!canCarry(installed.slice(0, needed), held)) needed++
    free += installed.length - needed
  }
  return free
}

async function virtualProfiles(ctx: ReadContext, clusterExtId: string): Promise<readonly Virtual[]> {
  const cards = sharedGpus(ctx.drivers.hardware.devicesOf(clusterExtId))
  const sharing = await sharesOf(ctx, clusterExtId)
  const types = new Map(cards.flatMap(({ vendor, types }) => types.map((type) => [type.deviceId, { ...type, vendor }])))
  return [...types.values()].map(({ deviceId, name, vendor, numVirtualDisplayHeads, ...type }) => {
    const users = sharing.filter(({ typeId }) => typeId === deviceId)
    return {
      extId: derivedId('virtual GPU profile', clusterExtId, deviceId),
      clusterExtId,
      allocatedVmExtIds: [...new Set(users.map(({ vmExtId }) => vmExtId))],
      virtualGpuConfig: {
        ...type,
        assignable: [...grouped(cards, (card) => card.hostExtId)]
          .map(([hostExtId, installed]) => roomFor(deviceId, installed, onHost(sharing, hostExtId)))
          .reduce((sum, room) => sum + room, 0),
        deviceId,
        deviceName: name,
        isInUse: users.length > 0,
        maxInstancesPerVm: maximumGpusOfVm,
        numberOfVirtualDisplayHeads: numVirtualDisplayHeads,
        type: 'VIRTUAL',
        vendorName: vendor,
      },
    } as const
  })
}

/** Further virtual GPUs of the type that the cards of one host can carry. */
function roomFor(deviceId: number, cards: readonly SharedGpu[], sharing: readonly Share[]): number {
  const held = sharing.map(({ typeId }) => typeId)
  let room = 0
  while (canCarry(cards, [...held, ...Array.from({ length: room + 1 }, () => deviceId)])) room++
  return room
}
