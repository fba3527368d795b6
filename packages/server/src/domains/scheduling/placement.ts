/** Source: behaviour vmm.md 3.2 (Placement). */

const GiB = 1024 ** 3
/** Each host keeps memory for the hypervisor and for its controller VM. */
const hypervisorBytes = 8 * GiB
const controllerVmBytes = 32 * GiB
/** Shared vCPUs per hardware thread. */
const cpuOvercommit = 4
const overcommittedPercent = 60

export interface HostCandidate {
  readonly extId: string
  readonly name: string
  readonly memorySizeBytes: number
  readonly threads: number
  /** Reason against new VMs: maintenance, unreachable. */
  readonly closed?: string
  readonly switchExtIds: ReadonlySet<string>
  readonly cpuHertz?: number
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
  readonly lastHostExtId?: string
  readonly peerVmExtIds?: ReadonlySet<string>
}

export type Choice = { readonly hostExtId: string } | { readonly reasons: readonly string[] }

export const systemMemoryBytes = controllerVmBytes + hypervisorBytes

export const usableMemoryBytes = (host: Pick<HostCandidate, 'memorySizeBytes'>): number =>
  Math.max(0, host.memorySizeBytes - systemMemoryBytes)

/** A part of the memory size with overcommitment. */
export const heldMemoryBytes = (vm: { memorySizeBytes?: number; isMemoryOvercommitEnabled?: boolean }): number => {
  const memoryBytes = vm.memorySizeBytes ?? 0
  if (vm.isMemoryOvercommitEnabled !== true) return memoryBytes
  return Math.min(memoryBytes, Math.max(GiB, Math.ceil((memoryBytes * overcommittedPercent) / 100)))
}

/** @returns the best host, or one reason for each host */
export function chooseHost(
  hosts: readonly HostCandidate[],
  allocations: readonly Allocation[],
  demand: Demand,
): Choice {
  const loads = new Map(hosts.map((host) => [host.extId, loadOf(host, allocations, demand.peerVmExtIds)]))
  const fitting: HostCandidate[] = []
  const reasons: string[] = []
  for (const host of hosts) {
    const reason = refusalOf(host, loads.get(host.extId) as Load, demand)
    if (reason === undefined) fitting.push(host)
    else reasons.push(`${host.name}: ${reason}`)
  }
  const [best] = fitting.sort((a, b) => {
    const [left, right] = [a, b].map((host) => scoreOf(host, loads.get(host.extId) as Load, demand))
    return compare(left as Score, right as Score)
  })
  return best === undefined ? { reasons } : { hostExtId: best.extId }
}

interface Load {
  readonly memoryBytes: number
  readonly sharedVcpus: number
  readonly pinnedVcpus: number
  readonly peers: number
}

function loadOf(host: HostCandidate, allocations: readonly Allocation[], peerVmExtIds?: ReadonlySet<string>): Load {
  let [memoryBytes, sharedVcpus, pinnedVcpus, peers] = [0, 0, 0, 0]
  for (const held of allocations) {
    if (held.hostExtId !== host.extId) continue
    memoryBytes += held.memoryBytes
    if (held.isPinned) pinnedVcpus += held.vcpus
    else sharedVcpus += held.vcpus
    if (peerVmExtIds?.has(held.vmExtId) === true) peers++
  }
  return { memoryBytes, sharedVcpus, pinnedVcpus, peers }
}

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
