/** Source: behaviour clustermgmt.md 1.10. */
import type { ValueOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { ClusterProfile, type ClusterReferenceListSpec } from '@hyperplane/contract/clustermgmt/cluster-profile'
import { ApiError, invalid, refuseAll } from '../../core/api-error.ts'
import { notFound } from '../../core/standard.ts'
import type { Reader } from '../../store/store.ts'
import { isManager } from '../containers/storage-containers.ts'
import type { WriteContext } from '../context.ts'
import { requireReachable } from '../registrations/reachability.ts'

type References = ValueOf<typeof ClusterReferenceListSpec>['clusters']

export const namelessFaults = (references: References): ApiError[] =>
  references.flatMap(({ uuid, name }, index) =>
    uuid === undefined && name === undefined
      ? [invalid(`clusters[${index}]`, 'expected uuid or name, found neither')]
      : [],
  )

/** @throws ApiError 400 if uuid and name disagree or an entry repeats, 404 for unknown clusters */
export async function namedClusters(store: Reader, references: References): Promise<Cluster[]> {
  const faults: ApiError[] = []
  const unknown: ApiError[] = []
  const found: Cluster[] = []
  for (const [index, { uuid, name }] of references.entries()) {
    const at = `clusters[${index}]`
    const cluster =
      uuid === undefined ? await store.findOne(Cluster, { name: name as string }) : await store.get(Cluster, uuid)
    if (cluster === undefined)
      unknown.push(notFound(Cluster, (uuid ?? name) as string, `${at}/${uuid === undefined ? 'name' : 'uuid'}`))
    else if (name !== undefined && cluster.name !== name) {
      faults.push(invalid(at, `expected uuid and name of one cluster; ${uuid} is "${cluster.name}", not "${name}"`))
    } else if (found.some(({ extId }) => extId === cluster.extId)) {
      faults.push(invalid(at, `expected each cluster once, found "${cluster.name}" again`))
    } else found.push(cluster)
  }
  refuseAll([...faults, ...unknown])
  return found
}

/** @throws ApiError 400 for the manager, 409 for a cluster with another profile, 503 for an unreachable cluster */
export async function requireApplicable(
  ctx: WriteContext,
  profileExtId: string,
  clusters: readonly Cluster[],
): Promise<void> {
  refuseAll(
    clusters
      .filter(isManager)
      .map(({ name }) => new ApiError('NOT_SUPPORTED_ON_MANAGER', { name, action: 'applying a profile' })),
  )
  const refusals: ApiError[] = []
  for (const cluster of clusters) {
    const refusal = await otherProfileError(ctx.store, profileExtId, cluster)
    if (refusal !== undefined) refusals.push(refusal)
  }
  refuseAll(refusals)
  for (const cluster of clusters) requireReachable(ctx, cluster)
}

export async function otherProfileError(
  store: Reader,
  profileExtId: string,
  cluster: Cluster,
): Promise<ApiError | undefined> {
  const other = cluster.clusterProfileExtId
  if (other === undefined || other === profileExtId) return undefined
  const profile = await store.get(ClusterProfile, other)
  return new ApiError('CLUSTER_HAS_ANOTHER_PROFILE', { name: cluster.name, profile: profile?.name ?? other })
}
