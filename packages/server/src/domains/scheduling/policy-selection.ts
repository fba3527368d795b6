/** Selection of VMs by category; a VM's policy is the oldest of a kind. Source: behaviour vmm.md 1.12, 3.2 (score). */
import type { EntityOf } from '@hyperplane/contract'
import { VmAntiAffinityPolicy } from '@hyperplane/contract/vmm/policies/vm-anti-affinity-policy'
import { VmHostAffinityPolicy } from '@hyperplane/contract/vmm/policies/vm-host-affinity-policy'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { pathOf } from '../../core/standard.ts'
import type { Hypervisor } from '../../drivers/hypervisor.ts'
import { and, anyOf, equals } from '../../odata/index.ts'
import type { Reader } from '../../store/store.ts'
import type { VmEntity } from '../virtual-machines/entity.ts'
import type { HostAffinity } from './placement.ts'

interface Reference {
  readonly extId?: string | undefined
}
type Categorised = Pick<VmEntity, 'categories'>

export const idsOf = (references: readonly Reference[] = []): string[] => references.flatMap(({ extId }) => extId ?? [])

export const carriesOneOf = (vm: Categorised, categoryExtIds: readonly string[]): boolean =>
  idsOf(vm.categories).some((extId) => categoryExtIds.includes(extId))

export const vmsCarrying = (
  store: Reader,
  categoryExtIds: readonly string[],
  clusterExtId?: string,
): Promise<VmEntity[]> => {
  const carries = anyOf(pathOf(Vm, 'categories/extId'), [...new Set(categoryExtIds)])
  const filter = clusterExtId === undefined ? carries : and(carries, equals(pathOf(Vm, 'cluster/extId'), clusterExtId))
  return store.find(Vm, { filter })
}

/** VMs to keep apart: the others of its legacy policy, else those that the same anti-affinity policy governs. */
export const antiAffinityPeers = (
  store: Reader,
  hypervisor: Pick<Hypervisor, 'vmGroups'>,
  vm: VmEntity,
): Promise<ReadonlySet<string>> => peerFinder(store, hypervisor)(vm)

/** For several VMs: policies, and the VMs of each, are read once. */
export function peerFinder(
  store: Reader,
  hypervisor: Pick<Hypervisor, 'vmGroups'>,
): (vm: VmEntity) => Promise<ReadonlySet<string>> {
  const groups = hypervisor.vmGroups()
  const inGroups = groups.flatMap(({ vmExtIds }) => vmExtIds)
  const governedBy = new Map<string, Set<string>>()
  const others = (found: Iterable<string>, vm: VmEntity): Set<string> => {
    const peers = new Set(found)
    peers.delete(vm.extId)
    return peers
  }
  return async (vm) => {
    const own = groups.find(({ vmExtIds }) => vmExtIds.includes(vm.extId))
    if (own !== undefined) return others(own.vmExtIds, vm)
    const selectors = await selectorsOf(store, vm)
    if (selectors === undefined) return new Set()
    let governed = governedBy.get(selectors.extId)
    if (governed === undefined) {
      governed = await carriersOf(store, selectors.categoryExtIds)
      for (const extId of await carriersOf(store, selectors.olderCategoryExtIds)) governed.delete(extId)
      for (const extId of inGroups) governed.delete(extId)
      governedBy.set(selectors.extId, governed)
    }
    return others(governed, vm)
  }
}

interface Selectors {
  readonly extId: string
  readonly categoryExtIds: readonly string[]
  /** Policies with these prevail over this one. */
  readonly olderCategoryExtIds: readonly string[]
}

async function selectorsOf(store: Reader, vm: Categorised): Promise<Selectors | undefined> {
  if (vm.categories === undefined) return undefined
  const policies = await store.find(VmAntiAffinityPolicy)
  const index = policies.findIndex(({ categories }) => carriesOneOf(vm, idsOf(categories)))
  const policy = policies[index]
  if (policy === undefined) return undefined
  const olderCategoryExtIds = policies.slice(0, index).flatMap(({ categories }) => idsOf(categories))
  return { extId: policy.extId, categoryExtIds: idsOf(policy.categories), olderCategoryExtIds }
}

/** Reads references only, because thousands of VMs may have the category. */
async function carriersOf(store: Reader, categoryExtIds: readonly string[]): Promise<Set<string>> {
  const found = new Set<string>()
  for (const extId of new Set(categoryExtIds)) {
    const options = { from: Vm.kind, publishedOnly: true }
    for (const { extId: vm } of await store.referrers('Category', extId, Number.MAX_SAFE_INTEGER, options))
      found.add(vm)
  }
  return found
}

/** The oldest host affinity policy that selects the VM: the one that governs it. */
export async function hostAffinityOf(store: Reader, vm: Categorised): Promise<HostAffinity | undefined> {
  const carried = idsOf(vm.categories)
  if (carried.length === 0) return undefined
  const filter = anyOf(pathOf(VmHostAffinityPolicy, 'vmCategories/extId'), carried)
  const [policy] = await store.find(VmHostAffinityPolicy, { filter, limit: 1 })
  return policy && affinityBy(policy)
}

export const affinityBy = ({ extId, name, hostCategories }: EntityOf<typeof VmHostAffinityPolicy>): HostAffinity => ({
  policyExtId: extId,
  policyName: name,
  hostCategoryExtIds: new Set(idsOf(hostCategories)),
})
