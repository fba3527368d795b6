/** Source: behaviour vmm.md 3.2 (Placement). */

import type { Host } from '@hyperplane/contract/clustermgmt/host'
import type { SharedGpu } from '../../drivers/hardware.ts'
import { defaultControllerVmBytes, largestControllerVmBytes } from '../storage-space/controller-vm-memory.ts'
import { canCarry } from './host-devices.ts'
import { type DividedNic, type FunctionWish, takeFunctions } from './virtual-functions.ts'

const GiB = 1024 ** 3
/** Each host keeps memory for the hypervisor and for its controller VM. */
const hypervisorBytes = 8 * GiB
/** Shared vCPUs per hardware thread. */
const cpuOvercommit = 4
const overcommittedPercent = 60

export interface HostCandidate {
  readonly extId: string
  readonly name: string
  /** Replaces the name in reasons. */
  readonly shownAs?: string
  readonly memorySizeBytes: number
  readonly controllerVmMemoryBytes?: number
  readonly threads: number
  /** Reason against new VMs: maintenance, unreachable. */
  readonly closed?: string
  readonly switchExtIds: ReadonlySet<string>
  readonly cpuHertz?: number
  readonly sharedGpus?: readonly SharedGpu[]
  readonly heldVirtualGpus?: readonly number[]
  readonly categoryExtIds?: readonly string[]
  /** With the virtual functions that no VM has. */
  readonly dividedNics?: readonly DividedNic[]
}

export interface Allocation {
  readonly vmExtId: string
  readonly hostExtId: string
  readonly memoryBytes: number
  readonly vcpus: number
  readonly isPinned: boolean
}

export interface Demand {
  readonly memoryBytes: number
  readonly vcpus: number
  readonly isPinned: boolean
  readonly switchExtIds: readonly string[]
  readonly baseline?: { readonly name: string; readonly hertz: number }
  readonly onlyHostExtId?: string
  readonly deviceHostExtId?: string
  readonly virtualGpus?: readonly number[]
  readonly virtualFunctions?: readonly FunctionWish[]
  /** Binds the VM to hosts with one of these categories. */
  readonly hostAffinity?: HostAffinity
  readonly lastHostExtId?: string
  readonly peerVmExtIds?: ReadonlySet<string>
}

export interface HostAffinity {
  readonly policyExtId: string
  /** Absent in texts for callers who may not see the policy. */
  readonly policyName?: string
  readonly hostCategoryExtIds: ReadonlySet<string>
}

/** By host. Hosts without a reservation are absent. */
export type Loads = Map<string, Load>

export type Choice = { readonly hostExtId: string } | { readonly reasons: readonly string[] }

type Memory = Pick<HostCandidate, 'controllerVmMemoryBytes' | 'memorySizeBytes'>

export const systemMemoryBytes = ({ controllerVmMemoryBytes = defaultControllerVmBytes }: Partial<Memory>): number =>
  controllerVmMemoryBytes + hypervisorBytes

export const usableMemoryBytes = (host: Memory): number => Math.max(0, host.memorySizeBytes - systemMemoryBytes(host))

export const memoryOf = (host: Host): Memory => ({
  memorySizeBytes: host.memorySizeBytes ?? 0,
  controllerVmMemoryBytes: largestControllerVmBytes(host),
})

export const heldMemoryBytes = (vm: { memorySizeBytes?: number; isMemoryOvercommitEnabled?: boolean }): number => {
  const memoryBytes = vm.memorySizeBytes ?? 0
  if (vm.isMemoryOvercommitEnabled !== true) return memoryBytes
  return Math.min(memoryBytes, Math.max(GiB, Math.ceil((memoryBytes * overcommittedPercent) / 100)))
}

/** Why the VM would take memory that the VMs of the largest host need if it fails; undefined: it would not. */
export function haShortfall(hosts: readonly HostCandidate[], loads: Loads, demand: Demand): string | undefined {
  const open = hosts.filter(({ closed }) => closed === undefined)
  // The VMs of the only host have nowhere to go.
  if (open.length < 2) return undefined
  const usable = open.map(usableMemoryBytes)
  const held = open.reduce((sum, { extId }) => sum + (loads.get(extId)?.memoryBytes ?? 0), 0)
  const free = usable.reduce((sum, bytes) => sum + bytes, 0) - held - Math.max(...usable)
  if (demand.memoryBytes <= free) return undefined
  return `memory: ${demand.memoryBytes} bytes needed, ${Math.max(0, free)} free beside those kept for the failure of a host`
}

/** @returns the best host, or one reason for each host */
export const chooseHost = (
  hosts: readonly HostCandidate[],
  allocations: Iterable<Allocation>,
  demand: Demand,
): Choice => chooseByLoad(hosts, loadsOf(allocations, demand.peerVmExtIds), demand)

/** As `chooseHost`, for several choices among the same hosts: `addLoad` counts what each choice reserves. */
export function chooseByLoad(hosts: readonly HostCandidate[], loads: Loads, demand: Demand): Choice {
  const reasons: string[] = []
  let best: { readonly host: HostCandidate; readonly score: Score } | undefined
  for (const host of hosts) {
    const load = loads.get(host.extId) ?? noLoad
    const reason = refusalOf(host, load, demand)
    if (reason !== undefined) {
      reasons.push(`${host.shownAs ?? host.name}: ${reason}`)
      continue
    }
    const score = scoreOf(host, load, demand)
    if (best === undefined || compare(score, best.score) < 0) best = { host, score }
  }
  return best === undefined ? { reasons } : { hostExtId: best.host.extId }
}

/** Choices among the same hosts: each counts the earlier ones. */
export class Choices {
  readonly #loads: Loads
  #hosts: readonly HostCandidate[]

