/** Invariants of VMs, hosts, networks and storage. Source: behaviour vmm.md 1.4, 3.1, 3.2; networking.md 1.3. */

import type { EntityOf } from '@hyperplane/contract'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { AddressLease } from '@hyperplane/contract/networking/address-lease'
import { Gateway } from '@hyperplane/contract/networking/gateway'
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { parseAddress, toSortable } from '../../core/ip-address.ts'
import type { Reader } from '../../store/store.ts'
import type { Broken, Invariant } from '../context.ts'
import { rowsOf } from '../invariants/rule.ts'
import { HostAllocation } from '../scheduling/host-allocation.ts'
import { heldMemoryBytes } from '../scheduling/placement.ts'
import { filesOf, type NicEntity, type VmEntity, vcpusOf } from '../virtual-machines/entity.ts'
import { MacLease } from '../virtual-machines/mac-lease.ts'

export const vmRules: readonly Invariant[] = [
  { promise: 'Every address and every MAC address that a NIC shows is leased to it', look: nicsHoldTheirAddresses },
  { promise: 'Every lease of a MAC address is that of a NIC', look: macLeasesHaveNics },
  { promise: 'Hosts carry exactly what the VMs on them take', look: hostsCarryTheirVms },
  { promise: 'The files of every VM lie on storage containers of its cluster', look: filesLieOnTheCluster },
]

async function* nicsHoldTheirAddresses(store: Reader): AsyncGenerator<Broken> {
  for await (const vm of rowsOf(store, Vm)) {
    for (const nic of vm.nics ?? []) {
      const fault = (await macFaultOf(store, vm, nic)) ?? (await addressFaultOf(store, nic))
      if (fault !== undefined)
        yield { about: [vm.extId, subnetOf(nic)], fault: `the NIC ${nic.extId} of the VM "${vm.name}" ${fault}` }
    }
  }
}

const subnetOf = (nic: NicEntity): string | undefined => nic.networkInfo?.subnet?.extId
const macOf = (nic: NicEntity): string | undefined => nic.backingInfo?.macAddress

async function macFaultOf(store: Reader, vm: VmEntity, nic: NicEntity): Promise<string | undefined> {
  const macAddress = macOf(nic)
  if (macAddress === undefined) return 'has no MAC address'
  const lease = await store.findOne(MacLease, { macAddress })
  const isItsOwn = lease?.nicExtId === nic.extId && lease?.vmExtId === vm.extId && lease.subnetExtId === subnetOf(nic)
  return isItsOwn ? undefined : `shows the MAC address ${macAddress}, which is not leased to it`
}

async function addressFaultOf(store: Reader, nic: NicEntity): Promise<string | undefined> {
  const { ipAddress, secondaryIpAddressList = [] } = nic.networkInfo?.ipv4Config ?? {}
  for (const value of [ipAddress, ...secondaryIpAddressList].flatMap((shown) => shown?.value ?? [])) {
    const address = parseAddress('IPV4', value)
    const subnetExtId = subnetOf(nic)
    if (address === undefined || subnetExtId === undefined) return `shows ${value}, an address of no subnet`
    const where = { subnetExtId, family: address.family, address: toSortable(address) }
    const lease = await store.findOne(AddressLease, where)
    if (lease?.holderExtId !== nic.extId) return `shows the address ${value}, which is not leased to it`
  }
  return undefined
}

async function* macLeasesHaveNics(store: Reader): AsyncGenerator<Broken> {
  for await (const { macAddress, nicExtId, vmExtId } of rowsOf(store, MacLease)) {
    const vm = await store.get(Vm, vmExtId)
    const nic = vm?.nics?.find(({ extId }) => extId === nicExtId)
    if (nic === undefined || macOf(nic) !== macAddress)
      yield {
        about: [vmExtId],
        fault: `the MAC address ${macAddress} is leased to ${nicExtId}, which does not have it`,
      }
  }
}

/** Nodes of domain managers and appliances of gateways have reservations too, but no row of the kind `Vm`. */
async function* hostsCarryTheirVms(store: Reader, held: ReadonlySet<string>): AsyncGenerator<Broken> {
  const managers = await store.find(DomainManager)
  // A manager that is being deployed is a pending row, whose id is in `held` because its task has locked it.
  for (const extId of held) managers.push(...[(await store.pending(DomainManager, extId)) ?? []].flat())
  const appliances = (await store.find(Gateway)).flatMap(({ vmReference }) => vmReference ?? [])
  const nodes = new Set([...managers.flatMap(({ nodeExtIds = [] }) => nodeExtIds), ...appliances])
  for await (const vm of rowsOf(store, Vm)) {
    if (vm.host === undefined) continue
    const hostExtId = vm.host.extId as string
    const allocation = await store.findOne(HostAllocation, { vmExtId: vm.extId, hostExtId })
    const fault = allocation === undefined ? 'nothing' : differenceOf(allocation, vm)
    if (fault !== undefined)
      yield {
        about: [vm.extId],
        fault: `the host ${hostExtId} holds ${fault} for the VM "${vm.name}", which runs there`,
      }
  }
  for await (const { vmExtId, hostExtId } of rowsOf(store, HostAllocation)) {
    if (nodes.has(vmExtId)) continue
    const vm = await store.get(Vm, vmExtId)
    if (vm?.host?.extId === hostExtId) continue
    const fault = `the host ${hostExtId} holds memory for ${vm === undefined ? vmExtId : `the VM "${vm.name}"`}, which is not there`
    yield { about: [vmExtId], fault }
  }
}

function differenceOf(held: EntityOf<typeof HostAllocation>, vm: VmEntity): string | undefined {
  const [memoryBytes, vcpus] = [heldMemoryBytes(vm), vcpusOf(vm)]
  if (held.memoryBytes === memoryBytes && held.vcpus === vcpus) return undefined
  return `${held.memoryBytes} bytes and ${held.vcpus} vCPUs instead of ${memoryBytes} and ${vcpus}`
}

async function* filesLieOnTheCluster(store: Reader): AsyncGenerator<Broken> {
  const clusters = new Map<string, string | undefined>()
  const clusterOf = async (containerExtId: string): Promise<string | undefined> => {
    if (!clusters.has(containerExtId)) {
      const container = await store.get(StorageContainer, containerExtId)
      clusters.set(containerExtId, container?.clusterExtId)
    }
    return clusters.get(containerExtId)
  }
  for await (const vm of rowsOf(store, Vm)) {
    for (const { diskExtId, storageContainer } of filesOf(vm)) {
      const found = storageContainer?.extId
      if (found !== undefined && (await clusterOf(found)) === vm.cluster?.extId) continue
      const place = found === undefined ? 'on no storage container' : `on ${found}, which its cluster does not have`
      yield { about: [vm.extId], fault: `the file ${diskExtId} of the VM "${vm.name}" lies ${place}` }
    }
  }
}
