/**
 * A manager of several clusters: this instance, and the managers that it deployed or registered.
 * Source: catalogue platform.json; behaviour platform.md 4, 11.
 */
import { action, create, get, list, perSecond, resource } from '../operation.ts'
import type { RoleName } from '../roles.ts'
import {
  arrayOf,
  boolean,
  enumeration,
  integer,
  object,
  oneOf,
  optional,
  readOnly,
  referenceTo,
  secret,
  text,
  timestamp,
  uuid,
  withDefault,
} from '../schema.ts'
import { BasicAuth, IPAddress, IPAddressOrFQDN, IpRange, KVPair } from '../shapes.ts'
import { ClusterReference, ClusterRegistrationSpec } from './remote-cluster.ts'

const CloudInit = object('vmm.v4.ahv.config.CloudInit', {
  datasourceType: optional(enumeration(['CONFIG_DRIVE_V2'])),
  metadata: optional(text({ maxLength: 32000, multiline: true })),
  cloudInitScript: optional(
    oneOf(
      object('vmm.v4.ahv.config.Userdata', { value: text({ maxLength: 128000, multiline: true }) }),
      object('vmm.v4.ahv.config.CustomKeyValues', { keyValuePairs: arrayOf(KVPair, { maxItems: 32 }) }),
    ),
  ),
})

const BootstrapConfig = object('platform.v4.config.BootstrapConfig', {
  // Start-up scripts contain passwords, so no answer carries them.
  cloudInitConfig: secret(arrayOf(CloudInit, { minItems: 1, maxItems: 50 })),
  environmentInfo: optional(
    object('platform.v4.config.EnvironmentInfo', {
      type: optional(enumeration(['ONPREM', 'NTNX_CLOUD'])),
      providerType: optional(enumeration(['NTNX', 'AZURE', 'AWS', 'GCP', 'VSPHERE'])),
      provisioningType: optional(enumeration(['NTNX', 'NATIVE'])),
    }),
  ),
})

export const DomainManagerClusterConfig = object('platform.v4.config.DomainManagerClusterConfig', {
  name: text({ minLength: 1, maxLength: 80 }),
  size: enumeration(['STARTER', 'SMALL', 'LARGE', 'EXTRALARGE']),
  buildInfo: object('clustermgmt.v4.config.BuildInfo', { version: optional(text()) }),
  shouldEnableLockdownMode: withDefault(boolean(), false),
  bootstrapConfig: optional(BootstrapConfig),
  credentials: secret(arrayOf(BasicAuth, { minItems: 1, maxItems: 5 })),
  resourceConfig: optional(
    object('platform.v4.config.DomainManagerResourceConfig', {
      containerExtIds: optional(arrayOf(referenceTo('StorageContainer'), { minItems: 1, maxItems: 3 })),
      numVcpus: readOnly(integer()),
      memorySizeBytes: readOnly(integer()),
      dataDiskSizeBytes: readOnly(integer()),
    }),
  ),
})

const baseNetwork = {
  defaultGateway: IPAddressOrFQDN,
  subnetMask: IPAddressOrFQDN,
  ipRanges: arrayOf(IpRange, { minItems: 1, maxItems: 15 }),
  ipAddresses: optional(arrayOf(IPAddress)),
} as const

