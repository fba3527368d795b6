/** One transaction counts the free capacity and writes the reservation. Source: behaviour vmm.md 3.2. */

import type { EntityOf } from '@hyperplane/contract'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { VmHostAffinityPolicy } from '@hyperplane/contract/vmm/policies/vm-host-affinity-policy'
import type { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { maySee, type Reporting } from '../../core/access/may-see.ts'
import { ApiError } from '../../core/api-error.ts'
import { pathOf } from '../../core/standard.ts'
import type { Services } from '../../core/world.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import { equals } from '../../odata/index.ts'
import type { Reader, Transaction } from '../../store/store.ts'
import { vcpusOf } from '../virtual-machines/entity.ts'
import { baselineOf } from './cpu-models.ts'
import { HostAllocation } from './host-allocation.ts'
import { claimsOfVm, sharedGpus } from './host-devices.ts'
import { closedBecause } from './host-state.ts'
import { overlaySwitchOf } from './overlay-switches.ts'
import {
  type Allocation,
  addLoad,
  addPeer,
  type Choice,
  chooseByLoad,
  type Demand,
  type HostAffinity,
  type HostCandidate,
  haShortfall,
  heldMemoryBytes,
  type Loads,
  memoryOf,
  removeLoad,
  usableMemoryBytes,
} from './placement.ts'
import { antiAffinityPeers, hostAffinityOf } from './policy-selection.ts'
import { dividedNics, functionWishesOf, takeFunctions } from './virtual-functions.ts'

type HeldAllocation = EntityOf<typeof HostAllocation>

interface Choosing extends Partial<Reporting> {
  readonly store: Reader
  readonly drivers: Pick<Drivers, 'hardware' | 'hypervisor' | 'networkFabric'>
}

interface Scheduling extends Choosing {
  readonly store: Transaction
}

interface Starting extends Scheduling {
  readonly services?: Pick<Services, 'access' | 'reservesForHa'>
}

export const allocationsOf = (store: Reader, vmExtId: string): Promise<HeldAllocation[]> =>
  store.findWhere(HostAllocation, { vmExtId })

/** For a VM that is powered on. Keeps an existing reservation. @throws ApiError NO_HOST_FOR_VM with one reason for each host */
export async function place(ctx: Starting, vm: Vm): Promise<string> {
  const [held] = await allocationsOf(ctx.store, vm.extId)
  if (held !== undefined) return held.hostExtId
  const clusterExtId = vm.cluster?.extId as string
  const hosts = await candidatesOf(ctx, clusterExtId)
  const demand = await demandAmongPeers(ctx, vm)
  const reserved =
    ctx.services?.reservesForHa === true
      ? haShortfall(hosts, await loadsIn(ctx.store, clusterExtId), demand)
      : undefined
  if (reserved !== undefined) throw new ApiError('NO_HOST_FOR_VM', { name: vm.name, reasons: reserved })
  return hold(ctx, vm, hosts, demand)
}

/** Excludes the VM's own host and `tried`, whose reasons are added to the result; keeps an existing reservation. */
export async function placeOnOtherHost(
  ctx: Scheduling,
  vm: Vm,
  tried: ReadonlyMap<string, string> = new Map(),
): Promise<Choice> {
  const held = (await allocationsOf(ctx.store, vm.extId)).find(({ hostExtId }) => hostExtId !== vm.host?.extId)
  if (held !== undefined) return { hostExtId: held.hostExtId }
  const { choice, demand } = await choiceFor(ctx, vm, tried)
  if ('reasons' in choice) return { reasons: [...tried.values(), ...choice.reasons] }
  await ctx.store.insert(HostAllocation, chosenFor(vm, choice, demand))
  return choice
}

export async function choiceFor(
  ctx: Choosing,
  vm: Vm,
  tried: ReadonlyMap<string, string> = new Map(),
): Promise<{ readonly choice: Choice; readonly demand: Demand }> {
  const hosts = (await candidatesOf(ctx, vm.cluster?.extId as string)).filter(({ extId }) => !tried.has(extId))
  const demand = await demandAmongPeers(ctx, vm)
  return { choice: await choose(ctx, hosts, await loadsFor(ctx.store, vm, demand), demand), demand }
}

export async function reserve(store: Transaction, vm: Vm, hostExtId: string): Promise<void> {
  await store.insert(HostAllocation, chosenFor(vm, { hostExtId }, await demandOf(store, vm)))
}

/** Reserves memory and CPUs on this host, if it passes the filters. @throws ApiError NO_HOST_FOR_VM */
export async function reserveOn(ctx: Scheduling, vm: Vm, hostExtId: string): Promise<void> {
  const hosts = (await candidatesOf(ctx, vm.cluster?.extId as string)).filter(({ extId }) => extId === hostExtId)
  await hold(ctx, vm, hosts, await demandOf(ctx.store, vm))
}

/** Reserves the new size on the own host, else also on the returned one. @throws ApiError NO_HOST_FOR_VM */
export async function makeRoom(ctx: Scheduling, vm: Vm, grown: Vm): Promise<string> {
  const here = vm.host?.extId as string
  const own = (await allocationsOf(ctx.store, vm.extId)).find(({ hostExtId }) => hostExtId === here)
  const hosts = await candidatesOf(ctx, vm.cluster?.extId as string, vm.extId)
  // Virtual functions bind the VM to its host, and it has them already.
  const { virtualFunctions: _own, ...demand } = await demandAmongPeers(ctx, grown)
  const loads = await loadsFor(ctx.store, vm, demand)
  for (const held of await allocationsOf(ctx.store, vm.extId)) removeLoad(loads, held)
  // A host in maintenance may let its own VMs grow.
  const stay = hosts.filter(({ extId }) => extId === here).map(({ closed: _, ...open }) => open)
  const inPlace = chooseByLoad(await named(ctx, stay), loads, await withSeenPolicy(ctx, demand))
  if ('hostExtId' in inPlace && own !== undefined) {
    await ctx.store.update(HostAllocation, own.extId, { memoryBytes: demand.memoryBytes, vcpus: demand.vcpus })
    return here
  }
  const isMovable = vm.isLiveMigrateCapable === true
  const elsewhere = hosts.filter(({ extId }) => isMovable && extId !== here)
  const refused = 'reasons' in inPlace ? inPlace.reasons : []
  return hold(ctx, grown, elsewhere, demand, refused)
}

export async function releaseReservation(store: Transaction, vmExtId: string, hostExtId?: string): Promise<void> {
  for (const held of await allocationsOf(store, vmExtId)) {
    if (hostExtId === undefined || held.hostExtId === hostExtId) await store.remove(HostAllocation, held.extId)
  }
}

export async function releaseOtherReservations(store: Transaction, vm: Vm): Promise<void> {
  for (const { hostExtId } of await allocationsOf(store, vm.extId))
    if (hostExtId !== vm.host?.extId) await releaseReservation(store, vm.extId, hostExtId)
}

/** Rolls `makeRoom` back. */
export async function shrinkBack(store: Transaction, vm: Vm): Promise<void> {
  for (const held of await allocationsOf(store, vm.extId)) {
    if (held.hostExtId !== vm.host?.extId) await store.remove(HostAllocation, held.extId)
    else await store.update(HostAllocation, held.extId, { memoryBytes: heldMemoryBytes(vm), vcpus: vcpusOf(vm) })
  }
}

/** Counts only hosts that accept VMs. */
export async function freeMemoryBytes(
  ctx: { readonly store: Reader; readonly drivers: Pick<Drivers, 'hardware' | 'networkFabric'> },
  clusterExtId: string,
): Promise<number> {
  const hosts = await candidatesOf(ctx, clusterExtId)
  const loads = await loadsIn(ctx.store, clusterExtId)
  const usable = hosts
    .filter(({ closed }) => closed === undefined)
    .reduce((sum, host) => sum + usableMemoryBytes(host), 0)
  return usable - [...loads.values()].reduce((sum, { memoryBytes }) => sum + memoryBytes, 0)
}

async function hold(
  ctx: Scheduling,
  vm: Vm,
  hosts: readonly HostCandidate[],
  demand: Demand,
  refused: readonly string[] = [],
): Promise<string> {
  const { store } = ctx
  const loads = await loadsFor(store, vm, demand)
  const held = chosenFor(vm, await choose(ctx, hosts, loads, demand), demand, refused)
  const { dividedNics = [] } = hosts.find(({ extId }) => extId === held.hostExtId) ?? {}
  const taken = demand.virtualFunctions && takeFunctions(dividedNics, demand.virtualFunctions)
  await store.insert(HostAllocation, { ...held, ...(taken && { virtualFunctions: [...taken] }) })
  return held.hostExtId
}

/** The reasons name only entities that the owner of the task may see. */
async function choose(ctx: Choosing, hosts: readonly HostCandidate[], loads: Loads, demand: Demand): Promise<Choice> {
  const choice = chooseByLoad(hosts, loads, demand)
  if ('hostExtId' in choice) return choice
  return chooseByLoad(await named(ctx, hosts), loads, await withSeenPolicy(ctx, demand))
}

/** Hosts that the owner of the task may not see are numbered. */
async function named(ctx: Choosing, hosts: readonly HostCandidate[]): Promise<readonly HostCandidate[]> {
  const { owner, services, store } = ctx
  if (owner === undefined || services === undefined) return hosts
  const shown: HostCandidate[] = []
  for (const [index, host] of hosts.entries()) {
    const isSeen = await maySee({ owner, services }, Host, await store.get(Host, host.extId))
    shown.push(isSeen ? host : { ...host, shownAs: `host ${index + 1}` })
  }
  return shown
}

async function withSeenPolicy({ owner, services, store }: Choosing, demand: Demand): Promise<Demand> {
  const { hostAffinity } = demand
  if (hostAffinity === undefined || owner === undefined || services === undefined) return demand
  const policy = await store.get(VmHostAffinityPolicy, hostAffinity.policyExtId)
  if (await maySee({ owner, services }, VmHostAffinityPolicy, policy)) return demand
  const { policyName: _, ...nameless } = hostAffinity
  return { ...demand, hostAffinity: nameless }
}

/** @throws ApiError NO_HOST_FOR_VM */
export function chosenFor(
  vm: Vm,
  choice: Choice,
  demand: Demand,
  refused: readonly string[] = [],
): HeldAllocation & Allocation {
  if ('reasons' in choice) {
    const reasons = [...refused, ...choice.reasons]
    throw new ApiError('NO_HOST_FOR_VM', { name: vm.name, reasons: reasons.join('; ') || 'the cluster has no host' })
  }
  return {
    // A VM has at most one reservation on a host.
    extId: `${vm.extId}/${choice.hostExtId}`,
    vmExtId: vm.extId,
    hostExtId: choice.hostExtId,
    clusterExtId: vm.cluster?.extId as string,
    memoryBytes: demand.memoryBytes,
    vcpus: demand.vcpus,
    isPinned: demand.isPinned,
    ...(demand.virtualGpus === undefined ? {} : { virtualGpus: [...demand.virtualGpus] }),
  }
}

export async function loadsIn(store: Reader, clusterExtId: string): Promise<Loads> {
  const loads: Loads = new Map()
  const groups = await store.sums(HostAllocation, {
    where: { clusterExtId },
    by: ['hostExtId', 'isPinned'],
    of: ['memoryBytes', 'vcpus'],
  })
  for (const { by, sums } of groups) {
    const [memoryBytes, vcpus] = sums as [number, number]
    addLoad(loads, { hostExtId: String(by[0]), isPinned: by[1] === 1, memoryBytes, vcpus })
  }
  return loads
}

/** Also counts, by host, the VMs from which the VM is kept apart. */
async function loadsFor(store: Reader, vm: Vm, { peerVmExtIds = new Set() }: Demand): Promise<Loads> {
  const clusterExtId = vm.cluster?.extId as string
  const loads = await loadsIn(store, clusterExtId)
  const held =
    peerVmExtIds.size > manyPeers
      ? (await store.findWhere(HostAllocation, { clusterExtId })).filter(({ vmExtId }) => peerVmExtIds.has(vmExtId))
      : (await Promise.all([...peerVmExtIds].map((extId) => allocationsOf(store, extId)))).flat()
  for (const peer of held) if (peer.clusterExtId === clusterExtId) addPeer(loads, peer.hostExtId)
  return loads
}

/** From here on, reading all reservations of the cluster costs less than those of each peer. */
const manyPeers = 200

/** @param growing its own virtual GPUs do not count as held */
export async function candidatesOf(
  ctx: { readonly store: Reader; readonly drivers: Pick<Drivers, 'hardware' | 'networkFabric'> },
  clusterExtId: string,
  growing?: string,
): Promise<HostCandidate[]> {
  const hosts = await ctx.store.findWhere(Host, { 'cluster/uuid': clusterExtId })
  const cards = sharedGpus(ctx.drivers.hardware.devicesOf(clusterExtId))
  const divided = await dividedNics(ctx, new Set(hosts.map(({ extId }) => extId)))
  const isShared = cards.length > 0 || divided.size > 0
  const held = isShared ? await ctx.store.findWhere(HostAllocation, { clusterExtId }) : []
  const taken = new Map<string, number>()
  for (const { virtualFunctions = [] } of held)
    for (const { hostNicExtId } of virtualFunctions) taken.set(hostNicExtId, (taken.get(hostNicExtId) ?? 0) + 1)
  const switches = await ctx.store.find(VirtualSwitch, {
    filter: equals(pathOf(VirtualSwitch, 'clusters/extId'), clusterExtId),
  })
  const switchesOf = new Map<string, Set<string>>(hosts.map(({ extId }) => [extId, new Set()]))
  // A host that an update takes out of the switch gets no more VMs of its subnets.
  for (const { extId: switchExtId, clusters, change } of switches)
    for (const { extId } of clusters.flatMap((of) => of.hosts))
      if (change?.hostExtIds?.includes(extId) !== false) switchesOf.get(extId)?.add(switchExtId)
  return hosts.map((host) => {
    const closed = closedBecause(host, ctx.drivers.hardware.isHostUp(host.extId))
    return {
      extId: host.extId,
      name: host.hostName,
      ...memoryOf(host),
      threads: host.numberOfCpuThreads ?? 0,
      sharedGpus: cards.filter(({ hostExtId }) => hostExtId === host.extId),
      heldVirtualGpus: held
        .filter(({ hostExtId, vmExtId }) => hostExtId === host.extId && vmExtId !== growing)
        .flatMap(({ virtualGpus = [] }) => virtualGpus),
      switchExtIds: switchesOf.get(host.extId) as ReadonlySet<string>,
      ...(host.cpuFrequencyHz === undefined ? {} : { cpuHertz: host.cpuFrequencyHz }),
      ...(closed === undefined ? {} : { closed }),
      ...(host.categories === undefined ? {} : { categoryExtIds: host.categories }),
      dividedNics: (divided.get(host.extId) ?? []).map((nic) => ({
        ...nic,
        free: nic.free - (taken.get(nic.hostNicExtId) ?? 0),
      })),
    }
  })
}

/** Includes VMs from which a policy keeps the VM apart. */
const demandAmongPeers = async ({ store, drivers }: Choosing, vm: Vm): Promise<Demand> => ({
  ...(await demandOf(store, vm)),
  peerVmExtIds: await antiAffinityPeers(store, drivers.hypervisor, vm),
})

/** For a caller that places many VMs. */
export interface Preloaded {
  readonly claimed?: ReadonlyMap<string, { readonly hostExtId: string }>
  /** The policy is the same for all of these VMs. */
  readonly hostAffinity?: HostAffinity
}

export async function demandOf(store: Reader, vm: Vm, preloaded: Preloaded = {}): Promise<Demand> {
  const switchExtIds = new Set<string>()
  for (const nic of vm.nics ?? []) {
    const subnet = await subnetOf(store, nic.networkInfo?.subnet?.extId)
    const switchExtId =
      subnet?.subnetType === 'OVERLAY'
        ? await overlaySwitchOf(store, vm.cluster?.extId)
        : subnet?.virtualSwitchReference
    if (switchExtId !== undefined) switchExtIds.add(switchExtId)
  }
  const baseline = await baselineOf(store, vm)
  const claim =
    preloaded.claimed === undefined ? (await claimsOfVm(store, vm.extId))[0] : preloaded.claimed.get(vm.extId)
  const virtualGpus = (vm.gpus ?? []).flatMap(({ mode, deviceId }) => (mode === 'VIRTUAL' ? (deviceId ?? []) : []))
  const virtualFunctions = functionWishesOf(vm)
  const hostAffinity = preloaded.hostAffinity ?? (await hostAffinityOf(store, vm))
  return {
    memoryBytes: heldMemoryBytes(vm),
    vcpus: vcpusOf(vm),
    isPinned: vm.isVcpuHardPinningEnabled === true,
    switchExtIds: [...switchExtIds],
    ...(baseline === undefined ? {} : { baseline }),
    ...(claim === undefined ? {} : { deviceHostExtId: claim.hostExtId }),
    ...(virtualGpus.length === 0 ? {} : { virtualGpus }),
    ...(virtualFunctions.length === 0 ? {} : { virtualFunctions }),
    ...(hostAffinity === undefined ? {} : { hostAffinity }),
    ...(vm.pinnedHostExtId === undefined ? {} : { onlyHostExtId: vm.pinnedHostExtId }),
    ...(vm.lastHostExtId === undefined ? {} : { lastHostExtId: vm.lastHostExtId }),
  }
}

const subnetOf = async (store: Reader, extId: string | undefined): Promise<Subnet | undefined> =>
  extId === undefined ? undefined : store.get(Subnet, extId)
