/** GPUs and PCIe devices of a VM: their rules, and the steps that claim devices of hosts. Source: behaviour vmm.md 1.5, 1.16. */
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError } from '../../../../core/api-error.ts'
import type { Drivers } from '../../../../drivers/drivers.ts'
import type { Reader } from '../../../../store/store.ts'
import type { Broken, Invariant, RecordContext, Step } from '../../../context.ts'
import { rowsOf } from '../../../invariants/rule.ts'
import { DeviceClaim } from '../../../scheduling/device-claim.ts'
import {
  carriesDevice,
  chooseDevices,
  claimDevices,
  claimsOfVm,
  type DeviceWish,
  gpuWish,
  pcieWish,
  releaseDevice,
  virtualGpuType,
} from '../../../scheduling/host-devices.ts'
import type { GpuEntity, PcieDeviceEntity, VmBody, VmEntity } from '../../../virtual-machines/entity.ts'
import { fault } from '../../../virtual-machines/fault.ts'
import { requireVm } from '../admission.ts'
import type { Constraint } from '../create/clusters.ts'
import { changeOf, type Part, type PartChange, type PartKind, type PartTask, readsOf } from './part.ts'

interface Looking {
  readonly store: Reader
  readonly drivers: Drivers
}

type Placed = Pick<VmEntity, 'extId' | 'cluster' | 'pinnedHostExtId'>
export type GpuBody = Pick<GpuEntity, 'deviceId' | 'mode' | 'vendor'>
export type PcieBody = Pick<PcieDeviceEntity, 'backingInfo'>

/** @param at path of the GPU in the body: `gpus[0]/`, or nothing */
export const gpuFaults = (gpu: GpuBody, at = ''): ApiError[] =>
  (['mode', 'vendor', 'deviceId'] as const)
    .filter((field) => gpu[field] === undefined)
    .map((field) => fault(`${at}${field}`, 'that of a GPU profile of the cluster', undefined))

export const pcieFaults = ({ backingInfo }: PcieBody, at = ''): ApiError[] =>
  backingInfo?.deviceExtId === undefined
    ? [fault(`${at}backingInfo/deviceExtId`, 'the id of a PCIe device of the cluster', undefined)]
    : []

export const deviceFaults = (vm: VmBody): ApiError[] => {
  const { gpus = [], pcieDevices = [] } = vm
  const clash = clashOf(vm)
  return [
    ...gpus.flatMap((gpu, index) => gpuFaults(gpu, `gpus[${index}]/`)),
    ...pcieDevices.flatMap((device, index) => pcieFaults(device, `pcieDevices[${index}]/`)),
    ...(clash === undefined ? [] : [fault(...clash)]),
  ]
}

/** @throws ApiError 409 when the VM cannot have these devices together */
export function refuseClash(vm: Pick<VmEntity, 'gpus' | 'isMemoryOvercommitEnabled' | 'name' | 'pcieDevices'>): void {
  const [path, expected, found] = clashOf(vm) ?? []
  if (path === undefined) return
  throw new ApiError('CONFLICT', { fault: `${path} of VM ${vm.name}: expected ${expected}, found ${String(found)}.` })
}

function clashOf({
  gpus = [],
  isMemoryOvercommitEnabled,
  pcieDevices = [],
}: Pick<VmBody, 'gpus' | 'isMemoryOvercommitEnabled' | 'pcieDevices'>): [string, string, unknown] | undefined {
  const virtual = gpus.filter(({ mode }) => mode === 'VIRTUAL').length
  if (virtual > 0 && virtual < gpus.length)
    return ['gpus', 'all virtual or all passthrough', gpus.map(({ mode }) => mode)]
  return isMemoryOvercommitEnabled === true && gpus.length + pcieDevices.length > 0
    ? ['isMemoryOvercommitEnabled', 'false with GPUs or PCIe devices', true]
    : undefined
}

export const wishesOf = ({ gpus = [], pcieDevices = [] }: Pick<VmEntity, 'gpus' | 'pcieDevices'>): DeviceWish[] => [
  ...gpus.flatMap((gpu, index) =>
    gpu.mode === 'VIRTUAL' ? [] : gpuWish(gpu.extId as string, gpu, `gpus[${index}]/deviceId`),
  ),
  ...pcieDevices.map((device, index) =>
    pcieWish(device.extId as string, device, `pcieDevices[${index}]/backingInfo/deviceExtId`),
  ),
]

export async function deviceConstraints(
  { store, drivers }: Looking,
  parts: Pick<VmEntity, 'gpus' | 'pcieDevices'>,
): Promise<Constraint[]> {
  const shares = (parts.gpus ?? []).flatMap((gpu, index) =>
    gpu.mode === 'VIRTUAL' ? { path: `gpus[${index}]/deviceId`, isWanted: carriesDevice(gpu) } : [],
  )
  const wishes = [...wishesOf(parts), ...shares]
  const clusters = wishes.length === 0 ? [] : await store.find(Cluster)
  return wishes.map(({ path, isWanted }) => ({
    path,
    what: 'the device',
    clusterExtIds: clusters.flatMap(({ extId }) => (drivers.hardware.devicesOf(extId).some(isWanted) ? extId : [])),
  }))
}

