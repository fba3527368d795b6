/**
 * A certificate authority whose client certificates sign users in at TLS.
 * Source: specification 4.6, 5, 8; catalogue iam.json; behaviour iam.md 5, 10.
 */
import { list, perSecond, resource } from '../operation.ts'
import { arrayOf, boolean, integer, object, optional, readOnly, text, timestamp, uuid, withDefault } from '../schema.ts'

const CertRevocationInfo = object('iam.v4.authn.CertRevocationInfo', {
  isCrlEnabled: optional(boolean()),
  crlDps: optional(arrayOf(text())),
  /** Seconds. */
  globalCrlRefreshInterval: withDefault(integer({ minimum: 60, maximum: 604800 }), 86400),
  isOcspEnabled: optional(boolean()),
  ocspResponder: optional(text()),
})

export const CertAuthProvider = resource(
  'iam.v4.authn.CertAuthProvider',
  {
    name: text(),
    caCertFileName: text({ maxLength: 255 }),
    /** One to ten PEM certificates. */
    clientCaChain: text({ multiline: true }),
    isCertAuthEnabled: boolean(),
    isCacEnabled: boolean(),
    // Not a declared reference as long as directory services are not built.
    dirSvcExtID: optional(uuid()),
    certRevocationInfo: optional(CertRevocationInfo),
    createdBy: readOnly(uuid()),
    createdTime: readOnly(timestamp()),
    lastUpdatedTime: readOnly(timestamp()),
  },
  {
    title: 'certificate authentication provider',
    iam: { name: 'cert_auth_provider', attributes: { owner_uuid: 'createdBy', name: 'name' } },
    unique: [{ fields: ['name'], error: 'IDENTITY_PROVIDER_ALREADY_EXISTS' }],
    notFound: 'IDENTITY_PROVIDER_NOT_FOUND',
  },
)

export const certAuthProviderOperations = {
  listCertAuthProviders: list('/authn/cert-auth-providers', CertAuthProvider, {
    envelope: 'iam.v4.authn.ListCertAuthProvidersApiResponse',
    iam: 'View_Cert_Auth_Provider',
    roles: ['Platform Admin', 'Platform Viewer', 'Project Admin', 'Super Admin'],
    rateLimit: perSecond(5, 5, 10, 10),
    deployments: ['on-prem', 'cloud'],
  }),
}
