import { action, get, list, perSecond, resource, update } from '../operation.ts'
import {
  arrayOf,
  boolean,
  enumeration,
  immutable,
  integer,
  object,
  optional,
  readOnly,
  referenceTo,
  secret,
  since,
  text,
  timestamp,
  uuid,
  withDefault,
} from '../schema.ts'
import { IPAddress, IPAddressOrFQDN, IPv4Address } from '../shapes.ts'
import { hypervisorType } from './host.ts'
import { clusterAdmins, clusterReaders } from './roles.ts'
import { configType, fqdnPattern, NtpServerConfig, nfsSubnetWhitelist, PulseStatus, SmtpServerRef } from './settings.ts'

const clusterFaultTolerance = enumeration(
  ['CFT_0N_AND_0D', 'CFT_1N_OR_1D', 'CFT_2N_OR_2D', 'CFT_1N_AND_1D', 'CFT_1N_OR_1D_STRICT', 'CFT_2N_OR_2D_STRICT'],
  { valuesSince: { CFT_1N_OR_1D_STRICT: 'v4.2', CFT_2N_OR_2D_STRICT: 'v4.2' } },
)

const FaultToleranceState = object('clustermgmt.v4.config.FaultToleranceState', {
  domainAwarenessLevel: optional(enumeration(['NODE', 'BLOCK', 'RACK', 'DISK'])),
  desiredClusterFaultTolerance: optional(clusterFaultTolerance),
  desiredMaxFaultTolerance: readOnly(integer()),
  currentClusterFaultTolerance: readOnly(clusterFaultTolerance),
  currentMaxFaultTolerance: readOnly(integer()),
  redundancyStatus: readOnly(
    object('clustermgmt.v4.config.RedundancyStatusDetails', {
      isCassandraPreparationDone: readOnly(boolean()),
      isZookeeperPreparationDone: readOnly(boolean()),
    }),
  ),
})

const BuildReference = object('clustermgmt.v4.config.BuildReference', {
  buildType: readOnly(text()),
  version: readOnly(text()),
  fullVersion: readOnly(text()),
  commitId: readOnly(text()),
  shortCommitId: readOnly(text()),
})

const SoftwareMapReference = object('clustermgmt.v4.config.SoftwareMapReference', {
  softwareType: readOnly(enumeration(['NOS', 'NCC', 'PRISM_CENTRAL'])),
  version: readOnly(text()),
})

const ClusterConfigReference = object('clustermgmt.v4.config.ClusterConfigReference', {
  // Hardware and function of a cluster cannot change.
  clusterFunction: immutable(
    optional(
      arrayOf(
        enumeration([
          'AOS',
          'PRISM_CENTRAL',
          'CLOUD_DATA_GATEWAY',
          'AFS',
          'ONE_NODE',
          'TWO_NODE',
          'ANALYTICS_PLATFORM',
        ]),
        { minItems: 1, maxItems: 7 },
      ),
    ),
  ),
  clusterArch: immutable(optional(enumeration(['X86_64', 'PPC64LE']))),
  clusterType: since('v4.2', immutable(optional(enumeration(['HYPER_CONVERGED', 'COMPUTE'])))),
  hypervisorTypes: readOnly(arrayOf(hypervisorType, { maxItems: 5 })),
  buildInfo: readOnly(BuildReference),
  clusterSoftwareMap: readOnly(arrayOf(SoftwareMapReference, { maxItems: 3 })),
  incarnationId: readOnly(integer()),
  isAvailable: readOnly(boolean()),
  isLts: readOnly(boolean()),
  isPasswordRemoteLoginEnabled: readOnly(boolean()),
  isRemoteSupportEnabled: readOnly(boolean()),
  timezone: readOnly(text()),
  redundancyFactor: optional(integer({ minimum: 1, maximum: 3 })),
  faultToleranceState: optional(FaultToleranceState),
  operationMode: optional(enumeration(['NORMAL', 'READ_ONLY', 'STAND_ALONE', 'SWITCH_TO_TWO_NODE', 'OVERRIDE'])),
  authorizedPublicKeyList: optional(
    arrayOf(object('clustermgmt.v4.config.PublicKey', { name: text({ maxLength: 1024 }), key: text() }), {
      maxItems: 1024,
    }),
  ),
  encryptionInTransitStatus: withDefault(enumeration(['ENABLED', 'DISABLED']), 'DISABLED'),
  encryptionOption: readOnly(arrayOf(enumeration(['SOFTWARE', 'HARDWARE', 'SOFTWARE_AND_HARDWARE']), { maxItems: 3 })),
  encryptionScope: readOnly(arrayOf(enumeration(['CLUSTER', 'CONTAINER']), { maxItems: 2 })),
  pulseStatus: withDefault(PulseStatus, { isEnabled: false, piiScrubbingLevel: 'DEFAULT' }),
})

