/**
 * Simulated content of images. Facts: `content.files` by `<image>/<cluster>`; those of URLs in `content/urls.ts`.
 * Source: behaviour vmm.md 3.6.
 */
import { drawsFrom } from '../../core/ids/draws.ts'
import type { ContentOrigin, ContentSource, ImageFile } from '../content-source.ts'
import { bytesOf, type Content, digestsOf, knownSizes } from './content/bytes.ts'
import { createUrls, gone, type Move, moving } from './content/urls.ts'
import type { Collection, SimulatedWorld } from './world.ts'

export interface FileFact {
  readonly content: Content
  readonly url?: string
  /** What the cluster knows about an image that was made without this manager. */
  readonly record?: { readonly name: string; readonly type: 'DISK_IMAGE' | 'ISO_IMAGE' }
  /** The image with this record belongs to this manager. */
  readonly isAdopted?: true
}

const MiB = 1024 ** 2

/** In MiB. */
const sizes = { ISO_IMAGE: [40, 2048], DISK_IMAGE: [512, 20_480] } as const

export const fileKey = ({ imageExtId, clusterExtId }: ImageFile): string => `${imageExtId}/${clusterExtId}`

export function createContentSource(
  world: SimulatedWorld,
  settings: { readonly durations: 'instant' | 'natural' },
): ContentSource {
  const move = moving(world, settings.durations, 'transfer of an image')
  const urls = createUrls(world, move)
  const files = world.collection<FileFact>('content.files')

  const contentOf = async (origin: ContentOrigin): Promise<Content> =>
    origin.kind === 'url'
      ? urls.contentAt(origin, () => ({ seed: origin.url, sizeBytes: sizeOf(origin.url, origin.type) * MiB }))
      : { seed: `disk/${origin.diskExtId}/${world.clock.now()}`, sizeBytes: origin.sizeBytes }
  const known = (file: ImageFile): FileFact => {
    const fact = files.get(fileKey(file))
    if (fact === undefined) throw absent()
    return fact
  }

  return {
    async look(origin) {
      return { sizeBytes: (await contentOf(origin)).sizeBytes }
    },
    async fetch(file, origin, transfer) {
      if (files.get(fileKey(file)) !== undefined) return
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
      const { content, url } = known(from)
      await move(content.sizeBytes, transfer)
      await files.put(fileKey(to), { content, ...(url === undefined ? {} : { url }) })
    },
    ...adoptions(files, move),
    async digests(file) {
      const { content, url } = known(file)
      // A caller's digest defines the content; a simulated digest would contradict it.
      return (await urls.givenDigests(url)) === undefined ? digestsOf(content) : {}
    },
    async verify(file, expected) {
      const { content, url } = known(file)
      return urls.verify(url, digestsOf(content)[expected.algorithm], expected)
    },
    read: (file, part) => bytesOf(known(file).content, part),
    remove: (file) => files.remove(fileKey(file)),
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

const absent = () => gone('the cluster does not hold the image')

function sizeOf(url: string, type: 'DISK_IMAGE' | 'ISO_IMAGE'): number {
  const path = url.toLowerCase()
  const seen = path.endsWith('.iso') ? 'ISO_IMAGE' : /\.(?:qcow2|img|raw|vmdk|vhdx?)$/.test(path) ? 'DISK_IMAGE' : type
  const [least, most] = sizes[seen]
  const fitting = knownSizes.filter((size) => size >= least && size <= most)
  return fitting[Math.floor(drawsFrom(`content/${url}`)() * fitting.length)] as number
}
