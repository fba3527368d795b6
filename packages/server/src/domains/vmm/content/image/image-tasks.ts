/** Tasks that create, update and delete images. Source: behaviour vmm.md 1.8, 1.16, 3.6. */
import type { EntityOf } from '@hyperplane/contract'
import { Image } from '@hyperplane/contract/vmm/content/image'
import { ApiError } from '../../../../core/api-error.ts'
import { notFound, rowWithId } from '../../../../core/standard.ts'
import type { ContentOrigin, Digest, ImageFile, Transfer } from '../../../../drivers/content-source.ts'
import type { ContentVersion } from '../../../../drivers/content-store.ts'
import type { Reader } from '../../../../store/store.ts'
import { DriverError, defineTask, type StepContext } from '../../../context.ts'
import { fileOf } from '../../../virtual-machines/entity.ts'
import { findDisk } from '../../vm/create/disk-sources.ts'
import { holderOf } from '../locations.ts'
import { objectOf, pathOf, reading } from '../object-source.ts'
import { transferTo } from '../rate-limits.ts'
import { accessOf } from '../url-source.ts'
import { requireImageRoom, requireRoomForImages } from './image-space.ts'

type ImageEntity = EntityOf<typeof Image>

const namedUsers = 10
const transferFrom = 10
const transferUntil = 85

export const createImage = defineTask<{ readonly extId: string }>({
  name: 'vmm.create-image',
  cancelableUntil: 'store',
  steps: [
    {
      name: 'resolve source',
      progress: 5,
      run: async (ctx, { extId }) => {
        const image = await pendingImage(ctx, extId)
        const origin = await originOf(ctx, image)
        return available(image, () => reading(ctx, origin, () => ctx.drivers.contentSource.look(origin, ctx.stopping)))
      },
      record: async (ctx, { extId }, { sizeBytes }) => {
        await ctx.store.observe(Image, extId, { sizeBytes })
      },
      // No undo: `onUndone` removes the pending row.
    },
    {
      name: 'reserve bytes',
      progress: transferFrom,
      // Reserves nothing: the free space is checked again when the image is stored.
      record: async (ctx, { extId }) => {
        const { sizeBytes = 0, clusterLocationExtIds = [] } = (await ctx.store.pending(Image, extId)) as ImageEntity
        await requireImageRoom(ctx, clusterLocationExtIds, sizeBytes)
      },
    },
    {
      name: 'transfer',
      progress: transferUntil,
      run: async (ctx, { extId }) => {
        const image = await pendingImage(ctx, extId)
        const { version } = ctx.outputs['resolve source'] as Partial<ContentVersion>
        const origin = { ...(await originOf(ctx, image)), ...(version === undefined ? {} : { version }) }
        const [first, ...others] = filesOf(image) as [ImageFile, ...ImageFile[]]
        await available(image, () =>
          reading(ctx, origin, () => ctx.drivers.contentSource.fetch(first, origin, transferOf(ctx, first))),
        )
        for (const file of others) await ctx.drivers.contentSource.copy(first, file, transferTo(ctx, file.clusterExtId))
      },
      undo: async (ctx, { extId }) => {
        for (const file of filesOf(await pendingImage(ctx, extId))) await ctx.drivers.contentSource.remove(file)
      },
    },
    {
      name: 'verify checksum',
      progress: 90,
      run: async (ctx, { extId }) => {
        const image = await pendingImage(ctx, extId)
        const file = filesOf(image)[0] as ImageFile
        if (image.checksum === undefined) return
        const expected = digestOf(image.checksum)
        const found = await ctx.drivers.contentSource.verify(file, expected)
        if (found !== undefined) throw new ApiError('CHECKSUM_MISMATCH', { expected: expected.hex, found })
      },
      // No undo: the rollback of `transfer` deletes the files.
    },
    {
      name: 'store',
      record: async (ctx, { extId }) => {
        const image = (await ctx.store.pending(Image, extId)) as ImageEntity
        await requireRoomForImages(ctx, 1)
        await requireImageRoom(ctx, image.clusterLocationExtIds ?? [], image.sizeBytes ?? 0)
        await ctx.store.observe(Image, extId, { lastUpdateTime: ctx.clock.iso() })
        await ctx.store.publish(Image, extId)
      },
    },
  ],
  onUndone: (ctx, { extId }) => ctx.store.remove(Image, extId),
})

interface Update {
  readonly image: ImageEntity
  /** The request changes no location: the image stays where placement policies have put it since. */
  readonly keepsLocations: boolean
}