const HttpProxyConfig = object('clustermgmt.v4.config.HttpProxyConfig', {
  name: text({ maxLength: 64 }),
  ipAddress: optional(IPAddress),
  port: optional(integer({ minimum: 1, maximum: 65535 })),
  username: optional(text({ maxLength: 64 })),
  password: secret(text()),
  proxyTypes: optional(arrayOf(enumeration(['HTTP', 'HTTPS', 'SOCKS']), { maxItems: 3 })),
})

const HttpProxyWhiteListConfig = object('clustermgmt.v4.config.HttpProxyWhiteListConfig', {
  target: text(),
  targetType: enumeration(['IPV4_ADDRESS', 'IPV6_ADDRESS', 'IPV4_NETWORK_MASK', 'DOMAIN_NAME_SUFFIX', 'HOST_NAME']),
})

export const ClusterNetworkReference = object('clustermgmt.v4.config.ClusterNetworkReference', {
  externalAddress: optional(IPAddress),
  externalDataServiceIp: optional(IPAddress),
  externalSubnet: readOnly(text()),
  internalSubnet: readOnly(text()),
  fqdn: optional(text({ pattern: fqdnPattern })),
  masqueradingIp: optional(IPAddress),
  masqueradingPort: readOnly(integer()),
  nameServerIpList: optional(arrayOf(IPAddressOrFQDN, { maxItems: 1024 })),
  ntpServerIpList: optional(arrayOf(IPAddressOrFQDN, { maxItems: 1024 })),
  ntpServerConfigList: since('v4.2', optional(arrayOf(NtpServerConfig))),
  smtpServer: optional(SmtpServerRef),
  nfsSubnetWhitelist: optional(nfsSubnetWhitelist),
  httpProxyList: optional(arrayOf(HttpProxyConfig, { maxItems: 1 })),
  httpProxyWhiteList: optional(arrayOf(HttpProxyWhiteListConfig, { maxItems: 1000 })),
  keyManagementServerType: optional(enumeration(['LOCAL', 'PRISM_CENTRAL', 'EXTERNAL'])),
  // Mirrors the vCenter extension of an ESX cluster.
  managementServer: readOnly(
    object('clustermgmt.v4.config.ManagementServerRef', {
      ip: readOnly(IPAddress),
      type: readOnly(enumeration(['VCENTER'])),
      isRegistered: readOnly(boolean()),
      isInUse: readOnly(boolean()),
      isDrsEnabled: readOnly(boolean()),
    }),
  ),
  backplane: immutable(
    optional(
      object('clustermgmt.v4.config.BackplaneNetworkParams', {
        isSegmentationEnabled: optional(boolean()),
        subnet: optional(IPv4Address),
        netmask: optional(IPv4Address),
        vlanTag: optional(integer({ minimum: 0, maximum: 4094 })),
      }),
    ),
  ),
})

const NodeReference = object('clustermgmt.v4.config.NodeReference', {
  numberOfNodes: readOnly(integer()),
  nodeList: readOnly(
    arrayOf(
      object('clustermgmt.v4.config.NodeListItemReference', {
        nodeUuid: readOnly(uuid()),
        controllerVmIp: readOnly(IPAddress),
        hostIp: readOnly(IPAddress),
      }),
      { maxItems: 1024 },
    ),
  ),
})

/**
 * Nodes that share a storage pool, a management address and settings. The manager itself is a cluster too:
 * `config.clusterFunction` then holds PRISM_CENTRAL. Categories and profile are set by actions, not here.
 * Source: specification 4.5, 5, 8; catalogue clustermgmt.json (fields, limits, list fields); behaviour clustermgmt.md
 * 1.2, 2.
 */
