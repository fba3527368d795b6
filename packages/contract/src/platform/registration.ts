/**
 * A cluster or manager that this manager is registered with, and whether it is reachable.
 * Source: catalogue platform.json; behaviour platform.md 6, 11.
 */
import { baseFields, get, list, perSecond, resource } from '../operation.ts'
import {
  arrayOf,
  enumeration,
  integer,
  object,
  oneOf,
  optional,
  readOnly,
  referenceTo,
  secret,
  text,
  uuid,
} from '../schema.ts'
import { IPAddressOrFQDN } from '../shapes.ts'
import { GenericMetadata, managementReaders } from './product.ts'

export const RemoteCluster = object('platform.v4.management.RemoteCluster', {
  ...baseFields,
  name: optional(text({ minLength: 1, maxLength: 80 })),
  clusterType: optional(enumeration(['DOMAIN_MANAGER', 'AOS'])),
  clusterVersion: optional(text()),
  externalAddress: IPAddressOrFQDN,
  nodeIpAddresses: optional(arrayOf(IPAddressOrFQDN, { minItems: 1, maxItems: 3 })),
})

export const Registration = resource(
  'platform.v4.management.Registration',
  {
    remoteClusterExtId: readOnly(uuid()),
    remoteClusterDetails: readOnly(RemoteCluster),
    connectivityStatus: readOnly(enumeration(['CONNECTED', 'DISCONNECTED', 'PENDING'])),
    /** Fingerprint of the trusted certificate, and the reason while it is unreachable. */
    metadata: readOnly(oneOf(GenericMetadata)),
  },
  {
    internal: {
      domainManagerExtId: referenceTo('DomainManager'),
      /** Address or name under which it was registered. */
      address: text({ maxLength: 255 }),
      /** SHA-256, in hex, of the certificate that was pinned at registration; any other is refused. */
      certificate: text({ maxLength: 64 }),
      /** API key with which this manager signs in there; absent for clusters, which their certificate identifies. */
      trustKey: secret(text()),
      /** Consecutive probes without an answer. */
      misses: integer(),
    },
    parent: { param: 'domainManagerExtId', kind: 'DomainManager', field: 'domainManagerExtId' },
    iam: { name: 'domain_manager_registration', attributes: { cluster_uuid: 'remoteClusterExtId' } },
    rel: 'platform:management:registration',
    unique: [{ fields: ['remoteClusterExtId'] }],
    ofCluster: { stays: 'the task that unregisters the cluster removes its registration' },
  },
)

const path = '/management/domain-managers/{domainManagerExtId}/registrations'

export const registrationOperations = {
  listRegistrations: list(path, Registration, {
    envelope: 'platform.v4.management.ListRegistrationApiResponse',
    iam: 'View_Domain_Manager_Registration',
    roles: managementReaders,
    rateLimit: perSecond(5),
    filter: ['connectivityStatus', 'remoteClusterExtId'],
    orderby: ['remoteClusterExtId'],
    select: 'any',
  }),
  getRegistrationById: get(`${path}/{extId}`, Registration, {
    iam: 'View_Domain_Manager_Registration',
    roles: managementReaders,
    rateLimit: perSecond(5),
  }),
}
