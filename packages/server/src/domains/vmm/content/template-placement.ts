/** Which clusters should hold the disks of a template ahead of deployments. Source: behaviour vmm.md 1.10. */
import type { EntityOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { TemplatePlacementPolicy } from '@hyperplane/contract/vmm/content/template-placement-policy'
import type { Reader } from '../../../store/store.ts'
import { isNative } from '../vm/create/clusters.ts'
import { matchesCategories, matchingClusters } from './category-filter.ts'

type Policy = EntityOf<typeof TemplatePlacementPolicy>

export async function policiesOf(store: Reader, categoryExtIds: readonly string[]): Promise<readonly Policy[]> {
  const carried = new Set(categoryExtIds)
  return (await store.find(TemplatePlacementPolicy)).filter(({ contentFilter }) =>
    matchesCategories(contentFilter, carried),
  )
}

export async function clustersOfTemplate(store: Reader, categoryExtIds: readonly string[]): Promise<readonly string[]> {
  const selecting = await policiesOf(store, categoryExtIds)
  if (selecting.length === 0) return []
  const clusters = (await store.find(Cluster)).filter(isNative)
  return [...new Set(selecting.flatMap(({ clusterFilter }) => matchingClusters(clusters, clusterFilter)))]
}
