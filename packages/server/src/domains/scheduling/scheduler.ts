/**
 * Places VMs on hosts. One transaction counts the free capacity and writes the reservation, so that two placements
 * cannot reserve the same memory. Source: behaviour vmm.md 3.2.
 */

import type { EntityOf } from '@hyperplane/contract'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import type { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError } from '../../core/api-error.ts'
import { pathOf } from '../../core/standard.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import { equals } from '../../odata/index.ts'
import type { Reader, Transaction } from '../../store/store.ts'
import { vcpusOf } from '../virtual-machines/entity.ts'
import { baselineOf } from './cpu-models.ts'
import { HostAllocation } from './host-allocation.ts'
import { closedBecause } from './host-state.ts'
import {
  type Allocation,
  type Choice,
  chooseHost,
  type Demand,
  type HostCandidate,
  heldMemoryBytes,
  usableMemoryBytes,
} from './placement.ts'
import { antiAffinityPeers } from './policy-selection.ts'

type VmEntity = EntityOf<typeof Vm>
type HeldAllocation = EntityOf<typeof HostAllocation>

interface Scheduling {
  readonly store: Transaction
  readonly drivers: Pick<Drivers, 'hardware'>
}

export const allocationsOf = (store: Reader, vmExtId: string): Promise<HeldAllocation[]> =>
  store.findWhere(HostAllocation, { vmExtId })

/**
 * Reserves memory and CPUs on the best host; an existing reservation is kept.
 * @throws ApiError NO_HOST_FOR_VM with one reason for each host
 */
export async function place(ctx: Scheduling, vm: VmEntity): Promise<string> {
  const [held] = await allocationsOf(ctx.store, vm.extId)
  if (held !== undefined) return held.hostExtId
  const hosts = await candidatesOf(ctx, vm.cluster?.extId as string)
  return hold(ctx.store, vm, hosts, await demandAmongPeers(ctx.store, vm))
}

/**
 * Reserves memory and CPUs on another host than the VM's own; an existing reservation there is kept. Hosts in `tried`
 * are skipped, and their reasons are added to the result.
 */
export async function placeElsewhere(
  ctx: Scheduling,
  vm: VmEntity,
  tried: ReadonlyMap<string, string> = new Map(),
): Promise<Choice> {
  const held = (await allocationsOf(ctx.store, vm.extId)).find(({ hostExtId }) => hostExtId !== vm.host?.extId)
  if (held !== undefined) return { hostExtId: held.hostExtId }
  const hosts = (await candidatesOf(ctx, vm.cluster?.extId as string)).filter(({ extId }) => !tried.has(extId))
  const demand = await demandAmongPeers(ctx.store, vm)
  const choice = chooseHost(hosts, await inCluster(ctx.store, vm), demand)
  if ('reasons' in choice) return { reasons: [...tried.values(), ...choice.reasons] }
  await ctx.store.insert(HostAllocation, chosenFor(vm, choice, demand))
  return choice
}

/** Reserves memory and CPUs on this host, beside the reservation on the VM's own. The caller has chosen the host. */
export async function reserve(store: Transaction, vm: VmEntity, hostExtId: string): Promise<void> {
  await store.insert(HostAllocation, chosenFor(vm, { hostExtId }, await demandOf(store, vm)))
}

/** Reserves memory and CPUs on this host, if it passes the filters. @throws ApiError NO_HOST_FOR_VM */
export async function reserveOn(ctx: Scheduling, vm: VmEntity, hostExtId: string): Promise<void> {
  const hosts = (await candidatesOf(ctx, vm.cluster?.extId as string)).filter(({ extId }) => extId === hostExtId)
  await hold(ctx.store, vm, hosts, await demandOf(ctx.store, vm))
}

/**
 * Reserves the new size of a running VM that grows: on its own host, or else in addition on another one.
 * @returns the host that has room for the new size
 * @throws ApiError NO_HOST_FOR_VM
 */
export async function makeRoom(ctx: Scheduling, vm: VmEntity, grown: VmEntity): Promise<string> {
  const here = vm.host?.extId as string
  const own = (await allocationsOf(ctx.store, vm.extId)).find(({ hostExtId }) => hostExtId === here)
  const hosts = await candidatesOf(ctx, vm.cluster?.extId as string)
  const others = (await inCluster(ctx.store, vm)).filter(({ vmExtId }) => vmExtId !== vm.extId)
  const demand = await demandAmongPeers(ctx.store, grown)
  // A host that accepts no new VMs (maintenance) may still let its own VMs grow.
  const stay = hosts.filter(({ extId }) => extId === here).map(({ closed: _, ...open }) => open)
  const inPlace = chooseHost(stay, others, demand)
  if ('hostExtId' in inPlace && own !== undefined) {
    await ctx.store.update(HostAllocation, own.extId, { memoryBytes: demand.memoryBytes, vcpus: demand.vcpus })
    return here
  }
  const isMovable = vm.isLiveMigrateCapable === true
  const elsewhere = hosts.filter(({ extId }) => isMovable && extId !== here)
  const refused = 'reasons' in inPlace ? inPlace.reasons : []
  return hold(ctx.store, grown, elsewhere, demand, refused)
}

/** Releases the reservations of the VM: all of them, or only the one on `hostExtId`. */
export async function giveBack(store: Transaction, vmExtId: string, hostExtId?: string): Promise<void> {
  for (const held of await allocationsOf(store, vmExtId)) {
    if (hostExtId === undefined || held.hostExtId === hostExtId) await store.remove(HostAllocation, held.extId)
  }
}

