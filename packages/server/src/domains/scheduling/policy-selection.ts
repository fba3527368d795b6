/** Only the oldest policy of a kind governs a VM. Source: behaviour vmm.md 1.12, 3.2 (score). */
import { VmAntiAffinityPolicy } from '@hyperplane/contract/vmm/policies/vm-anti-affinity-policy'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { pathOf } from '../../core/standard.ts'
import { and, anyOf, equals } from '../../odata/index.ts'
import type { Reader } from '../../store/store.ts'
import type { VmEntity } from '../virtual-machines/entity.ts'

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

/** VMs of all clusters that the governing policy keeps apart from the VM. */
export async function antiAffinityPeers(store: Reader, vm: VmEntity): Promise<ReadonlySet<string>> {
  if (vm.categories === undefined) return new Set()
  const policies = await store.find(VmAntiAffinityPolicy)
  const governing = policies.findIndex(({ categories }) => carriesOneOf(vm, idsOf(categories)))
  if (governing < 0) return new Set()
  const peers = await carriersOf(store, idsOf(policies[governing]?.categories))
  const older = policies.slice(0, governing).flatMap(({ categories }) => idsOf(categories))
  for (const extId of await carriersOf(store, older)) peers.delete(extId)
  peers.delete(vm.extId)
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
