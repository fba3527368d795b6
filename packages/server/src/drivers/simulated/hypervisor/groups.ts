/** Groups of VMs that hosts keep apart: only world events make them. Source: behaviour vmm.md 1.12 (legacy). */
import { derivedId } from '../../../core/ids/named-id.ts'
import type { VmGroup, VmGroups } from '../../hypervisor.ts'
import { CannotHappen, type Target } from '../events/event.ts'
import type { SimulatedWorld } from '../world.ts'
import { domainFacts } from './facts.ts'
import type { SimulatedHosts } from './hosts.ts'

const groupFacts = (world: SimulatedWorld) => world.collection<Omit<VmGroup, 'extId'>>('vmGroups')

export function createVmGroups(world: SimulatedWorld, hosts: SimulatedHosts): VmGroups {
  const groups = groupFacts(world)
  return {
    vmGroups: () =>
      [...groups.all()].map(([extId, { name, clusterExtId, vmExtIds }]) => ({
        extId,
        name,
        clusterExtId,
        vmExtIds: vmExtIds.filter((vmExtId) => hosts.domains.get(vmExtId)?.domain.clusterExtId === clusterExtId),
      })),
    async removeVmGroup(groupExtId) {
      const group = groups.get(groupExtId)
      if (group === undefined) return
      hosts.requireAnswer('removeVmGroup', [group.clusterExtId])
      await groups.remove(groupExtId)
    },
    watchVmGroups: (changed) => world.watch(['vmGroups'], changed),
  }
}

/** Adds the VM to the group of this name in its cluster; the group appears with its first VM. @returns false: it was in */
export async function joinGroup(world: SimulatedWorld, vm: Target, name: string): Promise<boolean> {
  const fact = domainFacts(world).get(vm.extId)
  if (fact === undefined) throw new CannotHappen(`No host has the VM "${vm.name}".`)
  const { clusterExtId } = fact.domain
  const extId = derivedId('vm group', clusterExtId, name)
  const vmExtIds = groupFacts(world).get(extId)?.vmExtIds ?? []
  if (vmExtIds.includes(vm.extId)) return false
  await groupFacts(world).put(extId, { name, clusterExtId, vmExtIds: [...vmExtIds, vm.extId] })
  return true
}
