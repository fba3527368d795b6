/** SAML identity providers, and the metadata that this service publishes for them. Source: behaviour iam.md 5. */

import { SamlIdentityProvider, samlIdentityProviderOperations } from '@hyperplane/contract/iam/saml-identity-provider'
import { type ApiError, invalid } from '../../core/api-error.ts'
import { defined } from '../../core/defined.ts'
import { canonicalJson } from '../../core/idempotency.ts'
import type { RawAnswer } from '../../core/reply.ts'
import { parseTime } from '../../core/time/clock.ts'
import { created, replaced } from '../../core/updates.ts'
import { implement, type ReadContext, type Schedule, type ScheduleContext, type WriteContext } from '../context.ts'
import { authorship } from './authorship.ts'
import { requireUnused } from './providers.ts'
import { ServiceKey } from './records.ts'
import {
  type MetadataFields,
  type Read,
  readMetadataSource,
  readUrl,
  type Sources,
  sourceNames,
} from './saml/source.ts'
import { spMetadata } from './saml/sp-metadata.ts'

const daySeconds = 24 * 3600
const issuerPath = '/api/iam/authn'

/** If a document cannot be read, the last valid one stays in use. */
const rereadMetadata: Schedule = {
  name: 'iam.reread-saml-metadata',
  everySeconds: 3600,
  run: reread,
  watch: ({ store }, changed) => store.watch([SamlIdentityProvider], changed),
}

export const samlIdentityProvider = implement(
  samlIdentityProviderOperations,
  {
    async createSamlIdentityProvider(ctx, { body, prepared }) {
      const provider = created(ctx, SamlIdentityProvider, withoutSources(body), {
        ...fieldsOf(ctx, prepared as Read),
        ...authorship(ctx),
      })
      return presented(ctx, await ctx.store.insert(SamlIdentityProvider, provider))
    },

    async updateSamlIdentityProviderById(ctx, { body, prepared }) {
      const { target } = ctx
      // Computed from the stored row before this transaction; If-Match guarantees that it is unchanged.
      const read = prepared as Read | undefined
      const {
        metadataReadTime: _,
        metadataSigner: __,
        ...provider
      } = replaced(SamlIdentityProvider, target, withoutSources(body), ctx.version)
      const stored = await ctx.store.replace(SamlIdentityProvider, {
        ...provider,
        ...(read === undefined ? retainedMetadata(target, body) : fieldsOf(ctx, read)),
        lastUpdatedTime: ctx.clock.iso(),
      })
      return presented(ctx, stored)
    },

    async deleteSamlIdentityProviderById(ctx) {
      const target = ctx.target
      await requireUnused(ctx.store, SamlIdentityProvider, target)
      await ctx.store.remove(SamlIdentityProvider, target.extId)
      return undefined
    },

    getSamlIdpSpMetadataById: (ctx) => serviceProvider(ctx, ctx.target),
    getSamlSpMetadata: (ctx) => serviceProvider(ctx),
  },
  {
    rules: { createSamlIdentityProvider: ({ body }) => sourceFaults(body) },
    prepare: {
      createSamlIdentityProvider: (ctx, { body }) => readMetadataSource(body, where(ctx)),
      async updateSamlIdentityProviderById(ctx, { path, body }) {
        const stored = await ctx.store.get(SamlIdentityProvider, path.extId)
        if (stored === undefined) return undefined
        const changed = changedSources(body, stored)
        if (changed.length === 0) return undefined
        const faults = sourceFaults(Object.fromEntries(changed.map((name) => [name, body[name]])))
        return faults[0] === undefined
          ? readMetadataSource(pickSource(body, changed), where(ctx))
          : { fault: faults[0] }
      },
    },
    present: [[SamlIdentityProvider, async (ctx, providers) => providers.map((one) => presented(ctx, one))]],
    schedules: [rereadMetadata],
    records: [ServiceKey],
  },
)

async function reread(ctx: ScheduleContext): Promise<void | 'again'> {
  const now = ctx.clock.now()
  const faults: ApiError[] = []
  const providers = (await ctx.store.find(SamlIdentityProvider)).filter((one) => one.idpMetadataUrl !== undefined)
  for (const provider of providers) {
    const { idpMetadataUrl, metadataReadTime } = provider
    const url = idpMetadataUrl as string
    if (now - (parseTime(metadataReadTime ?? '') ?? 0) < daySeconds * 1000) continue
    const read = await readUrl(url, where(ctx), provider.metadataSigner)
    if ('fault' in read) faults.push(read.fault)
    else faults.push(...(await take(ctx, provider, read.fields)))
  }
  if (faults.length > 0) throw new AggregateError(faults, `SAML metadata was not read: ${faults.map(String).join(' ')}`)
  return providers.length > 0 ? 'again' : undefined
}

