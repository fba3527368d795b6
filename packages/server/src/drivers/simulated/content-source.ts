/**
 * Simulated content of images. Facts: `content.files` by `<image>/<cluster>`; those of URLs in `content/urls.ts`.
 * Source: behaviour vmm.md 3.6.
 */
import { drawsFrom } from '../../core/ids/draws.ts'
import type { ContentOrigin, ContentSource, ImageFile } from '../content-source.ts'
import { bytesOf, type Content, digestsOf, knownSizes } from './content/bytes.ts'
import { createUrls, gone, transferOf } from './content/urls.ts'
import type { SimulatedWorld } from './world.ts'

export interface FileFact {
  readonly content: Content
  readonly url?: string
}

const MiB = 1024 ** 2

/** In MiB. */
const sizes = { ISO_IMAGE: [40, 2048], DISK_IMAGE: [512, 20_480] } as const

export const fileKey = ({ imageExtId, clusterExtId }: ImageFile): string => `${imageExtId}/${clusterExtId}`

export function createContentSource(
  world: SimulatedWorld,
  settings: { readonly durations: 'instant' | 'natural' },
): ContentSource {
  const urls = createUrls(world)
  const files = world.collection<FileFact>('content.files')
  const transfer = transferOf(world, settings.durations)

  const contentOf = async (origin: ContentOrigin): Promise<Content> =>
    origin.kind === 'url'
      ? urls.contentAt(origin.url, () => ({ seed: origin.url, sizeBytes: sizeOf(origin.url, origin.type) * MiB }))
      : { seed: `disk/${origin.diskExtId}/${world.clock.now()}`, sizeBytes: origin.sizeBytes }
  const known = (file: ImageFile): FileFact => {
    const fact = files.get(fileKey(file))
    if (fact === undefined) throw gone('the cluster does not hold the image')
    return fact
  }

  return {
    async look(origin) {
      return { sizeBytes: (await contentOf(origin)).sizeBytes }
    },
    async fetch(file, origin, report) {
      if (files.get(fileKey(file)) !== undefined) return
      const content = await contentOf(origin)
      await transfer(content.sizeBytes, report)
      await files.put(fileKey(file), { content, ...(origin.kind === 'url' ? { url: origin.url } : {}) })
    },
    async copy(from, to) {
      if (files.get(fileKey(to)) !== undefined) return
      const fact = known(from)
      await transfer(fact.content.sizeBytes, async () => undefined)
      await files.put(fileKey(to), fact)
    },
    async digests(file) {
      const { content, url } = known(file)
      // A caller's digest defines the content; a simulated digest would contradict it.
      return (await urls.givenDigests(url)) === undefined ? digestsOf(content) : {}
    },
    async verify(file, expected) {
      const { content, url } = known(file)
      return urls.verify(url, digestsOf(content)[expected.algorithm], expected)
    },
    read: (file) => bytesOf(known(file).content),
    remove: (file) => files.remove(fileKey(file)),
  }
}

function sizeOf(url: string, type: 'DISK_IMAGE' | 'ISO_IMAGE'): number {
  const path = url.toLowerCase()
  const seen = path.endsWith('.iso') ? 'ISO_IMAGE' : /\.(?:qcow2|img|raw|vmdk|vhdx?)$/.test(path) ? 'DISK_IMAGE' : type
  const [least, most] = sizes[seen]
  const fitting = knownSizes.filter((size) => size >= least && size <= most)
  return fitting[Math.floor(drawsFrom(`content/${url}`)() * fitting.length)] as number
}
