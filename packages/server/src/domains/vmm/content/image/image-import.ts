/** Images that only a cluster knows become entities of this manager. Source: behaviour vmm.md 1.8 (import), 1.16. */
import type { EntityOf, ValueOf } from '@hyperplane/contract'
import { Image, type ImageImportConfig } from '@hyperplane/contract/vmm/content/image'
import { isInScope } from '../../../../core/access/scope.ts'
import { ApiError, refuseAll } from '../../../../core/api-error.ts'
import type { TaskStarted } from '../../../../core/handlers.ts'
import { notFound } from '../../../../core/standard.ts'
import { affected, defineTask, type WriteContext } from '../../../context.ts'
import { requireClusterReachable } from '../../../registrations/reachability.ts'
import { transferTo } from '../rate-limits.ts'
import { requireRoomForImages } from './image-space.ts'

interface Import {
  readonly clusterExtId: string
  readonly imageExtIds: readonly string[]
}

const adoptFrom = 10
const adoptUntil = 90

export const importImages = defineTask<Import>({
  name: 'vmm.import-images',
  cancelableUntil: 'store',
  steps: [
    {
      name: 'read metadata',
      progress: adoptFrom,
      run: async (ctx, { clusterExtId, imageExtIds }) => {
        const found = ctx.drivers.contentSource.unmanaged(clusterExtId)
        return imageExtIds.map((imageExtId) => {
          const image = found.find(({ extId }) => extId === imageExtId)
          if (image === undefined) throw notFound(Image, imageExtId, 'imagesExtIds')
          return image
        })
      },
      record: async (ctx, _, images: readonly { extId: string; name: string; sizeBytes: number }[]) => {
        for (const { extId, name, sizeBytes } of images) await ctx.store.observe(Image, extId, { name, sizeBytes })
      },
      // No undo: `onUndone` removes the pending rows.
    },
    {
      name: 'adopt',
      progress: adoptUntil,
      run: async (ctx, { clusterExtId, imageExtIds }) => {
        for (const [index, imageExtId] of imageExtIds.entries()) {
          const report = (share: number): Promise<void> =>
            ctx.progress(adoptFrom + ((adoptUntil - adoptFrom) * (index + share)) / imageExtIds.length)
          await ctx.drivers.contentSource.adopt({ imageExtId, clusterExtId }, transferTo(ctx, clusterExtId, report))
        }
      },
      undo: async (ctx, { clusterExtId, imageExtIds }) => {
        for (const imageExtId of imageExtIds) await ctx.drivers.contentSource.release({ imageExtId, clusterExtId })
      },
    },
    {
      name: 'store',
      record: async (ctx, { imageExtIds }) => {
        await requireRoomForImages(ctx, imageExtIds.length)
        for (const extId of imageExtIds) await ctx.store.publish(Image, extId)
      },
    },
  ],
  onUndone: async (ctx, { imageExtIds }) => {
    for (const extId of imageExtIds) await ctx.store.remove(Image, extId)
  },
})

export async function startImport(
  ctx: WriteContext,
  { clusterExtId, imagesExtIds }: ValueOf<typeof ImageImportConfig>,
): Promise<TaskStarted> {
  await requireClusterReachable(ctx, clusterExtId)
  const found = new Map(ctx.drivers.contentSource.unmanaged(clusterExtId).map((each) => [each.extId, each]))
  const images: EntityOf<typeof Image>[] = []
  const faults: ApiError[] = []
  const scope = await ctx.services.access.scope(ctx.caller, ctx.operation)
  const now = ctx.clock.iso()
  for (const [index, extId] of imagesExtIds.entries()) {
    const unmanaged = found.get(extId)
    // The row of an image whose import is running exists already.
    if (unmanaged === undefined || (await ctx.store.pending(Image, extId)) !== undefined) {
      faults.push(notFound(Image, extId, `imagesExtIds[${index}]`))
      continue
    }
    const image: EntityOf<typeof Image> = {
      ...unmanaged,
      description: '',
      tenantId: ctx.tenantId,
      ownerExtId: ctx.caller.extId,
      ownerName: ctx.caller.name,
      createTime: now,
      lastUpdateTime: now,
      clusterLocationExtIds: [clusterExtId],
    }
    if (!isInScope(scope, image))
      throw new ApiError('ACCESS_DENIED', { operation: ctx.operation.iamOperation, reason: ' on such an entity' })
    images.push(image)
  }
  refuseAll(faults)
  for (const image of images) await ctx.store.insert(Image, image, { pending: true })
  return ctx.startTask(
    importImages,
    { clusterExtId, imageExtIds: imagesExtIds },
    {
      operation: 'kImageImport',
      description: 'Import images',
      affected: images.map((each) => affected(Image, each)),
      clusterExtIds: [clusterExtId],
    },
  )
}
