/**
 * Simulated content, fixed at the first use of a URL. Facts: `content.urls` by URL, `content.files` by
 * `<image>/<cluster>`, `content.faults` by host name. Source: behaviour vmm.md 3.6.
 */
import { drawsFrom } from '../../core/ids/draws.ts'
import { DriverError } from '../../core/tasks/define-task.ts'
import type { ContentOrigin, ContentSource, Digest, Digests, ImageFile, Transfer } from '../content-source.ts'
import { bytesOf, type Content, digestsOf, knownSizes } from './content/bytes.ts'
import type { Collection, SimulatedWorld } from './world.ts'

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
  /** What the cluster knows about an image that was made without this manager. */
  readonly record?: { readonly name: string; readonly type: 'DISK_IMAGE' | 'ISO_IMAGE' }
  /** The image with this record belongs to this manager. */
  readonly isAdopted?: true
}

/** `corrupt`: other bytes than usual. `cut`: connections break off halfway. `slow`: 1 MB/s. */
export interface ServerFault {
  readonly kind: 'corrupt' | 'cut' | 'down' | 'slow' | 'status'
  readonly status?: number
}

const MiB = 1024 ** 2
const bytesPerSecond = 1e9
export const slowBytesPerSecond = 1e6
/** At most, between two readings of the rate limit. */
const secondsAtOnce = 5
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
    if (fault?.kind === 'status') throw gone(`the server answers ${fault.status}`)
    if (fault?.kind === 'down' || isUnreachable(host)) throw gone('the server cannot be reached')
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
    if (fact === undefined) throw absent()
    return fact
  }
  const move = transferring(world, settings.durations)

  return {
    async look(origin) {
      return { sizeBytes: (await contentOf(origin)).sizeBytes }
    },
    async fetch(file, origin, transfer) {
      if (files.get(fileKey(file)) !== undefined) return
      const content = await contentOf(origin)
      const fault = origin.kind === 'url' ? faults.get(hostOf(origin.url))?.kind : undefined
      if (fault === 'cut') {
        const received = Math.floor(content.sizeBytes / 2)
        await move(received, transfer)
        throw gone(`the connection broke off after ${received} of ${content.sizeBytes} bytes`)
      }
      await move(content.sizeBytes, fault === 'slow' ? slowed(transfer) : transfer)
      // Without its URL the file has the digest of its own bytes.
      if (fault === 'corrupt')
        await files.put(fileKey(file), { content: { ...content, seed: `corrupt ${content.seed}` } })
      else await files.put(fileKey(file), { content, ...(origin.kind === 'url' ? { url: origin.url } : {}) })
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
    read: (file, part) => bytesOf(known(file).content, part),
    remove: (file) => files.remove(fileKey(file)),
  }
}

type Files = Collection<FileFact>
const slowed = (transfer: Transfer): Transfer => ({
  stopping: transfer.stopping,
  bytesPerSecond: async () => Math.min(slowBytesPerSecond, (await transfer.bytesPerSecond()) ?? slowBytesPerSecond),
  report: (share) => transfer.report(share),
})

type Move = (bytes: number, transfer: Transfer) => Promise<void>

function transferring({ clock }: SimulatedWorld, durations: 'instant' | 'natural'): Move {
  const fastest = durations === 'instant' ? Number.POSITIVE_INFINITY : bytesPerSecond
  return async (bytes, transfer) => {
    for (let left = bytes; left > 0; ) {
      const rate = Math.min(fastest, (await transfer.bytesPerSecond()) ?? Number.POSITIVE_INFINITY)
      if (rate === Number.POSITIVE_INFINITY) return
      const part = Math.min(left, Math.ceil(bytes / reports), Math.ceil(rate * secondsAtOnce))
      await clock.sleep((1000 * part) / rate, transfer.stopping, 'transfer of an image')
      left -= part
      await transfer.report((bytes - left) / bytes)
    }
  }
}

const adoptions = (files: Files, move: Move): Pick<ContentSource, 'adopt' | 'release' | 'unmanaged'> => ({
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

const gone = (cause: string): DriverError => new DriverError(cause, { retryable: false })

/** `away`: no disk can read its content from there. */
export type ServerState = 'away' | 'slow' | 'well'

export function serverState(world: SimulatedWorld, host: string): ServerState {
  const kind = world.collection<ServerFault>('content.faults').get(host)?.kind
  if (kind === 'slow' && !isUnreachable(host)) return 'slow'
  return isUnreachable(host) || kind === 'cut' || kind === 'down' || kind === 'status' ? 'away' : 'well'
}

/** For URLs that `URL` does not parse, such as `nfs://host/path` and `host:port/path`. */
const hostOf = (url: string): string =>
  url
    .replace(/^(?:\w+:)?\/{0,2}/, '')
    .split(/[/:]/, 1)[0]!
    .toLowerCase()

const absent = (): DriverError => gone('the cluster does not hold the image')

const isUnreachable = (host: string): boolean => host.split('.').some((label) => unreachableLabels.test(label))

const isOneCharacter = ({ hex }: Digest): boolean => new Set(hex).size === 1

function sizeOf(url: string, type: 'DISK_IMAGE' | 'ISO_IMAGE'): number {
  const path = url.toLowerCase()
  const seen = path.endsWith('.iso') ? 'ISO_IMAGE' : /\.(?:qcow2|img|raw|vmdk|vhdx?)$/.test(path) ? 'DISK_IMAGE' : type
  const [least, most] = sizes[seen]
  const fitting = knownSizes.filter((size) => size >= least && size <= most)
  return fitting[Math.floor(drawsFrom(`content/${url}`)() * fitting.length)] as number
}
