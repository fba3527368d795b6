import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { defined } from '../../core/defined.ts'
import { seedId } from '../../core/ids/named-id.ts'
import { hostsOf } from '../../domains/storage-space/capacity.ts'
import { seedContainer } from '../demo/clusters.ts'
import type { DeclaredCluster } from '../format.ts'
import { bodyOf } from '../readable.ts'
import type { ClusterEntity, Filling } from './filling.ts'

const GiB = 1024 ** 3

type Described = Exclude<NonNullable<DeclaredCluster['containers']>[number], string>

export async function fillContainers(
  filling: Filling,
  cluster: ClusterEntity,
  containers: NonNullable<DeclaredCluster['containers']>,
  path: string,
): Promise<void> {
  for (const [index, described] of containers.entries()) {
    const at = `${path}.containers[${index}]`
    const container = typeof described === 'string' ? { name: described } : described
    await filling.item(at, () => fillContainer(filling, cluster, container, at))
  }
}

async function fillContainer(filling: Filling, cluster: ClusterEntity, item: Described, path: string): Promise<void> {
  const { name, extId = seedId(`container/${cluster.name}/${name}`), isInternal, datastores = [] } = item
  const hosts = await hostsOf(filling.ctx.store, cluster.extId)
  const body = {
    ...(hosts.length === 1 ? { affinityHostExtId: hosts[0]?.extId } : {}),
    ...(await bodyOf(
      StorageContainer.schema.fields,
      { ...item, extId: undefined, isInternal: undefined },
      path,
      filling,
    )),
    ...defined({
      logicalAdvertisedCapacityBytes: bytesOf(item.logicalAdvertisedCapacityGiB),
      logicalExplicitReservedCapacityBytes: bytesOf(item.logicalExplicitReservedCapacityGiB),
    }),
  }
  if (isInternal === true) {
    filling.judge(path, 'clustermgmt.createStorageContainer', { name, ...body }, { clusterId: cluster.extId })
    await seedContainer(filling.ctx, cluster, name, { ...body, extId, isInternal })
  } else {
    await filling.perform(path, 'clustermgmt.createStorageContainer', {
      called: `container/${cluster.name}/${name}`,
      extId,
      clusterId: cluster.extId,
      body: { name, ...body },
    })
  }
  for (const [index, datastore] of datastores.entries()) {
    const at = `${path}.datastores[${index}]`
    const { hosts, ...given } = datastore
    const nodeExtIds = await filling.all(
      (hosts ?? []).map((host, place) => () => filling.idOf('Host', host, `${at}.hosts[${place}]`)),
    )
    await filling.perform(at, 'clustermgmt.mountStorageContainer', {
      called: `datastore/${cluster.name}/${name}/${index}`,
      path: { extId },
      body: defined({ containerName: name, ...given, nodeExtIds: hosts && [...nodeExtIds] }),
    })
  }
}

const bytesOf = (sizeGiB: number | undefined): number | undefined => sizeGiB && sizeGiB * GiB
