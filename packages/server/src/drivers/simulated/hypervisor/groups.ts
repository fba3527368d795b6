/** Groups of VMs that hosts keep apart: only world events make them. Source: behaviour vmm.md 1.12 (legacy). */
import { canonicalJson } from '../../../core/idempotency.ts'
import { derivedId } from '../../../core/ids/named-id.ts'
import type { VmGroup, VmGroups } from '../../hypervisor.ts'
import { CannotHappen, type Target } from '../events/event.ts'
import type { Collection, SimulatedWorld } from '../world.ts'
import { domainFacts } from './facts.ts'
import type { SimulatedHosts } from './hosts.ts'

const groupFacts = (world: SimulatedWorld): Collection<Omit<VmGroup, 'extId'>> => world.collection('vmGroups')

export function createVmGroups(world: SimulatedWorld, hosts: SimulatedHosts): VmGroups {
  const groups = groupFacts(world)
  return {
    vmGroups: () =>
      [...groups.all()].map(([extId, { name, clusterExtId, vmExtIds }]) => ({
        extId,
        name,
        clusterExtId,
        vmExtIds: vmExtIds.filter((vmExtId) => hosts.domains.get(vmExtId) !== undefined),
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

/** @param vms names or ids @throws CannotHappen for a VM that the cluster does not have, or of which it has several */
export async function groupVms(
  world: SimulatedWorld,
  cluster: Target,
  name: string,
  vms: readonly string[],
): Promise<boolean> {
  const domains = [...domainFacts(world).all()].filter(([, { domain }]) => domain.clusterExtId === cluster.extId)
  const vmExtIds = vms.map((wanted) => {
    const found = domains.filter(([extId, { domain }]) => extId === wanted || domain.name === wanted)
    const [only] = found
    if (only === undefined || found.length > 1)
      throw new CannotHappen(
        `expected the name or the id of one VM of the cluster "${cluster.name}", found "${wanted}", which ${found.length} VMs have`,
        'vms',
      )
    return only[0]
  })
  const extId = derivedId('vm group', cluster.extId, name)
  const group = { name, clusterExtId: cluster.extId, vmExtIds: [...new Set(vmExtIds)] }
  if (canonicalJson(groupFacts(world).get(extId)) === canonicalJson(group)) return false
  await groupFacts(world).put(extId, group)
  return true
}
