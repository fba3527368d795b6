/** Devices of hosts and their VMs. All devices of a VM are in one host. Source: behaviour vmm.md 1.5, 3.2; clustermgmt.md 1.7. */
import type { EntityOf } from '@hyperplane/contract'
import { ApiError } from '../../core/api-error.ts'
import { pathOf } from '../../core/standard.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import type { HostDevice, PassthroughGpu, PcieCard, SharedGpu, VirtualGpuType } from '../../drivers/hardware.ts'
import { equals } from '../../odata/index.ts'
import type { Reader, Transaction } from '../../store/store.ts'
import type { GpuEntity, PcieDeviceEntity, VmEntity } from '../virtual-machines/entity.ts'
import { DeviceClaim } from './device-claim.ts'

interface Looking<S extends Reader = Reader> {
  readonly store: S
  readonly drivers: Pick<Drivers, 'hardware'>
}

type Claim = EntityOf<typeof DeviceClaim>
type OneVmDevice = PassthroughGpu | PcieCard
type GpuBody = Omit<GpuEntity, 'extId'>
type OfCluster = Pick<VmEntity, 'extId' | 'cluster' | 'pinnedHostExtId'>

/** A part of a VM that needs a device of its own. `path`: of the part in the body. */
export interface DeviceWish {
  readonly partExtId: string
  readonly path: string
  readonly kind: 'GPU profile' | 'PCIe device'
  readonly id: string
  readonly isWanted: (device: HostDevice) => device is OneVmDevice
}

export const claimsOfVm = (store: Reader, vmExtId: string): Promise<Claim[]> =>
  store.findWhere(DeviceClaim, { vmExtId })

export const gpuWish = (partExtId: string, { mode, vendor, deviceId }: GpuBody, path: string): DeviceWish => ({
  partExtId,
  path,
  kind: 'GPU profile',
  id: `${vendor} ${deviceId} (${mode})`,
  isWanted: (device): device is PassthroughGpu =>
    device.kind === 'GPU' && device.mode === mode && device.vendor === vendor && device.deviceId === deviceId,
})

export const pcieWish = (
  partExtId: string,
  { backingInfo }: Omit<PcieDeviceEntity, 'extId'>,
  path: string,
): DeviceWish => ({
  partExtId,
  path,
  kind: 'PCIe device',
  id: String(backingInfo?.deviceExtId),
  isWanted: (device): device is PcieCard => device.kind === 'PCIE' && device.extId === backingInfo?.deviceExtId,
})

/** By part. Parts keep the devices that they have. @throws ApiError 404: not in the cluster; 409: none free in a suitable host */
export async function chooseDevices(
  { store, drivers }: Looking,
  vm: OfCluster,
  wishes: readonly DeviceWish[],
): Promise<ReadonlyMap<string, OneVmDevice>> {
  if (wishes.length === 0) return new Map()
  const clusterExtId = vm.cluster?.extId as string
  const devices = drivers.hardware.devicesOf(clusterExtId)
  for (const { isWanted, kind, id, path } of wishes) {
    if (devices.some(isWanted)) continue
    throw new ApiError('VMM_ENTITY_NOT_FOUND', { kind, id, attribute: path })
  }
  const claims = await store.findWhere(DeviceClaim, { clusterExtId })
  const own = claims.filter(({ vmExtId }) => vmExtId === vm.extId)
  const boundTo = vm.pinnedHostExtId ?? own[0]?.hostExtId
  const hosts = new Set(devices.map(({ hostExtId }) => hostExtId))
  for (const hostExtId of boundTo === undefined ? hosts : [boundTo]) {
    const chosen = chosenIn(
      devices.filter((device) => device.hostExtId === hostExtId),
      claims,
      wishes,
    )
    if (chosen !== undefined) return chosen
  }
  const where = boundTo === undefined ? 'one host of the cluster' : `the host ${boundTo}, to which the VM is bound`
  throw new ApiError(
    'ADDRESS_IN_USE',
    { kind: 'VM', fields: `device, and no other is free in ${where}` },
    { extra: { attributePath: (wishes[0] as DeviceWish).path } },
  )
}

