/** Only the fields of a metadata document are stored. Source: catalogue iam.json; behaviour iam.md 5, 10. */
import { names } from '../names.ts'
import { create, type EntityOf, get, list, perSecond, read, remove, resource, update } from '../operation.ts'
import type { RoleName } from '../roles.ts'
import * as s from '../schema.ts'

const url = { maxLength: 2048, pattern: '^https?://[^\\s/?#]+[^\\s]*$' } as const
const attributeName = { minLength: 1, maxLength: 255 } as const

const IdpMetadata = s.object('iam.v4.authn.IdpMetadata', {
  entityId: s.text({ minLength: 1, maxLength: 1024 }),
  loginUrl: s.text(url),
  logoutUrl: s.optional(s.text(url)),
  errorUrl: s.optional(s.text(url)),
  /** PEM, or base64 of DER without PEM lines; shown as it was sent. */
  certificate: s.text({ minLength: 1, maxLength: 20_000, multiline: true }),
  nameIdPolicyFormat: s.withDefault(
    s.enumeration(`
      emailAddress, unspecified, X509SubjectName, WindowsDomainQualifiedName, encrypted, entity, kerberos, persistent,
      transient
    `),
    'unspecified',
  ),
})

export const maximumMetadataBytes = 1024 * 1024

export const SamlIdentityProvider = resource('iam.v4.authn.SamlIdentityProvider', {
  fields: {
    name: s.text({ minLength: 1, maxLength: 255 }),
    idpMetadata: s.optional(IdpMetadata),
    /** Parsed into the fields of `idpMetadata` and not stored. */
    idpMetadataXml: s.optional(s.text({ minLength: 1, maxLength: maximumMetadataBytes, multiline: true })),
    idpMetadataUrl: s.optional(s.text({ maxLength: 2048, pattern: '^https://[^\\s/?#]+[^\\s]*$' })),
    usernameAttribute: s.withDefault(s.text(attributeName), 'name'),
    emailAttribute: s.withDefault(s.text(attributeName), 'email'),
    groupsAttribute: s.optional(s.text(attributeName)),
    groupsDelim: s.optional(s.text({ minLength: 1, maxLength: 8 })),
    customAttributes: s.optional(s.arrayOf(s.text(attributeName), { maxItems: 50 })),
    /** Towards the provider; default `<public URL>/api/iam/authn`. */
    entityIssuer: s.optional(s.text({ minLength: 1, maxLength: 1024 })),
    redirectURL: s.optional(s.text(url)),
    isSignedAuthnReqEnabled: s.withDefault(s.boolean(), false),
    createdBy: s.readOnly(s.uuid()),
    createdTime: s.readOnly(s.timestamp()),
    lastUpdatedTime: s.readOnly(s.timestamp()),
  },
  iamNoun: 'Saml_Identity_Provider',
  internal: {
    metadataReadTime: s.timestamp(),
    /** SHA-256 of the certificate that signed the document; later versions must have the same signer. */
    metadataSigner: s.text(),
  },
  iam: { owner_uuid: 'createdBy', name: 'name' },
  unique: [
    { fields: ['name'], error: 'IDENTITY_PROVIDER_ALREADY_EXISTS' },
    { fields: ['idpMetadata/entityId'], error: 'IDENTITY_PROVIDER_ALREADY_EXISTS' },
  ],
  notFound: 'IDENTITY_PROVIDER_NOT_FOUND',
})
export type SamlIdentityProvider = EntityOf<typeof SamlIdentityProvider>

const readers: readonly RoleName[] = names(`
  Central Admin, Platform Admin, Platform Viewer, Project Admin, Super Admin
`)
const writers: readonly RoleName[] = ['Central Admin', 'Platform Admin', 'Super Admin']
const rateLimit = perSecond(5, 5, 10, 10)
/** The largest document with JSON escapes. */
const maximumBodyBytes = 3 * maximumMetadataBytes

const view = { iam: 'View_Saml_Identity_Provider', roles: readers, rateLimit }
const mutation = { roles: writers, rateLimit, runs: 'sync' } as const

const path = '/authn/saml-identity-providers'
const one = `${path}/{extId}` as const

export const samlIdentityProviderOperations = {
  listSamlIdentityProviders: list(path, SamlIdentityProvider, {
    ...view,
    filter: ['createdBy', 'extId', 'name'],
    orderby: ['createdTime', 'lastUpdatedTime', 'name'],
    select: names(`
      createdBy, createdTime, customAttributes, emailAttribute, entityIssuer, extId, groupsAttribute, groupsDelim,
      idpMetadata/certificate, idpMetadata/entityId, idpMetadata/errorUrl, idpMetadata/loginUrl, idpMetadata/logoutUrl,
      idpMetadata/nameIdPolicyFormat, isSignedAuthnReqEnabled, lastUpdatedTime, links, name, tenantId, usernameAttribute
    `),
  }),
  createSamlIdentityProvider: create(path, SamlIdentityProvider, { ...mutation, maximumBodyBytes }),
  getSamlIdentityProviderById: get(one, SamlIdentityProvider, view),
  updateSamlIdentityProviderById: update(one, SamlIdentityProvider, { ...mutation, maximumBodyBytes }),
  deleteSamlIdentityProviderById: remove(one, SamlIdentityProvider, { ...mutation, ifMatch: 'required' }),
  getSamlIdpSpMetadataById: read(`${one}/sp-metadata`, s.text(), {
    ...view,
    of: SamlIdentityProvider,
    produces: 'text/xml',
  }),
  getSamlSpMetadata: read('/authn/saml-sp-metadata', s.text(), { ...view, produces: 'text/xml' }),
}
