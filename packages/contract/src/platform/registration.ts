/** A registered cluster or manager. Source: catalogue platform.json; behaviour platform.md 6, 11. */
import { baseFields, get, list, perSecond, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { IPAddressOrFQDN } from '../shapes.ts'
import { GenericMetadata, managementReaders } from './product.ts'

export const RemoteCluster = s.object('platform.v4.management.RemoteCluster', {
  ...baseFields,
  name: s.optional(s.text({ minLength: 1, maxLength: 80 })),
  clusterType: s.optional(s.enumeration(['DOMAIN_MANAGER', 'AOS'])),
  clusterVersion: s.optional(s.text()),
  externalAddress: IPAddressOrFQDN,
  nodeIpAddresses: s.optional(s.arrayOf(IPAddressOrFQDN, { minItems: 1, maxItems: 3 })),
})

export const Registration = resource('platform.v4.management.Registration', {
  fields: {
    remoteClusterExtId: s.readOnly(s.uuid()),
    remoteClusterDetails: s.readOnly(RemoteCluster),
    connectivityStatus: s.readOnly(s.enumeration(['CONNECTED', 'DISCONNECTED', 'PENDING'])),
    /** Fingerprint of the trusted certificate, and the reason while it is unreachable. */
    metadata: s.readOnly(s.oneOf(GenericMetadata)),
  },
  iamNoun: 'Domain_Manager_Registration',
  internal: {
    domainManagerExtId: s.referenceTo('DomainManager'),
    address: s.text({ maxLength: 255 }),
    /** SHA-256, in hex, of the certificate pinned at registration; any other is refused. */
    certificate: s.text({ maxLength: 64 }),
    /** For sign-ins at a manager; absent for clusters, which their certificate identifies. */
    trustKey: s.secret(s.text()),
    misses: s.integer(),
  },
  parent: { param: 'domainManagerExtId', kind: 'DomainManager', field: 'domainManagerExtId' },
  iam: { cluster_uuid: 'remoteClusterExtId' },
  unique: [{ fields: ['remoteClusterExtId'] }],
  ofCluster: { stays: 'the task that unregisters the cluster removes its registration' },
})

const path = '/management/domain-managers/{domainManagerExtId}/registrations'

const view = { roles: managementReaders, rateLimit: perSecond(5) }

export const registrationOperations = {
  listRegistrations: list(path, Registration, {
    ...view,
    envelope: 'platform.v4.management.ListRegistrationApiResponse',
    filter: ['connectivityStatus', 'remoteClusterExtId'],
    orderby: ['remoteClusterExtId'],
    select: 'any',
  }),
  getRegistrationById: get(`${path}/{extId}`, Registration, view),
}
