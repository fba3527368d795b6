/** Internal rows of iam. Source: behaviour conventions 14; iam.md 5. */
import { integer, resource, secret, text, timestamp, uuid } from '@hyperplane/contract'

/** Survives a restart. The id is a digest of user name and source address. */
export const SignInLock = resource('internal.v1.iam.SignInLock', {
  fields: { name: text(), until: timestamp() },
  indexed: ['name', 'until'],
  leftOut: { what: 'locks after failed sign-ins', instead: 'nobody is locked out' },
})

/** Identifies this service to SAML identity providers. One row. */
export const ServiceKey = resource('internal.v1.iam.ServiceKey', {
  fields: { certificate: text(), privateKey: secret(text()) },
  leftOut: { what: 'the key pair that identity providers know', instead: 'is made when it is first read' },
})

export const StoredRevocationList = resource('internal.v1.iam.StoredRevocationList', {
  fields: {
    providerExtId: uuid(),
    url: text(),
    content: text(),
    /** `readTime`: last successful download; `triedTime`: last attempt. */
    readTime: timestamp(),
    triedTime: timestamp(),
    /** `nextUpdate`; milliseconds since 1970. */
    runsOut: integer(),
  },
  indexed: ['providerExtId', 'url'],
})