export async function giveBackElsewhere(store: Transaction, vm: VmEntity): Promise<void> {
  for (const { hostExtId } of await allocationsOf(store, vm.extId))
    if (hostExtId !== vm.host?.extId) await giveBack(store, vm.extId, hostExtId)
}

/** Rolls `makeRoom` back: the reservation on the VM's host gets the size in its row, all others are removed. */
export async function shrinkBack(store: Transaction, vm: VmEntity): Promise<void> {
  for (const held of await allocationsOf(store, vm.extId)) {
    if (held.hostExtId !== vm.host?.extId) await store.remove(HostAllocation, held.extId)
    else await store.update(HostAllocation, held.extId, { memoryBytes: heldMemoryBytes(vm), vcpus: vcpusOf(vm) })
  }
}

/** Usable memory of the hosts that accept VMs, less all reservations in the cluster. */
export async function freeMemoryBytes(
  ctx: { readonly store: Reader; readonly drivers: Pick<Drivers, 'hardware'> },
  clusterExtId: string,
): Promise<number> {
  const hosts = await candidatesOf(ctx, clusterExtId)
  const held = await ctx.store.findWhere(HostAllocation, { clusterExtId })
  const usable = hosts
    .filter(({ closed }) => closed === undefined)
    .reduce((sum, host) => sum + usableMemoryBytes(host), 0)
  return usable - held.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0)
}

async function hold(
  store: Transaction,
  vm: VmEntity,
  hosts: readonly HostCandidate[],
  demand: Demand,
  refused: readonly string[] = [],
): Promise<string> {
  const held = chosenFor(vm, chooseHost(hosts, await inCluster(store, vm), demand), demand, refused)
  await store.insert(HostAllocation, held)
  return held.hostExtId
}

/** The reservation on the chosen host. @throws ApiError NO_HOST_FOR_VM */
export function chosenFor(
  vm: VmEntity,
  choice: Choice,
  demand: Demand,
  refused: readonly string[] = [],
): HeldAllocation & Allocation {
  if ('reasons' in choice) {
    const reasons = [...refused, ...choice.reasons]
    throw new ApiError('NO_HOST_FOR_VM', { name: vm.name, reasons: reasons.join('; ') || 'the cluster has no host' })
  }
  return {
    // Unique: a VM has at most one reservation on a host.
    extId: `${vm.extId}/${choice.hostExtId}`,
    vmExtId: vm.extId,
    hostExtId: choice.hostExtId,
    clusterExtId: vm.cluster?.extId as string,
    memoryBytes: demand.memoryBytes,
    vcpus: demand.vcpus,
    isPinned: demand.isPinned,
  }
}

const inCluster = (store: Reader, vm: VmEntity): Promise<HeldAllocation[]> =>
  store.findWhere(HostAllocation, { clusterExtId: vm.cluster?.extId as string })

export async function candidatesOf(
  ctx: { readonly store: Reader; readonly drivers: Pick<Drivers, 'hardware'> },
  clusterExtId: string,
): Promise<HostCandidate[]> {
  const hosts = await ctx.store.findWhere(Host, { 'cluster/uuid': clusterExtId })
  const switches = await ctx.store.find(VirtualSwitch, {
    filter: equals(pathOf(VirtualSwitch, 'clusters/extId'), clusterExtId),
  })
  return hosts.map((host) => {
    const closed = closedBecause(host, ctx.drivers.hardware.isHostUp(host.extId))
    const onHost = switches.filter((each) =>
      each.clusters.some((of) => of.hosts.some(({ extId }) => extId === host.extId)),
    )
    return {
      extId: host.extId,
      name: host.hostName,
      memorySizeBytes: host.memorySizeBytes ?? 0,
      threads: host.numberOfCpuThreads ?? 0,
      switchExtIds: new Set(onHost.map(({ extId }) => extId)),
      ...(host.cpuFrequencyHz === undefined ? {} : { cpuHertz: host.cpuFrequencyHz }),
      ...(closed === undefined ? {} : { closed }),
    }
  })
}

/** The demand with the VMs from which a policy keeps the VM apart, for a choice among hosts that may run some of them. */
const demandAmongPeers = async (store: Reader, vm: VmEntity): Promise<Demand> => ({
  ...(await demandOf(store, vm)),
  peerVmExtIds: await antiAffinityPeers(store, vm),
})

export async function demandOf(store: Reader, vm: VmEntity): Promise<Demand> {
  const switchExtIds = new Set<string>()
  for (const nic of vm.nics ?? []) {
    const subnet = await subnetOf(store, nic.networkInfo?.subnet?.extId)
    if (subnet?.subnetType === 'VLAN' && subnet.virtualSwitchReference) switchExtIds.add(subnet.virtualSwitchReference)
  }
  const baseline = await baselineOf(store, vm)
  return {
    memoryBytes: heldMemoryBytes(vm),
    vcpus: vcpusOf(vm),
    isPinned: vm.isVcpuHardPinningEnabled === true,
    switchExtIds: [...switchExtIds],
    ...(baseline === undefined ? {} : { baseline }),
    ...(vm.pinnedHostExtId === undefined ? {} : { onlyHostExtId: vm.pinnedHostExtId }),
    ...(vm.lastHostExtId === undefined ? {} : { lastHostExtId: vm.lastHostExtId }),
  }
}

const subnetOf = async (store: Reader, extId: string | undefined): Promise<EntityOf<typeof Subnet> | undefined> =>
  extId === undefined ? undefined : store.get(Subnet, extId)
