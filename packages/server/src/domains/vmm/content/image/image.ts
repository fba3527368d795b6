/** Operations on images, and the download of their bytes. Source: behaviour vmm.md 1.8, 3.6, 3.9. */

import type { BodyOf, EntityOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Image, imageOperations } from '@hyperplane/contract/vmm/content/image'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError, refuseAll } from '../../../../core/api-error.ts'
import { canonicalJson } from '../../../../core/idempotency.ts'
import { created, replaced } from '../../../../core/updates.ts'
import type { ByteRange } from '../../../../drivers/content-source.ts'
import type { Reader } from '../../../../store/store.ts'
import { type Broken, implement, mayRefer, type WriteContext } from '../../../context.ts'
import { rowsOf } from '../../../invariants/rule.ts'
import { requireClusterReachable } from '../../../registrations/reachability.ts'
import { fileOf } from '../../../virtual-machines/entity.ts'
import { fault } from '../../../virtual-machines/fault.ts'
import { findDisk } from '../../vm/create/disk-sources.ts'
import { nameFaults } from '../../vm/rules.ts'
import { fileAnswer } from '../file-answer.ts'
import { distinct, holderOf, requireLocations } from '../locations.ts'
import { keyFaults, noObjectStore, objectOf } from '../object-source.ts'
import { activePolicies, placementOf, withPlacementStatus } from '../placement.ts'
import { importImages, startImport } from './image-import.ts'
import { maximumImages, requireRoomForImages, roomiestCluster } from './image-space.ts'
import { createImage, deleteImage, diskNotFound, requireUnread, unavailable, updateImage } from './image-tasks.ts'

type ImageEntity = EntityOf<typeof Image>
type Body = BodyOf<typeof Image>

const rel = 'vmm:content:image'

export const diskSourceType = 'vmm.v4.content.VmDiskSource'

export const image = implement(
  imageOperations,
  {
    async createImage(ctx, { body }) {
      const source = body.source as NonNullable<Body['source']>
      const isObject = objectOf(Image.kind, source) !== undefined
      if (isObject && !ctx.drivers.contentSource.readsObjects) throw unavailable(body, noObjectStore)
      const disk =
        source.$objectType === diskSourceType ? await sourceDisk(ctx, (source as { extId: string }).extId) : undefined
      await requireRoomForImages(ctx, 1)
      const clusterLocationExtIds = await locationsOf(ctx, body, disk?.clusterExtId)
      const now = ctx.clock.iso()
      const image: ImageEntity = created(ctx, Image, body, {
        clusterLocationExtIds,
        ownerExtId: ctx.caller.extId,
        ownerName: ctx.caller.name,
        createTime: now,
        lastUpdateTime: now,
      })
      const { extId } = image
      await ctx.store.insert(Image, image, { pending: true })
      const task = await ctx.startTask(
        createImage,
        { extId },
        {
          operation: 'kImageCreate',
          description: 'Create image',
          affected: [{ extId, name: image.name, rel }],
          clusterExtIds: clusterLocationExtIds,
        },
      )
      return { ...task, created: extId }
    },

    async updateImageById(ctx, { body }) {
      const stored = ctx.target
      refuseAll(otherSourceFaults(stored, body))
      if (body.clusterLocationExtIds?.length === 0) {
        throw new ApiError('CONFLICT', {
          fault: 'The last location of an image cannot be removed. Delete the image instead.',
        })
      }
      const before = stored.clusterLocationExtIds ?? []
      const after = distinct(body.clusterLocationExtIds ?? before)
      await requireLocations(
        ctx,
        after.filter((extId) => !before.includes(extId)),
      )
      const keepsLocations = after.length === before.length && after.every((extId) => before.includes(extId))
      const next = {
        ...replaced(Image, stored, body, ctx.version),
        source: stored.source,
        checksum: stored.checksum,
        clusterLocationExtIds: after,
      } as ImageEntity
      await ctx.store.touch(Image, stored.extId)
      return ctx.startTask(
        updateImage,
        { image: withoutSecrets(next), keepsLocations },
        {
          operation: 'kImageUpdate',
          description: 'Update image',
          affected: [{ extId: stored.extId, name: next.name, rel }],
          clusterExtIds: distinct([...before, ...after]),
        },
      )
    },

    async deleteImageById(ctx) {
      const stored = ctx.target
      await requireUnread(ctx.store, stored)
      return ctx.startTask(
        deleteImage,
        { extId: stored.extId, name: stored.name },
        {
          operation: 'kImageDelete',
          description: 'Delete image',
          affected: [{ extId: stored.extId, name: stored.name, rel }],
          clusterExtIds: stored.clusterLocationExtIds ?? [],
        },
      )
    },

    async importImage(ctx, { body }) {
      await requireRoomForImages(ctx, body.imagesExtIds.length)
      return startImport(ctx, body)
    },

    async getFileByImageId(ctx, { headers }) {
      const { extId: imageExtId, name, sizeBytes = 0 } = ctx.target
      const file = { imageExtId, clusterExtId: holderOf(ctx, ctx.target) }
      const { sha256 } = await ctx.drivers.contentSource.digests(file)
      const read = (part: ByteRange) => ctx.drivers.contentSource.read(file, part)
      return fileAnswer({ name, sizeBytes, sha256, range: headers.range, read })
    },
  },
  {
    rules: {
      createImage: ({ body }) => [...nameFaults(body), ...sourceFaults(body)],
      updateImageById: ({ body }) => nameFaults(body),
    },
    present: [[Image, withPlacementStatus]],
    tasks: [createImage, deleteImage, importImages, updateImage],
    limits: [maximumImages],
    invariants: [{ promise: 'Images of one URL have one digest', look: urlsHaveOneDigest }],
  },
)