export const Cluster = resource(
  'clustermgmt.v4.config.Cluster',
  {
    name: text({ minLength: 1, maxLength: 75 }),
    config: optional(ClusterConfigReference),
    network: optional(ClusterNetworkReference),
    nodes: readOnly(NodeReference),
    // Name of a new cluster's default container; not stored.
    containerName: immutable(optional(text({ maxLength: 64 }))),
    categories: readOnly(arrayOf(referenceTo('Category'), { maxItems: 1024 })),
    clusterProfileExtId: readOnly(referenceTo('ClusterProfile')),
    upgradeStatus: readOnly(
      enumeration([
        'PENDING',
        'DOWNLOADING',
        'QUEUED',
        'PREUPGRADE',
        'UPGRADING',
        'SUCCEEDED',
        'FAILED',
        'CANCELLED',
        'SCHEDULED',
      ]),
    ),
    vmCount: readOnly(integer()),
    inefficientVmCount: readOnly(integer()),
    backupEligibilityScore: readOnly(integer()),
  },
  {
    iam: { name: 'cluster', attributes: { name: 'name', category_uuid: 'categories' } },
    rel: 'clustermgmt:config:cluster',
    counted: true,
    unique: [{ fields: ['name'], ignoreCase: true, error: 'CLUSTER_NAME_EXISTS' }],
    internal: {
      // Compliance with the cluster profile; the members of the profile are derived from it.
      compliance: object('', {
        isCompliant: boolean(),
        lastSyncedTime: timestamp(),
        configDrifts: arrayOf(configType),
      }),
      // Copies that every extent has; reaches redundancyFactor once the data has been copied.
      achievedRedundancyFactor: integer(),
    },
    sparsePut: true,
    ofCluster: { by: 'extId', keptByManager: ['categories', 'clusterProfileExtId', 'compliance'] },
  },
)

export const StorageSummaryProjection = object('clustermgmt.v4.config.StorageSummaryProjection', {
  clusterFaultTolerantCapacityInBytes: readOnly(integer()),
})

export const CategoryEntityReferences = object('clustermgmt.v4.config.CategoryEntityReferences', {
  categories: arrayOf(referenceTo('Category'), { minItems: 1, maxItems: 1024, uniqueItems: true }),
})

const filter = [
  'backupEligibilityScore',
  'clusterProfileExtId',
  'config/buildInfo/version',
  'config/clusterFunction',
  'config/encryptionInTransitStatus',
  'config/encryptionOption',
  'config/encryptionScope',
  'config/hypervisorTypes',
  'config/isAvailable',
  'extId',
  'name',
  'network/keyManagementServerType',
  'upgradeStatus',
]
const expand = {
  clusterProfile: { kind: 'ClusterProfile', by: 'clusterProfileExtId', into: 'clusterProfileProjection' },
  storageSummary: { into: 'storageSummaryProjection', shape: StorageSummaryProjection },
}

export const clusterOperations = {
  listClusters: list('/config/clusters', Cluster, {
    iam: 'View_Cluster',
    roles: clusterReaders,
    rateLimit: perSecond(10, 10, 15, 20),
    filter,
    orderby: [
      'backupEligibilityScore',
      'config/buildInfo/version',
      'config/isAvailable',
      'extId',
      'inefficientVmCount',
      'name',
      'network/keyManagementServerType',
      'nodes/numberOfNodes',
      'upgradeStatus',
      'vmCount',
    ],
    select: ['backupEligibilityScore', 'inefficientVmCount', 'name', 'upgradeStatus', 'vmCount'],
    expand,
    expandedType: 'clustermgmt.v4.config.ClusterProjection',
    apply: filter,
  }),
  getClusterById: get('/config/clusters/{extId}', Cluster, {
    iam: 'View_Cluster',
    roles: clusterReaders,
    rateLimit: perSecond(10, 10, 15, 20),
    expand,
  }),
  updateClusterById: update('/config/clusters/{extId}', Cluster, {
    iam: 'Update_Cluster',
    roles: [...clusterAdmins, 'Backup Admin'],
    rateLimit: perSecond(1),
    ifMatch: 'required',
  }),
  associateCategoriesToCluster: action('/config/clusters/{clusterExtId}/$actions/associate-categories', {
    of: Cluster,
    body: CategoryEntityReferences,
    iam: 'Associate_Cluster_Categories',
    roles: clusterAdmins,
    rateLimit: perSecond(1),
  }),
  disassociateCategoriesFromCluster: action('/config/clusters/{clusterExtId}/$actions/disassociate-categories', {
    of: Cluster,
    body: CategoryEntityReferences,
    iam: 'Disassociate_Cluster_Categories',
    roles: clusterAdmins,
    rateLimit: perSecond(1),
  }),
}
