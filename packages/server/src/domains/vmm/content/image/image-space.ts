/** Room for images: each cluster that holds one stores it in one container. Source: behaviour vmm.md 1.8, 3.9. */
import type { EntityOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { Image } from '@hyperplane/contract/vmm/content/image'
import { ApiError } from '../../../../core/api-error.ts'
import type { Clock } from '../../../../core/time/clock.ts'
import type { Services } from '../../../../core/world.ts'
import type { Drivers } from '../../../../drivers/drivers.ts'
import type { Reader } from '../../../../store/store.ts'
import { limit, limitOf } from '../../../limits.ts'
import { containerFree, poolUsage } from '../../../storage-space/capacity.ts'
import { imageContainerName } from '../../../storage-space/stored-data.ts'
import { isNative } from '../../vm/create/clusters.ts'

export const maximumImages = limit('images', 2000)

interface Asking {
  readonly store: Reader
  readonly clock: Clock
  readonly drivers: Drivers
}

/** Does not count images in creation, so their tasks check again. @throws ApiError VMM_LIMIT_EXCEEDED when `images` more are too many */
export async function requireRoomForImages(
  ctx: { readonly store: Reader; readonly services: Pick<Services, 'limits'> },
  images: number,
): Promise<void> {
  const found = (await ctx.store.count(Image)) + images
  const maximum = limitOf(ctx, maximumImages)
  if (found > maximum) throw new ApiError('VMM_LIMIT_EXCEEDED', { limit: 'Images', maximum, found })
}

/** @throws ApiError OUT_OF_STORAGE for the first of these clusters without room for so many bytes */
export async function requireImageRoom(ctx: Asking, clusterExtIds: readonly string[], bytes: number): Promise<void> {
  for (const clusterExtId of clusterExtIds) {
    const container = await imageContainer(ctx.store, clusterExtId)
    // A cluster without this container stores images outside its pool.
    if (container === undefined) continue
    const free = containerFree(await poolUsage(ctx, clusterExtId), container)
    if (bytes > free) throw new ApiError('OUT_OF_STORAGE', { name: container.name, free, asked: bytes })
  }
}

/** @param among default: all */
export async function roomiestCluster(ctx: Asking, among?: readonly string[]): Promise<string | undefined> {
  let best: { extId: string; free: number } | undefined
  for (const cluster of await ctx.store.find(Cluster)) {
    if (among?.includes(cluster.extId) === false) continue
    if (!isNative(cluster) || !ctx.drivers.hardware.isReachable(cluster.extId)) continue
    const { freeBytes } = await poolUsage(ctx, cluster.extId)
    if (best === undefined || freeBytes > best.free) best = { extId: cluster.extId, free: freeBytes }
  }
  return best?.extId
}

const imageContainer = async (
  store: Reader,
  clusterExtId: string,
): Promise<EntityOf<typeof StorageContainer> | undefined> =>
  (await store.findWhere(StorageContainer, { clusterExtId })).find(({ name }) => name === imageContainerName)
