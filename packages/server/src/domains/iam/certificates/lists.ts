/** Downloads revocation lists: complete, current, and signed by the provider's chain. Source: behaviour iam.md 5. */
import type { ApiError } from '../../../core/api-error.ts'
import { DerFault } from '../../../core/der.ts'
import { formatTime } from '../../../core/time/clock.ts'
import { type Web, WebError } from '../../../drivers/web.ts'
import { trustFault } from './ca-chain.ts'
import type { Certificate } from './certificate.ts'
import {
  checkEntries,
  listFault,
  maximumListBytes,
  type RevocationList,
  readRevocationList,
} from './revocation-list.ts'

const timeoutMilliseconds = 5000
/** Clocks differ: a list may start this far in the future. */
const toleranceMilliseconds = 5 * 60_000

export type Fetched =
  | { readonly url: string; readonly list: RevocationList }
  | { readonly url: string; readonly unreachable: string }
  /** Permanent: the response is not a valid list, or the service must not call the URL. */
  | { readonly url: string; readonly fault: ApiError }

export interface FetchOptions {
  readonly web: Web
  readonly now: number
}

export const fetchLists = (
  urls: readonly string[],
  chain: readonly Certificate[],
  options: FetchOptions,
): Promise<readonly Fetched[]> => Promise.all(urls.map((url, index) => fetchList(url, index, chain, options)))

async function fetchList(
  url: string,
  index: number,
  chain: readonly Certificate[],
  { web, now }: FetchOptions,
): Promise<Fetched> {
  const path = `certRevocationInfo/crlDps/${index}`
  try {
    const content = await web.fetch({ url, maximumBytes: maximumListBytes, timeoutMilliseconds })
    const list = readRevocationList(content)
    checkEntries(list)
    const fault = currentFault(list, chain, now)
    return fault === undefined
      ? { url, list }
      : { url, fault: trustFault(path, `the revocation list is refused: ${fault}.`) }
  } catch (cause) {
    if (cause instanceof DerFault)
      return {
        url,
        fault: trustFault(path, `expected a revocation list (CRL), found something else: ${cause.message}.`),
      }
    if (!(cause instanceof WebError)) throw cause
    if (cause.fault === 'address') return { url, fault: trustFault(path, `cannot be called: ${cause.message}.`) }
    return { url, unreachable: cause.message }
  }
}

function currentFault(list: RevocationList, chain: readonly Certificate[], now: number): string | undefined {
  const faults = chain.map((authority) => listFault(list, authority))
  if (faults.every((fault) => fault !== undefined))
    return (
      faults.find((_, index) => list.issuer.equals((chain[index] as Certificate).subject)) ??
      'it is of none of the authorities in the chain'
    )
  if (list.nextUpdate <= now) return `it has run out on ${formatTime(list.nextUpdate)} (nextUpdate)`
  if (list.thisUpdate > now + toleranceMilliseconds) return `it begins on ${formatTime(list.thisUpdate)}, in the future`
  return undefined
}