/** With the facts of their devices. @throws ApiError 404 when the cluster has no such device, 409 when none is free */
export async function described(
  ctx: Looking,
  vm: Placed,
  parts: Pick<VmEntity, 'gpus' | 'pcieDevices'>,
): Promise<{ readonly gpus: GpuEntity[]; readonly pcieDevices: PcieDeviceEntity[] }> {
  const devices = await chooseDevices(ctx, vm, wishesOf(parts))
  const gpus = (parts.gpus ?? []).map(({ extId, mode, vendor, deviceId }, index): GpuEntity => {
    const gpu = { extId: extId as string, mode, vendor, deviceId } as GpuEntity
    const device = devices.get(extId as string)
    if (device?.kind === 'GPU') {
      const { name, address, frameBufferSizeBytes } = device
      return { ...gpu, name, pciAddress: address, frameBufferSizeBytes }
    }
    const type = virtualGpuType(ctx.drivers, vm.cluster?.extId as string, gpu, `gpus[${index}]/`)
    return { ...gpu, ...type }
  })
  const pcieDevices = (parts.pcieDevices ?? []).map(({ extId, backingInfo }): PcieDeviceEntity => {
    const { deviceExtId } = backingInfo ?? {}
    return {
      extId: extId as string,
      ...(backingInfo && { backingInfo }),
      assignedDeviceInfo: { device: { deviceExtId } },
    } as PcieDeviceEntity
  })
  return { gpus, pcieDevices }
}

type DeviceParts = Pick<VmEntity, 'gpus' | 'pcieDevices'>

/** A task that claims the device of the new part before it gives the domain the part. */
const claiming =
  <B>(partsOf: (change: PartChange<B>) => DeviceParts) =>
  (task: PartTask<B>): PartTask<B> => {
    const [define, store] = task.steps as [Step<PartChange<B>>, Step<PartChange<B>>]
    return {
      ...task,
      steps: [
        {
          name: 'claim',
          progress: 50,
          record: async (ctx, change) => {
            const vm = await requireVm(ctx.store, change.vmExtId, 'update')
            await claimDevices(ctx, vm, wishesOf(partsOf(change)))
          },
          unrecord: (ctx, { partExtId }) => releaseDevice(ctx.store, partExtId),
        },
        { ...define, progress: 90 },
        store,
      ],
    }
  }

/** A task that frees the device of the part once the domain no longer has it. */
const freeing = <B>(task: PartTask<B>): PartTask<B> => {
  const [define, store] = task.steps as [Step<PartChange<B>>, Step<PartChange<B>>]
  return {
    ...task,
    steps: [
      { ...define, name: 'undefine', progress: 50 },
      {
        ...store,
        name: 'free',
        record: async (ctx: RecordContext, change: PartChange<B>) => {
          await store.record?.(ctx, change, undefined)
          await releaseDevice(ctx.store, change.partExtId)
        },
      },
    ],
  }
}

interface DeviceKind<F extends keyof DeviceParts> extends Pick<PartKind<F>, 'field' | 'maximum' | 'resource'> {
  readonly path: string
}

/** Operations on parts that are devices of a host. */
export function deviceOperations<F extends keyof DeviceParts, B extends object>({ path, ...kind }: DeviceKind<F>) {
  const { field } = kind
  const part: PartKind<F> = { ...kind, addresses: { path, of: () => [] }, coldFields: () => [field] }
  const partsOf = (extId: string, body: B) => ({ [field]: [{ ...body, extId }] }) as DeviceParts
  return {
    reads: readsOf(kind.resource, field),
    create: changeOf<F, B>(
      part,
      'Create',
      async ({ body, extId, rest, ...ctx }) => {
        const parts = partsOf(extId, body)
        refuseClash({ ...rest, [field]: [...(rest[field] ?? []), ...(parts[field] ?? [])] })
        // The compiler cannot follow that the list of `field` has parts of its kind.
        return (await described(ctx, rest, parts))[field][0] as Part<F> | undefined
      },
      claiming(({ partExtId, body }) => partsOf(partExtId, body)),
    ),
    remove: changeOf<F, undefined>(part, 'Delete', async () => undefined, freeing),
  }
}

export const devicesHaveOneOwner: Invariant = {
  promise: 'Every device that a VM has entirely is claimed for it, and every claim is that of a part of its VM',
  look: claimsAgree,
}

async function* claimsAgree(store: Reader): AsyncGenerator<Broken> {
  for await (const vm of rowsOf(store, Vm)) {
    const claims = new Map((await claimsOfVm(store, vm.extId)).map((claim) => [claim.partExtId, claim]))
    for (const { partExtId } of wishesOf(vm))
      if (!claims.has(partExtId))
        yield { about: [vm.extId], fault: `the VM "${vm.name}" lists ${partExtId} without a device` }
    if (new Set([...claims.values()].map(({ hostExtId }) => hostExtId)).size > 1)
      yield { about: [vm.extId], fault: `the VM "${vm.name}" has devices of several hosts` }
  }
  for await (const { partExtId, vmExtId } of rowsOf(store, DeviceClaim)) {
    const vm = await store.get(Vm, vmExtId)
    const isListed = wishesOf(vm ?? {}).some((wish) => wish.partExtId === partExtId)
    if (!isListed) yield { about: [vmExtId], fault: `a device is claimed for ${partExtId}, which its VM does not list` }
  }
}
