/** Keeps the last valid revocation list of each URL, to survive an unreachable server. Source: behaviour iam.md 5. */

import type { EntityOf } from '@hyperplane/contract'
import { CertAuthProvider } from '@hyperplane/contract/iam/cert-auth-provider'
import { pathOf } from '../../../core/standard.ts'
import { parseTime } from '../../../core/time/clock.ts'
import type { World } from '../../../core/world.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import { equals } from '../../../odata/index.ts'
import type { Reader, Transaction } from '../../../store/store.ts'
import type { ScheduleContext } from '../../context.ts'
import { StoredRevocationList } from '../records.ts'
import { readStoredChain } from './ca-chain.ts'
import { type Fetched, fetchLists } from './lists.ts'
import { readRevocationList } from './revocation-list.ts'
import type { ProviderRow } from './trust.ts'

const retrySeconds = 600

type Making = Pick<World<Drivers>, 'ids' | 'clock'>

/** A URL that did not return a list keeps its former one. */
export async function storeLists(
  store: Transaction,
  { ids, clock }: Making,
  providerExtId: string,
  fetched: readonly Fetched[],
): Promise<void> {
  const before = await store.findWhere(StoredRevocationList, { providerExtId })
  const readTime = clock.iso()
  const answers = withoutOlder(fetched, before)
  for (const stored of before) {
    const answer = answers.find(({ url }) => url === stored.url)
    if (answer === undefined || 'list' in answer) await store.remove(StoredRevocationList, stored.extId)
  }
  for (const answer of answers) {
    if (!('list' in answer)) continue
    await store.insert(StoredRevocationList, rowOf(ids.uuid(), providerExtId, answer, readTime))
  }
}

export const removeLists = (store: Transaction, providerExtId: string): Promise<number> =>
  store.removeWhere(StoredRevocationList, equals(pathOf(StoredRevocationList, 'providerExtId'), providerExtId))

/** A failed download keeps the stored list; the error of the schedule is logged. */
export async function refreshLists(ctx: ScheduleContext): Promise<void | 'again'> {
  const problems: string[] = []
  const providers = (await ctx.store.find(CertAuthProvider)).filter(
    ({ certRevocationInfo }) => certRevocationInfo?.isCrlEnabled === true,
  )
  for (const provider of providers) {
    const stored = await ctx.store.findWhere(StoredRevocationList, { providerExtId: provider.extId })
    const urls = dueUrls(ctx, provider, stored)
    if (urls.length === 0) continue
    const now = ctx.clock.now()
    const chain = await readStoredChain(provider.clientCaChain)
    const fetched = withoutOlder(await fetchLists(urls, chain, { web: ctx.drivers.web, now }), stored)
    for (const each of fetched) {
      if ('unreachable' in each) problems.push(`${each.url}: ${each.unreachable}`)
      if ('fault' in each) problems.push(`${each.url}: ${each.fault.message}`)
    }
    if (await replace(ctx, provider, fetched)) ctx.services.clientCertificates.changed()
  }
  if (problems.length > 0) throw new Error(`Revocation lists were not read: ${problems.join('; ')}`)
  return providers.length > 0 ? 'again' : undefined
}

function dueUrls(
  { clock }: Making,
  provider: ProviderRow,
  stored: readonly EntityOf<typeof StoredRevocationList>[],
): readonly string[] {
  const { crlDps = [], globalCrlRefreshInterval = 86_400 } = provider.certRevocationInfo ?? {}
  return crlDps.filter((url) => {
    const list = stored.find((one) => one.url === url)
    if (list === undefined || list.runsOut <= clock.now()) return true
    const isFailing = list.triedTime !== list.readTime
    const everySeconds = isFailing ? Math.min(retrySeconds, globalCrlRefreshInterval) : globalCrlRefreshInterval
    return clock.now() - (parseTime(list.triedTime) as number) >= everySeconds * 1000
  })
}

/** Refuses lists older than the stored ones: a replayed list would hide newer revocations. */
function withoutOlder(
  fetched: readonly Fetched[],
  before: readonly Pick<EntityOf<typeof StoredRevocationList>, 'url' | 'content'>[],
): readonly Fetched[] {
  return fetched.map((answer) => {
    const stored = before.find(({ url }) => url === answer.url)
    if (!('list' in answer) || stored === undefined) return answer
    const storedList = readRevocationList(Buffer.from(stored.content, 'base64'))
    const isOlder = storedList.issuer.equals(answer.list.issuer) && answer.list.thisUpdate < storedList.thisUpdate
    return isOlder ? { url: answer.url, unreachable: 'it gives an older list than before' } : answer
  })
}

/** Skipped if the provider changed during the download. @returns whether a list changed */
function replace(ctx: ScheduleContext, read: ProviderRow, fetched: readonly Fetched[]): Promise<boolean> {
  const now = ctx.clock.iso()
  return ctx.store.transaction(async (transaction) => {
    if (!(await isUnchanged(transaction, read))) return false
    let isAnother = false
    for (const answer of fetched) {
      const [stored] = await transaction.findWhere(StoredRevocationList, { providerExtId: read.extId, url: answer.url })
      if (!('list' in answer)) {
        if (stored !== undefined) await transaction.observe(StoredRevocationList, stored.extId, { triedTime: now })
      } else if (stored === undefined)
        await transaction.insert(StoredRevocationList, rowOf(ctx.ids.uuid(), read.extId, answer, now))
      else await transaction.replace(StoredRevocationList, rowOf(stored.extId, read.extId, answer, now))
      if ('list' in answer && stored?.content !== contentOf(answer)) isAnother = true
    }
    return isAnother
  })
}

const rowOf = (
  extId: string,
  providerExtId: string,
  answer: Extract<Fetched, { list: unknown }>,
  readTime: string,
) => ({
  extId,
  providerExtId,
  url: answer.url,
  content: contentOf(answer),
  readTime,
  triedTime: readTime,
  runsOut: answer.list.nextUpdate,
})

const contentOf = ({ list }: Extract<Fetched, { list: unknown }>): string => Buffer.from(list.raw).toString('base64')

async function isUnchanged(store: Reader, read: ProviderRow): Promise<boolean> {
  const current = await store.get(CertAuthProvider, read.extId)
  return current?.lastUpdatedTime === read.lastUpdatedTime && current?.clientCaChain === read.clientCaChain
}