export const DomainManagerNetwork = object('platform.v4.config.DomainManagerNetwork', {
  externalAddress: optional(IPAddress),
  fqdn: readOnly(text({ maxLength: 255 })),
  nameServers: arrayOf(IPAddressOrFQDN, { maxItems: 1024 }),
  ntpServers: arrayOf(IPAddressOrFQDN, { maxItems: 1024 }),
  externalNetworks: arrayOf(
    object('platform.v4.config.ExternalNetwork', { ...baseNetwork, networkExtId: referenceTo('Subnet') }),
    { minItems: 1, maxItems: 1 },
  ),
  internalNetworks: optional(
    arrayOf(object('platform.v4.config.BaseNetwork', baseNetwork), { minItems: 1, maxItems: 1 }),
  ),
  capability: optional(enumeration(['IPV4', 'DUAL_STACK', 'IPV6'])),
  httpProxyConfig: optional(
    arrayOf(
      object('clustermgmt.v4.config.HttpProxyConfig', {
        name: text({ maxLength: 64 }),
        ipAddress: optional(IPAddress),
        port: optional(integer({ minimum: 1, maximum: 65535 })),
        username: optional(text({ maxLength: 64 })),
        password: secret(text()),
        proxyTypes: optional(arrayOf(enumeration(['HTTP', 'HTTPS', 'SOCKS']), { maxItems: 3 })),
      }),
    ),
  ),
  httpProxyWhiteListConfig: optional(
    arrayOf(
      object('clustermgmt.v4.config.HttpProxyWhiteListConfig', {
        target: text(),
        targetType: enumeration([
          'IPV4_ADDRESS',
          'IPV6_ADDRESS',
          'IPV4_NETWORK_MASK',
          'DOMAIN_NAME_SUFFIX',
          'HOST_NAME',
        ]),
      }),
    ),
  ),
})

/** Fields that a manager and its summary in a backup share. */
export const domainManagerFields = {
  config: DomainManagerClusterConfig,
  network: DomainManagerNetwork,
  hostingClusterExtId: optional(referenceTo('Cluster')),
  isRegisteredWithHostingCluster: readOnly(boolean()),
  nodeExtIds: readOnly(arrayOf(uuid(), { minItems: 1, maxItems: 3 })),
  shouldEnableHighAvailability: withDefault(boolean(), false),
  createdTime: readOnly(timestamp()),
} as const

export const DomainManager = resource('platform.v4.config.DomainManager', domainManagerFields, {
  iam: { name: 'domain_manager', attributes: { cluster_uuid: 'hostingClusterExtId', name: 'config/name' } },
  rel: 'platform:config:domain_manager',
  unique: [{ fields: ['config/name'], error: 'DOMAIN_MANAGER_ALREADY_EXISTS' }],
  internal: {
    /** The row of this instance, which is never removed. */
    isOwn: optional(boolean()),
  },
  indexed: ['isOwn'],
  ofCluster: { stays: 'a manager keeps its hosting cluster registered' },
})

const readers: readonly RoleName[] = [
  'Cluster Admin',
  'Cluster Viewer',
  'Domain Manager Admin',
  'Domain Manager Viewer',
  'Internal Super Admin',
  'Management Connector',
  'Platform Admin',
  'Platform Viewer',
  'Super Admin',
]

const admins: readonly RoleName[] = [
  'Cluster Admin',
  'Domain Manager Admin',
  'Internal Super Admin',
  'Platform Admin',
  'Super Admin',
]

/** `rel` under which registrations show the managers (and clusters) that they join. */
export const registeredRel = 'platform:management:domain_manager'

export const domainManagerOperations = {
  listDomainManagers: list('/config/domain-managers', DomainManager, {
    envelope: 'platform.v4.config.ListDomainManagerApiResponse',
    iam: 'View_Domain_Manager',
    roles: readers,
    rateLimit: perSecond(5),
    paged: false,
    select: 'any',
  }),
  getDomainManagerById: get('/config/domain-managers/{extId}', DomainManager, {
    iam: 'View_Domain_Manager',
    roles: readers,
    rateLimit: perSecond(5),
  }),
  createDomainManager: create('/config/domain-managers', DomainManager, {
    iam: 'Create_Domain_Manager',
    roles: admins,
    rateLimit: perSecond(1),
    requestId: 'required',
  }),
  register: action('/management/domain-managers/{extId}/$actions/register', {
    of: DomainManager,
    body: ClusterRegistrationSpec,
    iam: 'Register_Domain_Manager',
    roles: admins,
    rateLimit: perSecond(1),
    ifMatch: 'required',
    requestId: 'required',
    dryRun: true,
  }),
  unregister: action('/management/domain-managers/{extId}/$actions/unregister', {
    of: DomainManager,
    body: ClusterReference,
    iam: 'Unregister_Domain_Manager',
    roles: admins,
    rateLimit: perSecond(1),
    ifMatch: 'required',
    requestId: 'required',
    dryRun: true,
  }),
}
