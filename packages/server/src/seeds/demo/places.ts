/** By the rules of the scheduler, but hosts are read once per cluster, and their load is kept in sums. Source: behaviour vmm.md 3.2. */

import { HostAllocation } from '../../domains/scheduling/host-allocation.ts'
import { type Allocation, chooseHost, type HostCandidate } from '../../domains/scheduling/placement.ts'
import { candidatesOf, chosenFor, demandOf } from '../../domains/scheduling/scheduler.ts'
import type { VmEntity } from '../../domains/virtual-machines/entity.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import type { Transaction } from '../../store/store.ts'

interface ClusterLoad {
  readonly hosts: readonly HostCandidate[]
  readonly sums: Map<string, Allocation>
}

interface Seeding {
  readonly store: Transaction
  readonly drivers: Pick<Drivers, 'hardware' | 'networkFabric'>
}

export interface SeedPlaces {
  /** @returns the best host, with memory and CPUs reserved @throws ApiError NO_HOST_FOR_VM */
  place(vm: VmEntity): Promise<string>
}

export function createSeedPlaces(ctx: Seeding): SeedPlaces {
  const loads = new Map<string, ClusterLoad>()

  async function loadOf(clusterExtId: string): Promise<ClusterLoad> {
    let load = loads.get(clusterExtId)
    if (load === undefined) {
      load = { hosts: await candidatesOf(ctx, clusterExtId), sums: new Map() }
      for (const held of await ctx.store.findWhere(HostAllocation, { clusterExtId })) add(load, held)
      loads.set(clusterExtId, load)
    }
    return load
  }

  return {
    async place(vm) {
      const load = await loadOf(vm.cluster?.extId as string)
      const demand = await demandOf(ctx.store, vm)
      const held = chosenFor(vm, chooseHost(load.hosts, [...load.sums.values()], demand), demand)
      await ctx.store.insert(HostAllocation, held)
      add(load, held)
      return held.hostExtId
    },
  }
}

function add({ sums }: ClusterLoad, held: Allocation): void {
  const key = `${held.hostExtId} ${held.isPinned}`
  const cached = sums.get(key)
  sums.set(key, {
    vmExtId: held.vmExtId,
    hostExtId: held.hostExtId,
    isPinned: held.isPinned,
    memoryBytes: held.memoryBytes + (cached?.memoryBytes ?? 0),
    vcpus: held.vcpus + (cached?.vcpus ?? 0),
  })
}
