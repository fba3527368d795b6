/** Signs TLS clients in. Source: specification 4.6, 5, 8; catalogue iam.json; behaviour iam.md 5, 10. */
import { create, type EntityOf, get, list, perSecond, remove, resource, update } from '../operation.ts'
import type { RoleName } from '../roles.ts'
import * as s from '../schema.ts'

const url = { maxLength: 2048, pattern: '^https?://[^\\s/?#]+[^\\s]*$' } as const

const revocation = {
  isCrlEnabled: s.withDefault(s.boolean(), false),
  crlDps: s.optional(s.arrayOf(s.text(url), { maxItems: 10, uniqueItems: true })),
  globalCrlRefreshInterval: s.withDefault(s.integer({ minimum: 60, maximum: 604_800 }), 86_400),
  isOcspEnabled: s.withDefault(s.boolean(), false),
  /** Default: the responder that the certificate names (authority information access). */
  ocspResponder: s.optional(s.text(url)),
} as const

const CertRevocationInfo = s.object('iam.v4.authn.CertRevocationInfo', revocation)

const fields = {
  name: s.text({ minLength: 1, maxLength: 255 }),
  caCertFileName: s.text({ minLength: 1, maxLength: 255, pattern: '^[^/\\\\]*$' }),
  /** One to ten PEM certificates. */
  clientCaChain: s.text({ minLength: 1, maxLength: 2 * 1024 * 1024, multiline: true }),
  isCertAuthEnabled: s.boolean(),
  /** Smart cards: the certificate is for client authentication and names a user principal. */
  isCacEnabled: s.boolean(),
  dirSvcExtID: s.optional(s.referenceTo('DirectoryService')),
  certRevocationInfo: s.optional(CertRevocationInfo),
  createdBy: s.readOnly(s.uuid()),
  createdTime: s.readOnly(s.timestamp()),
  lastUpdatedTime: s.readOnly(s.timestamp()),
} as const

export const CertAuthProvider = resource('iam.v4.authn.CertAuthProvider', {
  fields,
  title: 'certificate authentication provider',
  iam: { owner_uuid: 'createdBy', name: 'name' },
  iamNoun: 'Cert_Auth_Provider',
  unique: [{ fields: ['name'], error: 'IDENTITY_PROVIDER_ALREADY_EXISTS' }],
  notFound: 'IDENTITY_PROVIDER_NOT_FOUND',
})
export type CertAuthProvider = EntityOf<typeof CertAuthProvider>

/** Revocation settings are separate parts, or one JSON part. */
export const CertAuthProviderForm = s.object('iam.v4.authn.CertAuthProvider', {
  ...CertAuthProvider.schema.fields,
  isCrlEnabled: s.optional(s.boolean()),
  crlDps: revocation.crlDps,
  globalCrlRefreshInterval: s.optional(s.integer({ minimum: 60, maximum: 604_800 })),
  isOcspEnabled: s.optional(s.boolean()),
  ocspResponder: revocation.ocspResponder,
})

const readers: readonly RoleName[] = ['Platform Admin', 'Platform Viewer', 'Project Admin', 'Super Admin']
const writers: readonly RoleName[] = ['Central Admin', 'Platform Admin', 'Super Admin']
const rateLimit = perSecond(5, 5, 10, 10)
const form = { files: { caCertFileName: 'clientCaChain' } } as const
const maximumBodyBytes = 2 * 1024 * 1024

const view = { roles: readers, rateLimit }
const mutation = { roles: writers, rateLimit, runs: 'sync' } as const

const path = '/authn/cert-auth-providers'
const one = `${path}/{extId}` as const

export const certAuthProviderOperations = {
  listCertAuthProviders: list(path, CertAuthProvider, view),
  createCertAuthProvider: create(path, CertAuthProvider, {
    ...mutation,
    body: CertAuthProviderForm,
    form,
    maximumBodyBytes,
  }),
  getCertAuthProviderById: get(one, CertAuthProvider, view),
  updateCertAuthProviderById: update(one, CertAuthProvider, {
    ...mutation,
    body: CertAuthProviderForm,
    form,
    maximumBodyBytes,
  }),
  deleteCertAuthProviderById: remove(one, CertAuthProvider, { ...mutation, ifMatch: 'required' }),
}