/** Skipped if a client changed the URL, or read it again, during the download. */
async function take(ctx: ScheduleContext, read: SamlIdentityProvider, fields: MetadataFields): Promise<ApiError[]> {
  if (read.idpMetadata?.entityId !== fields.idpMetadata.entityId)
    return [invalid('idpMetadataUrl', `the document of "${read.name}" describes another entity now.`)]
  await ctx.store.transaction(async (transaction) => {
    const current = await transaction.get(SamlIdentityProvider, read.extId)
    const isSameSource =
      current?.idpMetadataUrl === read.idpMetadataUrl && current?.metadataReadTime === read.metadataReadTime
    if (current === undefined || !isSameSource) return
    const isSame = canonicalJson(current.idpMetadata) === canonicalJson(fields.idpMetadata)
    if (isSame) await transaction.observe(SamlIdentityProvider, read.extId, fields)
    else await transaction.update(SamlIdentityProvider, read.extId, { ...fields, lastUpdatedTime: ctx.clock.iso() })
  })
  return []
}

const where = (ctx: Pick<ReadContext, 'drivers' | 'clock'>) => ({ web: ctx.drivers.web, now: ctx.clock.now() })

function sourceFaults(body: Sources): ApiError[] {
  const given = sourceNames.filter((name) => body[name] !== undefined)
  if (given.length === 1) return []
  const found = given.length === 0 ? 'none' : given.join(' and ')
  return [invalid(given[0] ?? 'idpMetadata', `expected exactly one of ${sourceNames.join(', ')}, found ${found}.`)]
}

/** Clients may send back fields and URL: nothing is read if both are unchanged. The URL without the fields requests a new download. */
function changedSources(body: Sources, stored: SamlIdentityProvider): (keyof Sources)[] {
  const changed = sourceNames.filter(
    (name) => body[name] !== undefined && canonicalJson(body[name]) !== canonicalJson(stored[name] ?? null),
  )
  const isUrlAlone = body.idpMetadataUrl !== undefined && body.idpMetadata === undefined && changed.length === 0
  return isUrlAlone ? ['idpMetadataUrl'] : changed
}

const pickSource = (body: Sources, names: readonly (keyof Sources)[]): Sources =>
  Object.fromEntries(names.map((name) => [name, body[name]]))

/** A body with the fields but without the URL detaches the provider from its URL. */
function retainedMetadata(target: SamlIdentityProvider, body: Sources): MetadataFields {
  const { idpMetadataUrl, metadataReadTime, metadataSigner } = target
  const idpMetadata = target.idpMetadata as MetadataFields['idpMetadata']
  const dropsUrl = body.idpMetadata !== undefined && body.idpMetadataUrl === undefined
  if (dropsUrl || idpMetadataUrl === undefined) return { idpMetadata }
  return { idpMetadata, idpMetadataUrl, ...defined({ metadataReadTime, metadataSigner }) }
}

function fieldsOf(ctx: WriteContext, read: Read): MetadataFields {
  if ('fault' in read) throw read.fault
  if (read.warning !== undefined) ctx.warn(read.warning)
  return read.fields
}

function withoutSources<B extends Sources>(body: B): Omit<B, keyof Sources> {
  const { idpMetadata: _, idpMetadataXml: __, idpMetadataUrl: ___, ...others } = body
  return others
}

function presented(ctx: Pick<ReadContext, 'services'>, row: SamlIdentityProvider): SamlIdentityProvider {
  const { metadataReadTime: _, metadataSigner: __, ...shown } = row
  return { ...shown, entityIssuer: row.entityIssuer ?? defaultIssuer(ctx) }
}

const defaultIssuer = ({ services }: Pick<ReadContext, 'services'>): string => services.publicUrl() + issuerPath

async function serviceProvider(ctx: ReadContext, provider?: SamlIdentityProvider): Promise<RawAnswer> {
  const content = spMetadata({
    entityId: provider?.entityIssuer ?? defaultIssuer(ctx),
    assertionConsumerUrl: provider?.redirectURL ?? `${ctx.services.publicUrl()}${issuerPath}/callback`,
    signsRequests: provider === undefined || provider.isSignedAuthnReqEnabled === true,
    nameIdFormat: provider?.idpMetadata?.nameIdPolicyFormat ?? 'unspecified',
    certificate: await ctx.services.identity.certificate(),
  })
  return { contentType: 'text/xml', content }
}
