/** Simulated content of images: `content.files` by `<image>/<cluster>`; that of URLs is in `content/urls.ts`. Source: vmm.md 3.6. */
import { defined } from '../../core/defined.ts'
import { drawsFrom } from '../../core/ids/draws.ts'
import type { ContentOrigin, ContentSource, Digests, ImageFile, ObjectOrigin } from '../content-source.ts'
import type { ContentStore } from '../content-store.ts'
import { bytesOf, type Content, digestsOf, knownSizes } from './content/bytes.ts'
import { createObjectFiles } from './content/object-files.ts'
import { createUrls, type Move, moving, unavailable } from './content/urls.ts'
import type { Collection, SimulatedWorld } from './world.ts'

export interface FileFact {
  readonly content: Content
  readonly url?: string
  /** Present: the bytes are in a file, and `content` has their number only. */
  readonly own?: Required<Digests>
  /** For an image that was made without this manager. */
  readonly record?: { readonly name: string; readonly type: 'DISK_IMAGE' | 'ISO_IMAGE' }
  /** This manager has adopted the image of the record. */
  readonly isAdopted?: true
}

const MiB = 1024 ** 2

/** In MiB. */
const sizes = { ISO_IMAGE: [40, 2048], DISK_IMAGE: [512, 20_480] } as const

export const fileKey = ({ imageExtId, clusterExtId }: ImageFile): string => `${imageExtId}/${clusterExtId}`

export interface ContentSettings {
  readonly durations: 'instant' | 'natural'
  readonly folder: string
  readonly contentStore?: ContentStore | undefined
}

export function createContentSource(world: SimulatedWorld, settings: ContentSettings): ContentSource {
  const move = moving(world, settings.durations, 'transfer of an image')
  const urls = createUrls(world, move)
  const files = world.collection<FileFact>('content.files')
  const { folder, contentStore } = settings
  const objectFiles = createObjectFiles({ store: contentStore, folder, move })

  const contentOf = async (origin: Exclude<ContentOrigin, ObjectOrigin>): Promise<Content> =>
    origin.kind === 'url'
      ? urls.contentAt(origin, () => ({ seed: origin.url, sizeBytes: sizeOf(origin.url, origin.type) * MiB }))
      : { seed: `disk/${origin.diskExtId}/${world.clock.now()}`, sizeBytes: origin.sizeBytes }
  const fileFactOf = (file: ImageFile): FileFact => {
    const fact = files.get(fileKey(file))
    if (fact === undefined) throw absent()
    return fact
  }

  return {
    readsObjects: contentStore !== undefined,
    async look(origin, stopping) {
      if (origin.kind === 'object') return objectFiles.look(origin, stopping)
      return { sizeBytes: (await contentOf(origin)).sizeBytes }
    },
    async fetch(file, origin, transfer) {
      if (files.get(fileKey(file)) !== undefined) return
      if (origin.kind === 'object') {
        const { sizeBytes, own } = await objectFiles.fetch(fileKey(file), origin, transfer)
        await files.put(fileKey(file), { content: { seed: '', sizeBytes }, own })
        return
      }
      const content = await contentOf(origin)
      if (origin.kind === 'disk') {
        await move(content.sizeBytes, transfer)
        await files.put(fileKey(file), { content })
        return
      }
      const received = await urls.receive(origin.url, content.sizeBytes, transfer)
      // Without its URL the file has the digest of its own bytes.
      if (received === 'corrupt')
        await files.put(fileKey(file), { content: { ...content, seed: `corrupt ${content.seed}` } })
      else await files.put(fileKey(file), { content, url: origin.url })
    },
    async copy(from, to, transfer) {
      if (files.get(fileKey(to)) !== undefined) return
      const { content, url, own } = fileFactOf(from)
      await move(content.sizeBytes, transfer)
      if (own !== undefined) await objectFiles.copy(fileKey(from), fileKey(to))
      await files.put(fileKey(to), { content, ...defined({ url, own }) })
    },
    ...adoptions(files, move),
    async digests(file) {
      const { content, url, own } = fileFactOf(file)
      if (own !== undefined) {
        await objectFiles.require(fileKey(file))
        return own
      }
      // A caller's digest defines the content; a simulated digest would contradict it.
      return (await urls.givenDigests(url)) === undefined ? digestsOf(content) : {}
    },
    async verify(file, expected) {
      const { content, url, own } = fileFactOf(file)
      return urls.verify(url, (own ?? digestsOf(content))[expected.algorithm], expected)
    },
    read(file, part) {
      const { content, own } = fileFactOf(file)
      return own === undefined ? bytesOf(content, part) : objectFiles.read(fileKey(file), part)
    },
    async remove(file) {
      await objectFiles.remove(fileKey(file))
      await files.remove(fileKey(file))
    },
  }
}

const adoptions = (
  files: Collection<FileFact>,
  move: Move,
): Pick<ContentSource, 'adopt' | 'release' | 'unmanaged'> => ({
  unmanaged: (clusterExtId) =>
    [...files.all()].flatMap(([key, { content, record, isAdopted }]) => {
      const [extId, cluster] = key.split('/') as [string, string]
      if (cluster !== clusterExtId || record === undefined || isAdopted === true) return []
      return { extId, ...record, sizeBytes: content.sizeBytes }
    }),
  async adopt(file, transfer) {
    const fact = files.get(fileKey(file))
    if (fact === undefined) throw absent()
    if (fact.isAdopted === true) return
    await move(fact.content.sizeBytes, transfer)
    await files.put(fileKey(file), { ...fact, isAdopted: true })
  },
  async release(file) {
    const fact = files.get(fileKey(file))
    if (fact?.isAdopted !== true) return
    const { isAdopted: _, ...released } = fact
    await files.put(fileKey(file), released)
  },
})

const absent = () => unavailable('the cluster does not hold the image')

function sizeOf(url: string, type: 'DISK_IMAGE' | 'ISO_IMAGE'): number {
  const path = url.toLowerCase()
  const seen = path.endsWith('.iso') ? 'ISO_IMAGE' : /\.(?:qcow2|img|raw|vmdk|vhdx?)$/.test(path) ? 'DISK_IMAGE' : type
  const [least, most] = sizes[seen]
  const fitting = knownSizes.filter((size) => size >= least && size <= most)
  return fitting[Math.floor(drawsFrom(`content/${url}`)() * fitting.length)] as number
}
