/**
 * URLs of simulated content, fixed at their first use, and their servers: `content.urls` by URL, `content.faults` by host name.
 * Source: behaviour vmm.md 3.6.
 */
import { DriverError } from '../../../core/tasks/define-task.ts'
import type { Digest, Digests, Transfer, UrlAccess } from '../../content-source.ts'
import type { SimulatedWorld } from '../world.ts'
import type { Content } from './bytes.ts'

export interface UrlFact {
  readonly content: Content
  /** Callers expected these before any digest was returned; they define the content. */
  readonly given?: Digests
  /** Simulated digests were returned and must not change any more. */
  readonly isTold?: true
}

/** `corrupt`: changed bytes. `cut`: breaks off halfway. `login`: refuses only `wrong`. `slow`: 1 MB/s. `untrusted`: bad certificate. */
export interface ServerFault {
  readonly kind: 'corrupt' | 'cut' | 'down' | 'login' | 'slow' | 'status' | 'untrusted'
  readonly status?: number
}

const bytesPerSecond = 1e9
export const slowBytesPerSecond = 1e6
/** Limit between two readings of the rate limit. */
const secondsAtOnce = 5
const reports = 10

const unreachableLabels = /(?:invalid|unreachable|does-not-exist)/

export const unavailable = (cause: string): DriverError => DriverError.final(cause)

export function createUrls(world: SimulatedWorld, move: Move) {
  const urls = world.collection<UrlFact>('content.urls')
  const faults = world.collection<ServerFault>('content.faults')
  const isAway = (host: string): boolean => faults.get(host)?.kind === 'down' || isUnreachable(host)

  return {
    canReach: (url: string): boolean => !isAway(hostOf(url)),
    /** @throws DriverError, final, when the server does not answer with content */
    async contentAt(access: UrlAccess, first: () => Content): Promise<Content> {
      const { url } = access
      const host = hostOf(url)
      const fault = faults.get(host)
      refuseAccess(access, fault)
      if (fault?.kind === 'status') throw unavailable(`the server answers ${fault.status}`)
      if (isAway(host)) throw unavailable('the server cannot be reached')
      const stored = urls.get(url)
      if (stored !== undefined) return stored.content
      const content = first()
      await urls.put(url, { content })
      return content
    },
    /** @throws DriverError, final, when the connection breaks off */
    async receive(url: string, sizeBytes: number, transfer: Transfer): Promise<'corrupt' | 'whole'> {
      const fault = faults.get(hostOf(url))?.kind
      if (fault === 'cut') {
        const received = Math.floor(sizeBytes / 2)
        await move(received, transfer)
        throw unavailable(`the connection broke off after ${received} of ${sizeBytes} bytes`)
      }
      await move(sizeBytes, fault === 'slow' ? slowed(transfer) : transfer)
      return fault === 'corrupt' ? 'corrupt' : 'whole'
    },
    /** Undefined: callers gave none, and the content keeps its own digests from now on. */
    async givenDigests(url: string | undefined): Promise<Digests | undefined> {
      const fact = url === undefined ? undefined : urls.get(url)
      if (fact?.given !== undefined) return fact.given
      if (fact !== undefined && fact.isTold !== true) await urls.put(url as string, { ...fact, isTold: true })
      return undefined
    },
    /** @returns the actual digest if it differs from the expected one */
    async verify(url: string | undefined, own: string | undefined, expected: Digest): Promise<string | undefined> {
      if (own === expected.hex) return undefined
      const fact = url === undefined ? undefined : urls.get(url)
      const given = fact?.given?.[expected.algorithm]
      if (given === expected.hex) return undefined
      const isFirst = fact !== undefined && given === undefined && fact.isTold !== true
      if (!isFirst || isOneCharacter(expected)) return given ?? own ?? 'none'
      await urls.put(url as string, { ...fact, given: { ...fact.given, [expected.algorithm]: expected.hex } })
      return undefined
    },
  }
}

/** @throws DriverError, final, when the server asks for a login, or cannot prove who it is */
function refuseAccess({ url, credential, allowsUntrusted }: UrlAccess, fault: ServerFault | undefined): void {
  if (fault?.kind === 'login' && (credential === undefined || credential.password === 'wrong'))
    throw unavailable(
      `the server answers 401: ${credential === undefined ? 'it requires a login (basicAuth)' : `it refuses the login of ${credential.username}`}`,
    )
  if (fault?.kind === 'untrusted' && !allowsUntrusted && /^https:/i.test(url))
    throw unavailable('the certificate of the server cannot be verified (shouldAllowInsecureUrl)')
}

export type Move = (bytes: number, transfer: Transfer) => Promise<void>

export function moving({ clock }: SimulatedWorld, durations: 'instant' | 'natural', what: string): Move {
  const fastest = durations === 'instant' ? Number.POSITIVE_INFINITY : bytesPerSecond
  return async (bytes, transfer) => {
    for (let left = bytes; left > 0; ) {
      const rate = Math.min(fastest, (await transfer.bytesPerSecond()) ?? Number.POSITIVE_INFINITY)
      if (rate === Number.POSITIVE_INFINITY) return
      const part = Math.min(left, Math.ceil(bytes / reports), Math.ceil(rate * secondsAtOnce))
      await clock.sleep((1000 * part) / rate, transfer.stopping, what)
      left -= part
      await transfer.report((bytes - left) / bytes)
    }
  }
}

const slowed = (transfer: Transfer): Transfer => ({
  stopping: transfer.stopping,
  bytesPerSecond: async () => Math.min(slowBytesPerSecond, (await transfer.bytesPerSecond()) ?? slowBytesPerSecond),
  report: (share) => transfer.report(share),
})

/** `away`: disks cannot read their content from there. */
export type ServerState = 'away' | 'slow' | 'well'

export function serverState(world: SimulatedWorld, host: string): ServerState {
  const kind = world.collection<ServerFault>('content.faults').get(host)?.kind
  if (kind === 'slow' && !isUnreachable(host)) return 'slow'
  const isWell = kind === undefined || kind === 'corrupt' || kind === 'slow'
  return isUnreachable(host) || !isWell ? 'away' : 'well'
}

/** For URLs that `URL` does not parse, such as `nfs://host/path` and `host:port/path`. */
const hostOf = (url: string): string =>
  url
    .replace(/^(?:\w+:)?\/{0,2}/, '')
    .split(/[/:]/, 1)[0]!
    .toLowerCase()

const isUnreachable = (host: string): boolean => host.split('.').some((label) => unreachableLabels.test(label))

const isOneCharacter = ({ hex }: Digest): boolean => new Set(hex).size === 1
