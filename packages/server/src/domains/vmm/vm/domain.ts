import { Subnet } from '@hyperplane/contract/networking/subnet'
import type { Domain, DomainNic } from '../../../drivers/hypervisor.ts'
import type { Reader } from '../../../store/store.ts'
import { isManaged } from '../../addressing/leases.ts'
import type { StepContext } from '../../context.ts'
import { claimsOfVm } from '../../scheduling/host-devices.ts'
import type { NicEntity, VmEntity } from '../../virtual-machines/entity.ts'
import { vcpusOf } from '../../virtual-machines/entity.ts'
import { virtualFunctionOf } from '../../virtual-machines/virtual-functions.ts'

export async function domainOf(store: Reader, vm: VmEntity): Promise<Domain> {
  return {
    extId: vm.extId,
    clusterExtId: vm.cluster?.extId as string,
    name: vm.name,
    memoryBytes: vm.memorySizeBytes ?? 0,
    vcpus: vcpusOf(vm),
    bootOrder: vm.bootConfig?.bootOrder ?? ['CDROM', 'DISK', 'NETWORK'],
    diskExtIds: (vm.disks ?? []).flatMap(({ extId }) => extId ?? []),
    isoExtIds: (vm.cdRoms ?? []).flatMap(({ backingInfo }) => backingInfo?.diskExtId ?? []),
    nics: await Promise.all((vm.nics ?? []).map((nic) => nicOf(store, nic))),
    serialPorts: (vm.serialPorts ?? []).map(({ extId, index, isConnected }) => ({
      extId: extId as string,
      index: index as number,
      isConnected: isConnected === true,
    })),
    ...(await devicesOf(store, vm)),
    hasGuestTools: vm.guestTools?.isInstalled === true && vm.guestTools.isEnabled !== false,
    hasPendingCustomization: vm.vmGuestCustomizationStatus === 'PENDING',
    ...(vm.toolsAddresses === undefined
      ? {}
      : {
          toolsAddresses: byNic(
            vm,
            vm.toolsAddresses.map(({ nic, addresses }) => [nic, addresses]),
          ),
        }),
    ...(vm.guestSettings === undefined ? {} : { guestSettings: settingsOf(vm, vm.guestSettings) }),
  }
}

const settingsOf = (
  vm: VmEntity,
  { computerName, addresses = [] }: NonNullable<VmEntity['guestSettings']>,
): NonNullable<Domain['guestSettings']> => ({
  addresses: byNic(
    vm,
    addresses.map(({ nic, address }) => [nic, address]),
  ),
  ...(computerName === undefined ? {} : { computerName }),
})

const byNic = <T>({ nics = [] }: VmEntity, values: readonly (readonly [number, T])[]): Record<string, T> =>
  Object.fromEntries(
    values.flatMap(([index, value]): [string, T][] => {
      const extId = nics[index]?.extId
      return extId === undefined ? [] : [[extId, value]]
    }),
  )

/** Omits claims of parts that the VM no longer lists. */
async function devicesOf(store: Reader, vm: VmEntity): Promise<Pick<Domain, 'deviceExtIds' | 'virtualGpus'>> {
  const { gpus = [], pcieDevices = [] } = vm
  if (gpus.length + pcieDevices.length === 0) return {}
  const parts = new Set([...gpus, ...pcieDevices].map(({ extId }) => extId))
  const claims = (await claimsOfVm(store, vm.extId)).filter(({ partExtId }) => parts.has(partExtId))
  return {
    deviceExtIds: claims.map(({ deviceExtId }) => deviceExtId),
    virtualGpus: gpus.flatMap(({ mode, deviceId }) => (mode === 'VIRTUAL' ? (deviceId ?? []) : [])),
  }
}

/** Uses the VM's row. A host that does not answer must not block the rollback: the next start defines the VM again. */
export async function restoreDefinition(
  { drivers, store }: Pick<StepContext, 'drivers' | 'store'>,
  vm: VmEntity,
  hostExtId = vm.host?.extId ?? '',
): Promise<void> {
  if (drivers.hardware.isHostUp(hostExtId)) await drivers.hypervisor.defineVm(await domainOf(store, vm))
}

async function nicOf(store: Reader, nic: NicEntity): Promise<DomainNic> {
  const { backingInfo, networkInfo } = nic
  const { profileExtId, vlanId } = virtualFunctionOf(nic) ?? {}
  const subnetExtId = networkInfo?.subnet?.extId
  const subnet = subnetExtId === undefined ? undefined : await store.get(Subnet, subnetExtId)
  const address = networkInfo?.ipv4Config?.ipAddress?.value
  const isOutside = subnet !== undefined && !isManaged(subnet) && subnet.subnetType === 'VLAN'
  return {
    extId: nic.extId as string,
    macAddress: backingInfo?.macAddress as string,
    isConnected: backingInfo?.isConnected !== false,
    model: backingInfo?.model ?? 'VIRTIO',
    numQueues: backingInfo?.numQueues ?? 1,
    allowsUnknownMacs: networkInfo?.shouldAllowUnknownMacs === true,
    ...(networkInfo?.vlanMode === 'TRUNK' ? { trunkedVlans: networkInfo.trunkedVlans ?? [] } : {}),
    ...(subnetExtId === undefined ? {} : { subnetExtId }),
    ...(address === undefined ? {} : { address }),
    ...(profileExtId && { virtualFunction: { profileExtId, ...(vlanId !== undefined && { vlanId }) } }),
    ...(networkInfo?.networkFunctionChain && { functionChainExtId: networkInfo.networkFunctionChain.extId! }),
    ...(isOutside && subnet.virtualSwitchReference !== undefined
      ? { vlan: { virtualSwitchExtId: subnet.virtualSwitchReference, tag: subnet.networkId ?? 0 } }
      : {}),
  }
}
