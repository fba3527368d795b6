/**
 * What iam keeps beside its kinds: locks, which end by time or by a reset and never by a restart; the key pair of this service;
 * revocation lists. Source: behaviour conventions 14; iam.md 5.
 */
import { integer, resource, secret, text, timestamp, uuid } from '@hyperplane/contract'

/** A pair of user name and source address that is refused for a while. Its id is a digest of both. */
export const SignInLock = resource(
  'internal.v1.iam.SignInLock',
  { name: text(), until: timestamp() },
  { indexed: ['name', 'until'] },
)

/** The key pair by which identity providers know this service. One row. */
export const ServiceKey = resource('internal.v1.iam.ServiceKey', { certificate: text(), privateKey: secret(text()) })

/** The last good revocation list of one place, for one provider. */
export const StoredRevocationList = resource(
  'internal.v1.iam.StoredRevocationList',
  {
    providerExtId: uuid(),
    url: text(),
    /** DER in base64. */
    content: text(),
    /** When it was read, and when a newer one was last asked for. */
    readTime: timestamp(),
    triedTime: timestamp(),
    /** Milliseconds since 1970: its nextUpdate. */
    runsOut: integer(),
  },
  { indexed: ['providerExtId', 'url'] },
)
