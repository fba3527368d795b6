/** Certificate authentication providers: sign users in by client certificate. Source: behaviour iam.md 5. */
import type { ValueOf } from '@hyperplane/contract'
import {
  CertAuthProvider,
  type CertAuthProviderForm,
  certAuthProviderOperations,
} from '@hyperplane/contract/iam/cert-auth-provider'
import { ApiError, invalid, refuseAll } from '../../core/api-error.ts'
import { created, replaced } from '../../core/updates.ts'
import type { Reader, Transaction } from '../../store/store.ts'
import { implement, type ReadContext, type WriteContext } from '../context.ts'
import { authorship } from './authorship.ts'
import { areCertificates, readCaChain, readStoredChain, trustFault } from './certificates/ca-chain.ts'
import { authorityOf, type Certificate } from './certificates/certificate.ts'
import { type Fetched, fetchLists } from './certificates/lists.ts'
import { refreshLists, removeLists, storeLists } from './certificates/stored-lists.ts'
import { StoredRevocationList } from './records.ts'

type Form = ValueOf<typeof CertAuthProviderForm>

/** Not thrown before the transaction: a retry of a successful request must not fail. */
interface Judged {
  readonly faults: readonly ApiError[]
  readonly chain: readonly Certificate[]
  readonly fetched: readonly Fetched[]
}

export const certAuthProvider = implement(
  certAuthProviderOperations,
  {
    async createCertAuthProvider(ctx, { body, prepared }) {
      const { chain, fetched } = settled(ctx, prepared as Judged)
      const certRevocationInfo = revocationOf(body)
      const provider = created(ctx, CertAuthProvider, body, { certRevocationInfo, ...authorship(ctx) })
      await ctx.store.insert(CertAuthProvider, provider)
      await refuseSharedAuthority(ctx.store, provider, chain)
      await storeLists(ctx.store, ctx, provider.extId, fetched)
      ctx.afterCommit(() => ctx.services.clientCertificates.changed())
      return provider
    },

    async updateCertAuthProviderById(ctx, { body, prepared }) {
      const { chain, fetched } = settled(ctx, prepared as Judged)
      const provider = await ctx.store.replace(CertAuthProvider, {
        ...replaced(CertAuthProvider, ctx.target, body, ctx.version),
        certRevocationInfo: revocationOf(body),
        lastUpdatedTime: ctx.clock.iso(),
      })
      await refuseSharedAuthority(ctx.store, provider, chain)
      await storeLists(ctx.store, ctx, provider.extId, fetched)
      ctx.afterCommit(() => ctx.services.clientCertificates.changed())
      return provider
    },

    async deleteCertAuthProviderById(ctx) {
      await removeLists(ctx.store, ctx.target.extId)
      await ctx.store.remove(CertAuthProvider, ctx.target.extId)
      ctx.afterCommit(() => ctx.services.clientCertificates.changed())
      return undefined
    },
  },
  {
    rules: {
      createCertAuthProvider: ({ body }) => formFaults(body),
      updateCertAuthProviderById: ({ body }) => formFaults(body),
    },
    prepare: {
      createCertAuthProvider: (ctx, { body }) => judged(ctx, body),
      updateCertAuthProviderById: (ctx, { body }) => judged(ctx, body),
    },
    records: [StoredRevocationList],
    schedules: [
      {
        name: 'iam.refresh-revocation-lists',
        everySeconds: 60,
        run: refreshLists,
        watch: ({ store }, changed) => store.watch([CertAuthProvider], changed),
      },
    ],
  },
)

const revocationParts = [
  'isCrlEnabled',
  'crlDps',
  'globalCrlRefreshInterval',
  'isOcspEnabled',
  'ocspResponder',
] as const

function revocationOf({ certRevocationInfo, ...form }: Form) {
  const given = revocationParts.filter((name) => form[name] !== undefined).map((name) => [name, form[name]])
  return {
    isCrlEnabled: false,
    globalCrlRefreshInterval: 86_400,
    isOcspEnabled: false,
    ...certRevocationInfo,
    ...(Object.fromEntries(given) as Pick<Form, (typeof revocationParts)[number]>),
  }
}

function formFaults(form: Form): ApiError[] {
  const faults: ApiError[] = []
  const duplicates = revocationParts.filter((name) => form.certRevocationInfo !== undefined && form[name] !== undefined)
  if (duplicates.length > 0)
    faults.push(
      invalid('certRevocationInfo', `cannot be combined with ${duplicates.join(', ')}: send only one of them.`),
    )
  const { isCrlEnabled, crlDps = [] } = revocationOf(form)
  if (isCrlEnabled && crlDps.length === 0)
    faults.push(
      invalid('crlDps', 'expected at least one URL of a revocation list while isCrlEnabled is true, found none.'),
    )
  return faults
}

async function judged(ctx: ReadContext, form: Form): Promise<Judged> {
  if (formFaults(form).length > 0) return { faults: [], chain: [], fetched: [] }
  const now = ctx.clock.now()
  const read = await readCaChain(form.clientCaChain, now)
  const { isCrlEnabled, crlDps = [], isOcspEnabled, ocspResponder } = revocationOf(form)
  if (!areCertificates(read)) return { faults: read, chain: [], fetched: [] }
  const responder = isOcspEnabled && ocspResponder !== undefined ? await responderFaults(ctx, ocspResponder) : []
  const fetched = isCrlEnabled ? await fetchLists(crlDps, read, { web: ctx.drivers.web, now }) : []
  return {
    faults: [...responder, ...fetched.flatMap((each) => ('fault' in each ? [each.fault] : []))],
    chain: read,
    fetched,
  }
}

async function responderFaults(ctx: ReadContext, url: string): Promise<ApiError[]> {
  const refusal = await ctx.drivers.web.refusalOf(url)
  return refusal === undefined ? [] : [trustFault('certRevocationInfo/ocspResponder', `cannot be called: ${refusal}.`)]
}

function settled(ctx: WriteContext, { faults, chain, fetched }: Judged): Omit<Judged, 'faults'> {
  refuseAll(faults)
  for (const each of fetched) {
    if ('unreachable' in each)
      ctx.warn(
        `The revocation list at ${each.url} cannot be read now (${each.unreachable}). Until it can, certificates of its authority are refused.`,
      )
  }
  return { chain, fetched }
}

/** Two enabled providers must not share an authority: their order would decide which one signs the user in. */
async function refuseSharedAuthority(
  store: Transaction,
  row: CertAuthProvider,
  chain: readonly Certificate[],
): Promise<void> {
  if (!row.isCertAuthEnabled) return
  const own = new Set(chain.map(authorityOf))
  for (const other of await enabledOthers(store, row.extId)) {
    const others = await readStoredChain(other.clientCaChain)
    if (others.some((certificate) => own.has(authorityOf(certificate))))
      throw new ApiError('IDENTITY_PROVIDER_ALREADY_EXISTS', { kind: CertAuthProvider.title, fields: 'authority' })
  }
}

const enabledOthers = async (store: Reader, extId: string): Promise<CertAuthProvider[]> =>
  (await store.find(CertAuthProvider)).filter((other) => other.isCertAuthEnabled && other.extId !== extId)
