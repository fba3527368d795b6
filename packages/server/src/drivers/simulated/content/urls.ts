/** URLs of simulated content, fixed at their first use. Facts: `content.urls` by URL, `content.faults` by host name. */
import { DriverError } from '../../../core/tasks/define-task.ts'
import type { Digest, Digests } from '../../content-source.ts'
import type { SimulatedWorld } from '../world.ts'
import type { Content } from './bytes.ts'

export interface UrlFact {
  readonly content: Content
  /** Digests that callers expected before any digest was returned; they define the content. */
  readonly given?: Digests
  /** Simulated digests were returned and must not change any more. */
  readonly isTold?: true
}

/** `status` of the server's answers; none: the server is unreachable. */
export interface ServerFault {
  readonly status?: number
}

const bytesPerSecond = 1e9
const reports = 10

const unreachableLabels = /(?:invalid|unreachable|does-not-exist)/

export const gone = (cause: string): DriverError => new DriverError(cause, { retryable: false })

export function createUrls(world: SimulatedWorld) {
  const urls = world.collection<UrlFact>('content.urls')
  const faults = world.collection<ServerFault>('content.faults')

  const canReach = (url: string): boolean => {
    const host = hostOf(url)
    const fault = faults.get(host)
    return !isUnreachable(host) && (fault === undefined || fault.status !== undefined)
  }
  return {
    canReach,
    /** @throws DriverError, final, when the server does not answer with content */
    async contentAt(url: string, first: () => Content): Promise<Content> {
      const fault = faults.get(hostOf(url))
      if (fault?.status !== undefined) throw gone(`the server answers ${fault.status}`)
      if (!canReach(url)) throw gone('the server cannot be reached')
      const known = urls.get(url)
      if (known !== undefined) return known.content
      const content = first()
      await urls.put(url, { content })
      return content
    },
    /** Digests that callers gave; undefined: none did, and the content keeps its own from now on. */
    async givenDigests(url: string | undefined): Promise<Digests | undefined> {
      const fact = url === undefined ? undefined : urls.get(url)
      if (fact?.given !== undefined) return fact.given
      if (fact !== undefined && fact.isTold !== true) await urls.put(url as string, { ...fact, isTold: true })
      return undefined
    },
    /** @param own digest of the content. @returns the actual digest if it differs */
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

export const transferOf =
  (world: SimulatedWorld, durations: 'instant' | 'natural') =>
  async (bytes: number, report: (share: number) => Promise<void>): Promise<void> => {
    if (durations === 'instant') return
    for (let part = 1; part <= reports; part++) {
      await world.clock.sleep((1000 * bytes) / bytesPerSecond / reports)
      await report(part / reports)
    }
  }

/** For URLs that `URL` does not parse, such as `nfs://host/path` and `host:port/path`. */
const hostOf = (url: string): string =>
  url
    .replace(/^(?:\w+:)?\/{0,2}/, '')
    .split(/[/:]/, 1)[0]!
    .toLowerCase()

const isUnreachable = (host: string): boolean => host.split('.').some((label) => unreachableLabels.test(label))

const isOneCharacter = ({ hex }: Digest): boolean => new Set(hex).size === 1
