/** Invariants of VMs and the hosts that run them. Source: behaviour vmm.md 3.8 (invariants 1 and 2). */
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import type { Reader } from '../../../store/store.ts'
import type { Broken, Invariant } from '../../context.ts'
import { rowsOf } from '../../invariants/rule.ts'
import { HostAllocation } from '../../scheduling/host-allocation.ts'
import { memoryOf, usableMemoryBytes } from '../../scheduling/placement.ts'
import type { VmEntity } from '../../virtual-machines/entity.ts'

export const placementRules: readonly Invariant[] = [
  { promise: 'No host gives its VMs more memory or pinned threads than it has', look: hostsHaveRoom },
  { promise: 'A VM has a host of its cluster exactly while it is not OFF', look: vmsHaveHosts },
]

async function* hostsHaveRoom(store: Reader): AsyncGenerator<Broken> {
  const held = new Map<string, { memoryBytes: number; pinned: number }>()
  for await (const { hostExtId, memoryBytes, vcpus, isPinned } of rowsOf(store, HostAllocation)) {
    const sum = held.get(hostExtId) ?? { memoryBytes: 0, pinned: 0 }
    held.set(hostExtId, {
      memoryBytes: sum.memoryBytes + memoryBytes,
      pinned: sum.pinned + (isPinned ? vcpus : 0),
    })
  }
  for (const [extId, { memoryBytes, pinned }] of held) {
    const host = await store.get(Host, extId)
    const { hostName = extId, numberOfCpuThreads = 0 } = host ?? {}
    const usable = host === undefined ? 0 : usableMemoryBytes(memoryOf(host))
    if (memoryBytes > usable)
      yield { about: [extId], fault: `the host "${hostName}" gives ${memoryBytes} bytes of its ${usable} to VMs` }
    if (pinned > numberOfCpuThreads)
      yield {
        about: [extId],
        fault: `the host "${hostName}" gives ${pinned} of its ${numberOfCpuThreads} threads alone`,
      }
  }
}

async function* vmsHaveHosts(store: Reader): AsyncGenerator<Broken> {
  for await (const vm of rowsOf(store, Vm)) {
    const fault = await hostFaultOf(store, vm)
    if (fault !== undefined) yield { about: [vm.extId], fault: `the VM "${vm.name}" ${fault}` }
  }
}

async function hostFaultOf(store: Reader, { powerState, host, cluster }: VmEntity): Promise<string | undefined> {
  if (host === undefined) return powerState === 'OFF' ? undefined : `is ${powerState} without a host`
  if (powerState === 'OFF') return `is OFF and has the host ${host.extId}`
  const found = await store.get(Host, host.extId as string)
  return found?.cluster?.uuid === cluster?.extId ? undefined : `is on ${host.extId}, which its cluster does not have`
}
