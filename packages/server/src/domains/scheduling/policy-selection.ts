/**
 * Which VMs a policy selects by category, and which of several policies governs a VM.
 * Source: behaviour vmm.md 1.12 (a VM belongs to at most one policy of a kind: the oldest), 3.2 (score).
 */
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

/**
 * VMs from which the VM should be kept apart: the other VMs of its legacy policy, or else those that the same
 * anti-affinity policy governs.
 */
export async function antiAffinityPeers(
  store: Reader,
  hypervisor: Pick<Hypervisor, 'vmGroups'>,
  vm: VmEntity,
): Promise<ReadonlySet<string>> {
  const groups = hypervisor.vmGroups()
  const own = groups.find(({ vmExtIds }) => vmExtIds.includes(vm.extId))
  const peers = own === undefined ? await governedWith(store, vm) : new Set(own.vmExtIds)
  if (own === undefined) for (const extId of groups.flatMap(({ vmExtIds }) => vmExtIds)) peers.delete(extId)
  peers.delete(vm.extId)
  return peers
}

async function governedWith(store: Reader, vm: VmEntity): Promise<Set<string>> {
  if (vm.categories === undefined) return new Set()
  const policies = await store.find(VmAntiAffinityPolicy)
  const governing = policies.findIndex(({ categories }) => carriesOneOf(vm, idsOf(categories)))
  if (governing < 0) return new Set()
  const peers = await carriersOf(store, idsOf(policies[governing]?.categories))
  const older = policies.slice(0, governing).flatMap(({ categories }) => idsOf(categories))
  for (const extId of await carriersOf(store, older)) peers.delete(extId)
  return peers
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

export const affinityBy = ({ name, hostCategories }: EntityOf<typeof VmHostAffinityPolicy>): HostAffinity => ({
  policyName: name,
  hostCategoryExtIds: new Set(idsOf(hostCategories)),
})
