/**
 * Simulated content, fixed at the first use of a URL. Facts: `content.urls` by URL, `content.files` by
 * `<image>/<cluster>`, `content.faults` by host name. Source: behaviour vmm.md 3.6.
 */
import { drawsFrom } from '../../core/ids/draws.ts'
import { DriverError } from '../../core/tasks/define-task.ts'
import type { ContentOrigin, ContentSource, Digest, Digests, ImageFile } from '../content-source.ts'
import { bytesOf, type Content, digestsOf, knownSizes } from './content/bytes.ts'
import type { SimulatedWorld } from './world.ts'

export interface UrlFact {
  readonly content: Content
  /** Digests that callers expected before any digest was returned; they define the content. */
  readonly given?: Digests
  /** Simulated digests were returned and must not change any more. */
  readonly isTold?: true
}

export interface FileFact {
  readonly content: Content
  readonly url?: string
}

/** `status` of the server's answers; none: the server is unreachable. */
export interface ServerFault {
  readonly status?: number
}

const MiB = 1024 ** 2
const bytesPerSecond = 1e9
const reports = 10

/** In MiB. */
const sizes = { ISO_IMAGE: [40, 2048], DISK_IMAGE: [512, 20_480] } as const

const unreachableLabels = /(?:invalid|unreachable|does-not-exist)/

export const fileKey = ({ imageExtId, clusterExtId }: ImageFile): string => `${imageExtId}/${clusterExtId}`

export function createContentSource(
  world: SimulatedWorld,
  settings: { readonly durations: 'instant' | 'natural' },
): ContentSource {
  const urls = world.collection<UrlFact>('content.urls')
  const files = world.collection<FileFact>('content.files')
  const faults = world.collection<ServerFault>('content.faults')

  const contentAt = async (url: string, type: 'DISK_IMAGE' | 'ISO_IMAGE'): Promise<Content> => {
    const host = hostOf(url)
    const fault = faults.get(host)
    if (fault?.status !== undefined) throw gone(`the server answers ${fault.status}`)
    if (fault !== undefined || isUnreachable(host)) throw gone('the server cannot be reached')
    const known = urls.get(url)
    if (known !== undefined) return known.content
    const content = { seed: url, sizeBytes: sizeOf(url, type) * MiB }
    await urls.put(url, { content })
    return content
  }
  const contentOf = async (origin: ContentOrigin): Promise<Content> =>
    origin.kind === 'url'
      ? contentAt(origin.url, origin.type)
      : { seed: `disk/${origin.diskExtId}/${world.clock.now()}`, sizeBytes: origin.sizeBytes }
  const known = (file: ImageFile): FileFact => {
    const fact = files.get(fileKey(file))
    if (fact === undefined) throw gone('the cluster does not hold the image')
    return fact
  }
  const transfer = async (bytes: number, report: (share: number) => Promise<void>): Promise<void> => {
    if (settings.durations === 'instant') return
    for (let part = 1; part <= reports; part++) {
      await world.clock.sleep((1000 * bytes) / bytesPerSecond / reports)
      await report(part / reports)
    }
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
      const fact = url === undefined ? undefined : urls.get(url)
      // A caller's digest defines the content; a simulated digest would contradict it.
      if (fact?.given !== undefined) return {}
      if (fact !== undefined && fact.isTold !== true) await urls.put(url as string, { ...fact, isTold: true })
      return digestsOf(content)
    },
    async verify(file, expected) {
      const { content, url } = known(file)
      const own = digestsOf(content)[expected.algorithm]
      if (own === expected.hex) return undefined
      const fact = url === undefined ? undefined : urls.get(url)
      const given = fact?.given?.[expected.algorithm]
      if (given === expected.hex) return undefined
      const isFirst = fact !== undefined && given === undefined && fact.isTold !== true
      if (!isFirst || isOneCharacter(expected)) return given ?? own ?? 'none'
      await urls.put(url as string, { ...fact, given: { ...fact.given, [expected.algorithm]: expected.hex } })
      return undefined
    },
    read: (file) => bytesOf(known(file).content),
    remove: (file) => files.remove(fileKey(file)),
  }
}

const gone = (cause: string): DriverError => new DriverError(cause, { retryable: false })

export const isServerAway = (world: SimulatedWorld, host: string): boolean =>
  isUnreachable(host) || world.collection<ServerFault>('content.faults').get(host) !== undefined

/** For URLs that `URL` does not parse, such as `nfs://host/path` and `host:port/path`. */
const hostOf = (url: string): string =>
  url
    .replace(/^(?:\w+:)?\/{0,2}/, '')
    .split(/[/:]/, 1)[0]!
    .toLowerCase()

const isUnreachable = (host: string): boolean => host.split('.').some((label) => unreachableLabels.test(label))

const isOneCharacter = ({ hex }: Digest): boolean => new Set(hex).size === 1

function sizeOf(url: string, type: 'DISK_IMAGE' | 'ISO_IMAGE'): number {
  const path = url.toLowerCase()
  const seen = path.endsWith('.iso') ? 'ISO_IMAGE' : /\.(?:qcow2|img|raw|vmdk|vhdx?)$/.test(path) ? 'DISK_IMAGE' : type
  const [least, most] = sizes[seen]
  const fitting = knownSizes.filter((size) => size >= least && size <= most)
  return fitting[Math.floor(drawsFrom(`content/${url}`)() * fitting.length)] as number
}