/** Devices of one host for all wishes, or undefined. */
function chosenIn(
  devices: readonly HostDevice[],
  claims: readonly Claim[],
  wishes: readonly DeviceWish[],
): ReadonlyMap<string, OneVmDevice> | undefined {
  const owners = new Map(claims.map(({ deviceExtId, partExtId }) => [deviceExtId, partExtId]))
  const chosen = new Map<string, OneVmDevice>()
  for (const { partExtId, isWanted } of wishes) {
    const fitting = devices.filter(isWanted)
    const held = fitting.find(({ extId }) => owners.get(extId) === partExtId)
    const device = held ?? fitting.find(({ extId }) => !owners.has(extId))
    if (device === undefined) return undefined
    owners.set(device.extId, partExtId)
    chosen.set(partExtId, device)
  }
  return chosen
}

/** Claims a device for each wish. @throws ApiError as `chooseDevices` */
export async function claimDevices(
  ctx: Looking<Transaction>,
  vm: OfCluster,
  wishes: readonly DeviceWish[],
): Promise<ReadonlyMap<string, OneVmDevice>> {
  const chosen = await chooseDevices(ctx, vm, wishes)
  for (const [partExtId, { extId: deviceExtId, hostExtId, clusterExtId }] of chosen) {
    if (await ctx.store.has(DeviceClaim, partExtId)) continue
    const claim = { deviceExtId, vmExtId: vm.extId, partExtId, hostExtId, clusterExtId }
    await ctx.store.insert(DeviceClaim, { extId: partExtId, ...claim })
  }
  return chosen
}

export async function releaseDevice(store: Transaction, partExtId: string): Promise<void> {
  if (await store.has(DeviceClaim, partExtId)) await store.remove(DeviceClaim, partExtId)
}

export async function releaseDevices(store: Transaction, vmExtId: string): Promise<void> {
  await store.removeWhere(DeviceClaim, equals(pathOf(DeviceClaim, 'vmExtId'), vmExtId))
}

export const carriesDevice =
  ({ vendor, deviceId }: GpuBody) =>
  (device: HostDevice): boolean =>
    device.kind === 'SHARED_GPU' && device.vendor === vendor && device.types.some((type) => type.deviceId === deviceId)

/** The type of a virtual GPU. @throws ApiError 404 when no card of the cluster has it */
export function virtualGpuType(
  { hardware }: Pick<Drivers, 'hardware'>,
  clusterExtId: string,
  { vendor, deviceId }: GpuBody,
  path: string,
): VirtualGpuType {
  const cards = sharedGpus(hardware.devicesOf(clusterExtId)).filter(carriesDevice({ vendor, deviceId }))
  const found = cards.flatMap(({ types }) => types).find((type) => type.deviceId === deviceId)
  if (found !== undefined) return found
  const id = `${vendor} ${deviceId} (VIRTUAL)`
  throw new ApiError('VMM_ENTITY_NOT_FOUND', { kind: 'GPU profile', id, attribute: `${path}deviceId` })
}

export const sharedGpus = (devices: readonly HostDevice[]): readonly SharedGpu[] =>
  devices.filter((device) => device.kind === 'SHARED_GPU')

/** Whether the cards can carry virtual GPUs of these types; each card carries one type. */
export function canCarry(cards: readonly SharedGpu[], typeIds: readonly number[]): boolean {
  const counts = new Map<number, number>()
  for (const id of typeIds) counts.set(id, (counts.get(id) ?? 0) + 1)
  const free = [...cards]
  for (const [id, count] of counts) {
    for (let left = count; left > 0; ) {
      const index = free.findIndex(({ types }) => types.some(({ deviceId }) => deviceId === id))
      const [card] = index < 0 ? [] : free.splice(index, 1)
      const type = card?.types.find(({ deviceId }) => deviceId === id)
      if (type === undefined) return false
      left -= perCard(type)
    }
  }
  return true
}

export const perCard = ({ fraction }: VirtualGpuType): number => Math.floor(100 / fraction)