function sourceFaults({ source, checksum }: Body): ApiError[] {
  if (source === undefined) return [fault('source', 'one of VmDiskSource, UrlSource and ObjectsLiteSource', undefined)]
  if (source.$objectType !== diskSourceType || checksum === undefined) return keyFaults(source)
  return [fault('checksum', 'none: the content of a disk that is in use has no digest beforehand', checksum)]
}

/** The disk that a new image copies. @throws ApiError 404 also when the caller may not refer to its VM */
async function sourceDisk(ctx: WriteContext, diskExtId: string): Promise<{ clusterExtId: string | undefined }> {
  const found = await findDisk(ctx.store, diskExtId)
  if (found === undefined || !(await mayRefer(ctx, Vm, found.vm))) throw diskNotFound(diskExtId)
  if (fileOf(found.disk) === undefined) throw fault('source/extId', 'a disk of its own, not a volume group', diskExtId)
  return { clusterExtId: found.vm.cluster?.extId }
}

/** The named clusters; else one chosen by placement policies, that of the disk, or the roomiest one that the caller may name. */
async function locationsOf(ctx: WriteContext, body: Body, diskCluster: string | undefined): Promise<string[]> {
  const named = distinct(body.clusterLocationExtIds ?? [])
  if (named.length > 0) {
    await requireLocations(ctx, named)
    return named
  }
  const { wanted } = placementOf(await activePolicies(ctx.store), body.categoryExtIds)
  const placed = wanted.length === 0 ? undefined : await roomiestCluster(ctx, wanted)
  const chosen = placed ?? diskCluster ?? (await roomiestCluster(ctx, await nameableClusters(ctx)))
  if (chosen === undefined) throw fault('clusterLocationExtIds', 'a cluster: no native one is there', undefined)
  await requireClusterReachable(ctx, chosen)
  return [chosen]
}

async function nameableClusters(ctx: WriteContext): Promise<string[]> {
  const extIds: string[] = []
  for (const cluster of await ctx.store.find(Cluster))
    if (await mayRefer(ctx, Cluster, cluster)) extIds.push(cluster.extId)
  return extIds
}

/** Source: behaviour vmm.md 3.8 (invariant 8). */
async function* urlsHaveOneDigest(store: Reader): AsyncGenerator<Broken> {
  const digests = new Map<string, string>()
  for await (const { extId, name, source, checksum } of rowsOf(store, Image)) {
    const { url } = (source ?? {}) as { url?: string }
    const { $objectType, hexDigest } = (checksum ?? {}) as { $objectType?: string; hexDigest?: string }
    if (url === undefined || hexDigest === undefined) continue
    const key = `${$objectType} ${url}`
    const first = digests.get(key) ?? hexDigest.toLowerCase()
    digests.set(key, first)
    if (first !== hexDigest.toLowerCase())
      yield { about: [extId], fault: `the image "${name}" has another digest than an image of the same URL` }
  }
}

/** Compared here, because the pipeline would compare secrets and defaults too. */
function otherSourceFaults(stored: ImageEntity, { source }: Body): ApiError[] {
  const { basicAuth: _, ...given } = { shouldAllowInsecureUrl: false, ...(source as { basicAuth?: unknown }) }
  const { basicAuth: __, ...before } = { shouldAllowInsecureUrl: false, ...(stored.source as { basicAuth?: unknown }) }
  if (source === undefined || canonicalJson(given) === canonicalJson(before)) return []
  return [fault('source', 'what it was made from, or nothing', sourceText(source))]
}

const sourceText = (source: NonNullable<Body['source']>): unknown =>
  (source as { url?: string }).url ?? (source as { extId?: string }).extId ?? (source as { key?: string }).key

/** The encrypted password stays in the row: inputs of tasks contain no source. */
function withoutSecrets(image: ImageEntity): ImageEntity {
  const { source: _, ...rest } = image
  return rest as ImageEntity
}