export const updateImage = defineTask<Update>({
  name: 'vmm.update-image',
  // Once the new locations are stored, the copies on other clusters can only be deleted.
  pointOfNoReturn: 'remove copies',
  steps: [
    {
      name: 'add copies',
      progress: 60,
      run: async (ctx, { image, keepsLocations }) => {
        const stored = await storedImage(ctx, image.extId)
        const before = stored.clusterLocationExtIds ?? []
        const after = keepsLocations ? before : (image.clusterLocationExtIds ?? [])
        const added = after.filter((extId) => !before.includes(extId))
        await requireImageRoom(ctx, added, stored.sizeBytes ?? 0)
        for (const clusterExtId of added) {
          const from = { imageExtId: image.extId, clusterExtId: holderOf(ctx, stored) }
          const to = { imageExtId: image.extId, clusterExtId }
          await ctx.drivers.contentSource.copy(from, to, transferTo(ctx, clusterExtId))
        }
        return { added, removed: before.filter((extId) => !after.includes(extId)) }
      },
      undo: async (ctx, { image, keepsLocations }) => {
        if (keepsLocations) return
        const before = (await ctx.store.get(Image, image.extId))?.clusterLocationExtIds ?? []
        for (const clusterExtId of image.clusterLocationExtIds ?? []) {
          if (!before.includes(clusterExtId))
            await ctx.drivers.contentSource.remove({ imageExtId: image.extId, clusterExtId })
        }
      },
    },
    {
      name: 'store',
      progress: 90,
      record: async (ctx, { image, keepsLocations }) => {
        const stored = await rowWithId(ctx.store, Image, image.extId)
        await requireImageRoom(ctx, copiesIn(ctx).added, stored.sizeBytes ?? 0)
        const { source, clusterLocationExtIds = [] } = stored
        await ctx.store.replace(Image, {
          ...image,
          ...(keepsLocations ? { clusterLocationExtIds } : {}),
          ...(source === undefined ? {} : { source }),
          lastUpdateTime: ctx.clock.iso(),
        })
      },
    },
    {
      name: 'remove copies',
      run: async (ctx, { image }) => {
        for (const clusterExtId of copiesIn(ctx).removed) {
          await ctx.drivers.contentSource.remove({ imageExtId: image.extId, clusterExtId })
        }
      },
    },
  ],
})

const copiesIn = (ctx: Pick<StepContext, 'outputs'>) =>
  ctx.outputs['add copies'] as { readonly added: readonly string[]; readonly removed: readonly string[] }

interface Removal {
  readonly extId: string
  readonly name: string
}

export const deleteImage = defineTask<Removal>({
  name: 'vmm.delete-image',
  pointOfNoReturn: 'remove files',
  steps: [
    {
      name: 'recheck',
      progress: 5,
      record: async (ctx, { extId }) => requireUnread(ctx.store, await storedImage(ctx, extId)),
      // No undo: the step only reads.
    },
    {
      name: 'remove files',
      progress: 90,
      // Disks created from the image keep their content.
      run: async (ctx, { extId }) => {
        const image = await ctx.store.get(Image, extId)
        if (image !== undefined) for (const file of filesOf(image)) await ctx.drivers.contentSource.remove(file)
      },
    },
    { name: 'remove row', record: (ctx, { extId }) => ctx.store.remove(Image, extId) },
  ],
})

/** @throws ApiError VMM_ENTITY_IN_USE while a VM is being created from the image */
export async function requireUnread(store: Reader, { extId, name }: ImageEntity): Promise<void> {
  const users = await store.referrers(Image.kind, extId, namedUsers)
  if (users.length === 0) return
  const ids = users.map((user) => user.extId).join(', ')
  throw new ApiError('VMM_ENTITY_IN_USE', { kind: 'image', name, users: `VMs that are being made from it: ${ids}` })
}

const pendingImage = async (ctx: StepContext, extId: string): Promise<ImageEntity> =>
  (await ctx.store.pending(Image, extId)) as ImageEntity

/** @throws ApiError 404 when an earlier task in the queue deleted the image */
async function storedImage(ctx: { readonly store: Reader }, extId: string): Promise<ImageEntity> {
  return rowWithId(ctx.store, Image, extId)
}

const filesOf = (image: ImageEntity): ImageFile[] =>
  (image.clusterLocationExtIds ?? []).map((clusterExtId) => ({ imageExtId: image.extId, clusterExtId }))

async function originOf(ctx: StepContext, image: ImageEntity): Promise<ContentOrigin> {
  const access = accessOf(ctx.secrets, Image.kind, image)
  if (access !== undefined) return { kind: 'url', type: image.type, ...access }
  const object = objectOf(Image.kind, image.source)
  if (object !== undefined) return object
  const diskExtId = (image.source as { extId: string }).extId
  const found = await findDisk(ctx.store, diskExtId)
  const sizeBytes = found === undefined ? undefined : fileOf(found.disk)?.diskSizeBytes
  if (sizeBytes === undefined) throw diskNotFound(diskExtId)
  return { kind: 'disk', diskExtId, sizeBytes }
}

export const diskNotFound = (extId: string): ApiError => notFound({ ...Image, title: 'disk' }, extId, 'source/extId')

/** A source that cannot be read is SOURCE_UNAVAILABLE, because the client chose it; retryable errors stay. */
async function available<T>(image: ImageEntity, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof DriverError) || error.retryable) throw error
    throw unavailable(image, error.message, error)
  }
}

export function unavailable(
  { name, source }: Pick<ImageEntity, 'name' | 'source'>,
  why: string,
  cause?: Error,
): ApiError {
  const object = objectOf(Image.kind, source)
  const { url, extId } = source as { url?: string; extId?: string }
  const from = object === undefined ? (url ?? extId ?? '') : pathOf(object)
  const values = { action: `Creating the image "${name}"`, source: from, cause: why }
  return new ApiError('SOURCE_UNAVAILABLE', values, { cause })
}

const transferOf = (ctx: StepContext, { clusterExtId }: ImageFile): Transfer =>
  transferTo(ctx, clusterExtId, (share) =>
    ctx.progress(Math.floor(transferFrom + (transferUntil - transferFrom) * share)),
  )

function digestOf(checksum: NonNullable<ImageEntity['checksum']>): Digest {
  const hex = checksum.hexDigest.toLowerCase()
  return { algorithm: hex.length === 40 ? 'sha1' : 'sha256', hex }
}
