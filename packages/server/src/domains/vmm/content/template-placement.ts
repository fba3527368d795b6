/** Which clusters should hold the disks of a template ahead of deployments. Source: behaviour vmm.md 1.10. */
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { TemplatePlacementPolicy } from '@hyperplane/contract/vmm/content/template-placement-policy'
import type { Reader } from '../../../store/store.ts'
import { isNative } from '../vm/create/clusters.ts'
import { carries, matchingClusters } from './category-filter.ts'

/** The native clusters that policies choose for a template with these categories. */
export async function clustersOfTemplate(store: Reader, categoryExtIds: readonly string[]): Promise<readonly string[]> {
  const policies = await store.find(TemplatePlacementPolicy)
  const carried = new Set(categoryExtIds)
  const selecting = policies.filter(({ contentFilter }) => carries(contentFilter, carried))
  if (selecting.length === 0) return []
  const clusters = (await store.find(Cluster)).filter(isNative)
  return [...new Set(selecting.flatMap(({ clusterFilter }) => matchingClusters(clusters, clusterFilter)))]
}
