/** Source: specification 2.4; catalogue clustermgmt.json; behaviour clustermgmt.md 1.15, 2. */
import { type EntityOf, get, perSecond, resource, update } from '../operation.ts'
import * as s from '../schema.ts'
import { clusterAdmins, clusterViewers } from './roles.ts'

const pem = () => s.text({ multiline: true })

/** One per cluster, under the cluster's extId. No row before the first update: the certificate is the cluster's own. */
export const SSLCertificate = resource('clustermgmt.v4.config.SSLCertificate', {
  fields: {
    /** PEM; in a body also Base64 of PEM, as the two fields below. */
    publicCertificate: s.optional(pem()),
    privateKey: s.secret(pem()),
    /** Ordered: the issuer of `publicCertificate` first, each followed by its own issuer. */
    caChain: s.optional(pem()),
    /** Decrypts `privateKey`; not stored. */
    passphrase: s.secret(s.text()),
    privateKeyAlgorithm: s.enumeration(
      'JKS, PKCS12, RSA_2048, RSA_4096, RSA_PUBLIC, KRB_KEYTAB, ECDSA_256, ECDSA_384, ECDSA_521',
    ),
  },
  iamNoun: 'Cluster_SSL_Certificate',
  bare: true,
  internal: { clusterExtId: s.uuid() },
  parent: { param: 'clusterExtId', kind: 'Cluster', field: 'clusterExtId' },
  rel: 'clustermgmt:config:cluster',
  ofCluster: { by: 'clusterExtId' },
})
export type SSLCertificate = EntityOf<typeof SSLCertificate>

const path = '/config/clusters/{clusterExtId}/ssl-certificate'

export const sslCertificateOperations = {
  getSSLCertificate: get(path, SSLCertificate, {
    versions: ['v4.2'],
    roles: clusterViewers,
    rateLimit: perSecond(5, 5, 10, 10),
  }),
  updateSSLCertificate: update(path, SSLCertificate, {
    versions: ['v4.2'],
    roles: clusterAdmins,
    rateLimit: perSecond(1),
  }),
}
