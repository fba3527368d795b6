/** Obstacles to unregistering a cluster. Source: behaviour platform.md 4 (unregister); clustermgmt.md 1.2 (delete). */
import { contract } from '@hyperplane/contract'
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import { Image } from '@hyperplane/contract/vmm/content/image'
import type { Reader } from '../../store/store.ts'
import { rowsOfCluster } from './cluster-inventory.ts'

export const maximumNamed = 20
/** No limit: most referrers of an entity leave with the cluster, so a limit could hide the others. */
const everyone = 2 ** 31 - 1

export const titles = new Map(
  contract.flatMap(({ resources }) => resources).map((resource) => [resource.kind, resource] as const),
)

/** Entities that stay and use leaving ones; one sentence for each. */
export async function usersOutsideCluster(store: Reader, clusterExtId: string): Promise<string[]> {
  const rows = await rowsOfCluster(store, clusterExtId)
  const going = new Set(rows.map(({ part, entity }) => `${part.resource.kind}/${entity.extId}`))
  const users = new Map<string, string>()
  for (const { part, entity } of rows) {
    for (const { kind, extId } of await store.referrers(part.resource.kind, entity.extId, everyone)) {
      // The caller of this function reports managers itself; an image only loses one of its locations.
      if (going.has(`${kind}/${extId}`) || kind === DomainManager.kind || kind === Image.kind) continue
      if (users.size === maximumNamed) return [...users.values()]
      const resource = titles.get(kind)
      const user =
        resource === undefined ? undefined : ((await store.get(resource, extId)) as { name?: string } | undefined)
      users.set(`${kind}/${extId}`, `the ${resource?.title ?? kind} "${user?.name ?? extId}" uses it`)
    }
  }
  return [...users.values()]
}
