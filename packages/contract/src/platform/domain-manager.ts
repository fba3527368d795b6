/** A manager of clusters: this one or another. Source: catalogue platform.json; behaviour platform.md 4, 11. */
import { HttpProxyConfig, HttpProxyWhiteListConfig } from '../clustermgmt/settings.ts'
import { names } from '../names.ts'
import { action, create, type EntityOf, get, list, perSecond, resource } from '../operation.ts'
import type { RoleName } from '../roles.ts'
import * as s from '../schema.ts'
import { BasicAuth, IPAddress, IPAddressOrFQDN, IpRange, KVPair } from '../shapes.ts'
import { ClusterReference, ClusterRegistrationSpec } from './remote-cluster.ts'

const CloudInit = s.object('vmm.v4.ahv.config.CloudInit', {
  datasourceType: s.optional(s.enumeration(['CONFIG_DRIVE_V2'])),
  metadata: s.optional(s.text({ maxLength: 32000, multiline: true })),
  cloudInitScript: s.optional(
    s.oneOf(
      s.object('vmm.v4.ahv.config.Userdata', { value: s.text({ maxLength: 128000, multiline: true }) }),
      s.object('vmm.v4.ahv.config.CustomKeyValues', { keyValuePairs: s.arrayOf(KVPair, { maxItems: 32 }) }),
    ),
  ),
})

const BootstrapConfig = s.object('platform.v4.config.BootstrapConfig', {
  // Start-up scripts contain passwords, so no answer carries them.
  cloudInitConfig: s.secret(s.arrayOf(CloudInit, { minItems: 1, maxItems: 50 })),
  environmentInfo: s.optionalObject('platform.v4.config.EnvironmentInfo', {
    type: s.optional(s.enumeration(['ONPREM', 'NTNX_CLOUD'])),
    providerType: s.optional(s.enumeration(['NTNX', 'AZURE', 'AWS', 'GCP', 'VSPHERE'])),
    provisioningType: s.optional(s.enumeration(['NTNX', 'NATIVE'])),
  }),
})

export const DomainManagerClusterConfig = s.object('platform.v4.config.DomainManagerClusterConfig', {
  name: s.text({ minLength: 1, maxLength: 80 }),
  size: s.enumeration(['STARTER', 'SMALL', 'LARGE', 'EXTRALARGE']),
  buildInfo: s.object('clustermgmt.v4.config.BuildInfo', { version: s.optional(s.text()) }),
  shouldEnableLockdownMode: s.withDefault(s.boolean(), false),
  bootstrapConfig: s.optional(BootstrapConfig),
  credentials: s.secret(s.arrayOf(BasicAuth, { minItems: 1, maxItems: 5 })),
  resourceConfig: s.optionalObject('platform.v4.config.DomainManagerResourceConfig', {
    containerExtIds: s.optional(s.arrayOf(s.referenceTo('StorageContainer'), { minItems: 1, maxItems: 3 })),
    numVcpus: s.readOnly(s.integer()),
    memorySizeBytes: s.readOnly(s.integer()),
    dataDiskSizeBytes: s.readOnly(s.integer()),
  }),
})

const baseNetwork = {
  defaultGateway: IPAddressOrFQDN,
  subnetMask: IPAddressOrFQDN,
  ipRanges: s.arrayOf(IpRange, { minItems: 1, maxItems: 15 }),
  ipAddresses: s.optional(s.arrayOf(IPAddress)),
} as const

export const DomainManagerNetwork = s.object('platform.v4.config.DomainManagerNetwork', {
  externalAddress: s.optional(IPAddress),
  fqdn: s.readOnly(s.text({ maxLength: 255 })),
  nameServers: s.arrayOf(IPAddressOrFQDN, { maxItems: 1024 }),
  ntpServers: s.arrayOf(IPAddressOrFQDN, { maxItems: 1024 }),
  externalNetworks: s.arrayOf(
    s.object('platform.v4.config.ExternalNetwork', { ...baseNetwork, networkExtId: s.referenceTo('Subnet') }),
    { minItems: 1, maxItems: 1 },
  ),
  internalNetworks: s.optional(
    s.arrayOf(s.object('platform.v4.config.BaseNetwork', baseNetwork), { minItems: 1, maxItems: 1 }),
  ),
  capability: s.optional(s.enumeration(['IPV4', 'DUAL_STACK', 'IPV6'])),
  httpProxyConfig: s.optional(s.arrayOf(HttpProxyConfig)),
  httpProxyWhiteListConfig: s.optional(s.arrayOf(HttpProxyWhiteListConfig)),
})

export const domainManagerFields = {
  config: DomainManagerClusterConfig,
  network: DomainManagerNetwork,
  hostingClusterExtId: s.optional(s.referenceTo('Cluster')),
  isRegisteredWithHostingCluster: s.readOnly(s.boolean()),
  nodeExtIds: s.readOnly(s.arrayOf(s.uuid(), { minItems: 1, maxItems: 3 })),
  shouldEnableHighAvailability: s.withDefault(s.boolean(), false),
  createdTime: s.readOnly(s.timestamp()),
} as const

export const DomainManager = resource('platform.v4.config.DomainManager', {
  fields: domainManagerFields,
  iam: { cluster_uuid: 'hostingClusterExtId', name: 'config/name' },
  unique: [{ fields: ['config/name'], error: 'DOMAIN_MANAGER_ALREADY_EXISTS' }],
  internal: {
    /** Marks this instance, whose row is never removed. */
    isOwn: s.optional(s.boolean()),
  },
  indexed: ['isOwn'],
  ofCluster: { stays: 'a manager keeps its hosting cluster registered' },
  isInNewWorld: ({ isOwn }) => isOwn === true,
})
export type DomainManager = EntityOf<typeof DomainManager>

const readers: readonly RoleName[] = names(`
  Cluster Admin, Cluster Viewer, Domain Manager Admin, Domain Manager Viewer, Internal Super Admin,
  Management Connector, Platform Admin, Platform Viewer, Super Admin
`)

const admins: readonly RoleName[] = names(`
  Cluster Admin, Domain Manager Admin, Internal Super Admin, Platform Admin, Super Admin
`)

/** Used for clusters too. */
export const registeredRel = 'platform:management:domain_manager'

const view = { roles: readers, rateLimit: perSecond(5) }
const mutation = { roles: admins, rateLimit: perSecond(1), requestId: 'required' } as const

export const domainManagerOperations = {
  listDomainManagers: list('/config/domain-managers', DomainManager, {
    ...view,
    envelope: 'platform.v4.config.ListDomainManagerApiResponse',
    paged: false,
    select: 'any',
  }),
  getDomainManagerById: get('/config/domain-managers/{extId}', DomainManager, view),
  createDomainManager: create('/config/domain-managers', DomainManager, mutation),
  register: action('/management/domain-managers/{extId}/$actions/register', {
    ...mutation,
    of: DomainManager,
    body: ClusterRegistrationSpec,
    ifMatch: 'required',
    dryRun: true,
  }),
  unregister: action('/management/domain-managers/{extId}/$actions/unregister', {
    ...mutation,
    of: DomainManager,
    body: ClusterReference,
    ifMatch: 'required',
    dryRun: true,
  }),
}