  constructor(hosts: readonly HostCandidate[], loads: Loads) {
    this.#hosts = hosts
    this.#loads = loads
  }

  /** @param peers hosts of VMs from which the VM is kept apart, one entry for each */
  choose(demand: Demand, peers: readonly string[] = []): Choice {
    for (const load of this.#loads.values()) load.peers = 0
    for (const hostExtId of peers) addPeer(this.#loads, hostExtId)
    return chooseByLoad(this.#hosts, this.#loads, demand)
  }

  take(demand: Demand, hostExtId: string): void {
    addLoad(this.#loads, { ...demand, hostExtId })
    const { virtualGpus = [] } = demand
    if (virtualGpus.length === 0) return
    this.#hosts = this.#hosts.map((host) =>
      host.extId === hostExtId ? { ...host, heldVirtualGpus: [...(host.heldVirtualGpus ?? []), ...virtualGpus] } : host,
    )
  }
}

interface Load {
  memoryBytes: number
  sharedVcpus: number
  pinnedVcpus: number
  peers: number
}

const noLoad: Load = { memoryBytes: 0, sharedVcpus: 0, pinnedVcpus: 0, peers: 0 }

export function loadsOf(allocations: Iterable<Allocation>, peerVmExtIds?: ReadonlySet<string>): Loads {
  const loads: Loads = new Map()
  for (const held of allocations) addLoad(loads, held, peerVmExtIds?.has(held.vmExtId) === true)
  return loads
}

export function addLoad(loads: Loads, held: Omit<Allocation, 'vmExtId'>, isPeer = false): void {
  const load = loadOf(loads, held.hostExtId)
  load.memoryBytes += held.memoryBytes
  if (held.isPinned) load.pinnedVcpus += held.vcpus
  else load.sharedVcpus += held.vcpus
  if (isPeer) load.peers++
}

export function removeLoad(loads: Loads, { memoryBytes, vcpus, ...held }: Allocation): void {
  addLoad(loads, { ...held, memoryBytes: -memoryBytes, vcpus: -vcpus })
}

export function addPeer(loads: Loads, hostExtId: string): void {
  loadOf(loads, hostExtId).peers++
}

function loadOf(loads: Loads, hostExtId: string): Load {
  let load = loads.get(hostExtId)
  if (load === undefined) loads.set(hostExtId, (load = { ...noLoad }))
  return load
}

export const admits = (host: HostCandidate, { hostCategoryExtIds }: HostAffinity): boolean =>
  host.categoryExtIds?.some((extId) => hostCategoryExtIds.has(extId)) === true

function refusalOf(host: HostCandidate, load: Load, demand: Demand): string | undefined {
  if (host.closed !== undefined) return host.closed
  if (demand.onlyHostExtId !== undefined && demand.onlyHostExtId !== host.extId) {
    return 'affinity: the VM is bound to another host'
  }
  if (demand.baseline !== undefined && (host.cpuHertz ?? 0) < demand.baseline.hertz) {
    return `CPU model: below the baseline of the VM, ${demand.baseline.name}`
  }
  if (demand.switchExtIds.some((extId) => !host.switchExtIds.has(extId))) {
    return 'network: a virtual switch of the NICs is missing'
  }
  if (demand.deviceHostExtId !== undefined && demand.deviceHostExtId !== host.extId) {
    return 'GPU or PCIe device: the device of the VM is in another host'
  }
  const { virtualGpus = [] } = demand
  if (virtualGpus.length > 0 && !canCarry(host.sharedGpus ?? [], [...(host.heldVirtualGpus ?? []), ...virtualGpus])) {
    return 'GPU: no capacity for the virtual GPUs of the VM'
  }
  const { virtualFunctions = [] } = demand
  if (virtualFunctions.length > 0 && takeFunctions(host.dividedNics ?? [], virtualFunctions) === undefined) {
    return 'network: no free virtual function of a host NIC with the NIC profile and a link'
  }
  if (demand.hostAffinity !== undefined && !admits(host, demand.hostAffinity)) {
    const { policyName } = demand.hostAffinity
    return `host affinity: ${policyName === undefined ? 'a policy' : `the policy "${policyName}"`} does not allow the host`
  }
  const free = usableMemoryBytes(host) - load.memoryBytes
  if (demand.memoryBytes > free) return `memory: ${demand.memoryBytes} bytes needed, ${Math.max(0, free)} free`
  if (demand.vcpus > host.threads) return `CPU: ${demand.vcpus} needed, the host has ${host.threads} threads`
  const pinned = load.pinnedVcpus + (demand.isPinned ? demand.vcpus : 0)
  const shared = load.sharedVcpus + (demand.isPinned ? 0 : demand.vcpus)
  if (pinned > host.threads || shared > cpuOvercommit * (host.threads - pinned)) {
    return `CPU: the threads of the host are taken (${shared} shared and ${pinned} pinned on ${host.threads})`
  }
  return undefined
}

type Score = readonly [peers: number, memoryFill: number, cpuFill: number, isLastHost: number, name: string]

/** Lower is better; the first difference decides. Memory counts in steps of 2 %, so that CPU decides between equals. */
function scoreOf(host: HostCandidate, load: Load, demand: Demand): Score {
  const memoryFill = (load.memoryBytes + demand.memoryBytes) / usableMemoryBytes(host)
  const cpuFill = (load.sharedVcpus + load.pinnedVcpus + demand.vcpus) / host.threads
  return [load.peers, Math.floor(memoryFill * 50), cpuFill, demand.lastHostExtId === host.extId ? 0 : 1, host.name]
}

function compare(a: Score, b: Score): number {
  for (let index = 0; index < a.length; index++) {
    const [left, right] = [a[index] as number | string, b[index] as number | string]
    if (left !== right) return left < right ? -1 : 1
  }
  return 0
}
