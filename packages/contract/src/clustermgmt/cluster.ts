import { names } from '../names.ts'
import { action, create, type EntityOf, get, list, perSecond, remove, resource, update } from '../operation.ts'
import * as s from '../schema.ts'
import { IPAddress, IPAddressOrFQDN, IPv4Address } from '../shapes.ts'
import { hypervisorType } from './host.ts'
import { clusterAdmins, clusterReaders } from './roles.ts'
import {
  configType,
  fqdnPattern,
  HttpProxyConfig,
  HttpProxyWhiteListConfig,
  NtpServerConfig,
  nfsSubnetWhitelist,
  PulseStatus,
  SmtpServerRef,
} from './settings.ts'

const clusterFaultTolerance = s.enumeration(
  ['CFT_0N_AND_0D', 'CFT_1N_OR_1D', 'CFT_2N_OR_2D', 'CFT_1N_AND_1D', 'CFT_1N_OR_1D_STRICT', 'CFT_2N_OR_2D_STRICT'],
  { valuesSince: { CFT_1N_OR_1D_STRICT: 'v4.2', CFT_2N_OR_2D_STRICT: 'v4.2' } },
)

const FaultToleranceState = s.object('clustermgmt.v4.config.FaultToleranceState', {
  domainAwarenessLevel: s.optional(s.enumeration(['NODE', 'BLOCK', 'RACK', 'DISK'])),
  desiredClusterFaultTolerance: s.optional(clusterFaultTolerance),
  desiredMaxFaultTolerance: s.readOnly(s.integer()),
  currentClusterFaultTolerance: s.readOnly(clusterFaultTolerance),
  currentMaxFaultTolerance: s.readOnly(s.integer()),
  redundancyStatus: s.readOnly(
    s.object('clustermgmt.v4.config.RedundancyStatusDetails', {
      isCassandraPreparationDone: s.readOnly(s.boolean()),
      isZookeeperPreparationDone: s.readOnly(s.boolean()),
    }),
  ),
})

const BuildReference = s.object('clustermgmt.v4.config.BuildReference', {
  buildType: s.readOnly(s.text()),
  version: s.readOnly(s.text()),
  fullVersion: s.readOnly(s.text()),
  commitId: s.readOnly(s.text()),
  shortCommitId: s.readOnly(s.text()),
})

const SoftwareMapReference = s.object('clustermgmt.v4.config.SoftwareMapReference', {
  softwareType: s.readOnly(s.enumeration(['NOS', 'NCC', 'PRISM_CENTRAL'])),
  version: s.readOnly(s.text()),
})

const ClusterConfigReference = s.object('clustermgmt.v4.config.ClusterConfigReference', {
  clusterFunction: s.immutable(
    s.optional(
      s.arrayOf(s.enumeration('AOS, PRISM_CENTRAL, CLOUD_DATA_GATEWAY, AFS, ONE_NODE, TWO_NODE, ANALYTICS_PLATFORM'), {
        minItems: 1,
        maxItems: 7,
      }),
    ),
  ),
  clusterArch: s.immutable(s.optional(s.enumeration(['X86_64', 'PPC64LE']))),
  clusterType: s.since('v4.2', s.immutable(s.optional(s.enumeration(['HYPER_CONVERGED', 'COMPUTE'])))),
  hypervisorTypes: s.readOnly(s.arrayOf(hypervisorType, { maxItems: 5 })),
  buildInfo: s.readOnly(BuildReference),
  clusterSoftwareMap: s.readOnly(s.arrayOf(SoftwareMapReference, { maxItems: 3 })),
  incarnationId: s.readOnly(s.integer()),
  isAvailable: s.readOnly(s.boolean()),
  isLts: s.readOnly(s.boolean()),
  isPasswordRemoteLoginEnabled: s.readOnly(s.boolean()),
  isRemoteSupportEnabled: s.readOnly(s.boolean()),
  timezone: s.readOnly(s.text()),
  redundancyFactor: s.optional(s.integer({ minimum: 1, maximum: 3 })),
  faultToleranceState: s.optional(FaultToleranceState),
  operationMode: s.optional(s.enumeration(['NORMAL', 'READ_ONLY', 'STAND_ALONE', 'SWITCH_TO_TWO_NODE', 'OVERRIDE'])),
  authorizedPublicKeyList: s.optional(
    s.arrayOf(s.object('clustermgmt.v4.config.PublicKey', { name: s.text({ maxLength: 1024 }), key: s.text() }), {
      maxItems: 1024,
    }),
  ),
  encryptionInTransitStatus: s.withDefault(s.enumeration(['ENABLED', 'DISABLED']), 'DISABLED'),
  encryptionOption: s.readOnly(
    s.arrayOf(s.enumeration(['SOFTWARE', 'HARDWARE', 'SOFTWARE_AND_HARDWARE']), { maxItems: 3 }),
  ),
  encryptionScope: s.readOnly(s.arrayOf(s.enumeration(['CLUSTER', 'CONTAINER']), { maxItems: 2 })),
  pulseStatus: s.withDefault(PulseStatus, { isEnabled: false, piiScrubbingLevel: 'DEFAULT' }),
})

export const ClusterNetworkReference = s.object('clustermgmt.v4.config.ClusterNetworkReference', {
  externalAddress: s.optional(IPAddress),
  externalDataServiceIp: s.optional(IPAddress),
  externalSubnet: s.readOnly(s.text()),
  internalSubnet: s.readOnly(s.text()),
  fqdn: s.optional(s.text({ pattern: fqdnPattern })),
  masqueradingIp: s.optional(IPAddress),
  masqueradingPort: s.readOnly(s.integer()),
  nameServerIpList: s.optional(s.arrayOf(IPAddressOrFQDN, { maxItems: 1024 })),
  ntpServerIpList: s.optional(s.arrayOf(IPAddressOrFQDN, { maxItems: 1024 })),
  ntpServerConfigList: s.since('v4.2', s.optional(s.arrayOf(NtpServerConfig))),
  smtpServer: s.optional(SmtpServerRef),
  nfsSubnetWhitelist: s.optional(nfsSubnetWhitelist),
  httpProxyList: s.optional(s.arrayOf(HttpProxyConfig, { maxItems: 1 })),
  httpProxyWhiteList: s.optional(s.arrayOf(HttpProxyWhiteListConfig, { maxItems: 1000 })),
  keyManagementServerType: s.optional(s.enumeration(['LOCAL', 'PRISM_CENTRAL', 'EXTERNAL'])),
  managementServer: s.readOnly(
    s.object('clustermgmt.v4.config.ManagementServerRef', {
      ip: s.readOnly(IPAddress),
      type: s.readOnly(s.enumeration(['VCENTER'])),
      isRegistered: s.readOnly(s.boolean()),
      isInUse: s.readOnly(s.boolean()),
      isDrsEnabled: s.readOnly(s.boolean()),
    }),
  ),
  backplane: s.immutable(
    s.optionalObject('clustermgmt.v4.config.BackplaneNetworkParams', {
      isSegmentationEnabled: s.optional(s.boolean()),
      subnet: s.optional(IPv4Address),
      netmask: s.optional(IPv4Address),
      vlanTag: s.optional(s.integer({ minimum: 0, maximum: 4094 })),
    }),
  ),
})

const NodeReference = s.object('clustermgmt.v4.config.NodeReference', {
  numberOfNodes: s.readOnly(s.integer()),
  nodeList: s.optional(
    s.arrayOf(
      s.object('clustermgmt.v4.config.NodeListItemReference', {
        nodeUuid: s.readOnly(s.uuid()),
        controllerVmIp: s.optional(IPAddress),
        hostIp: s.optional(IPAddress),
      }),
      { maxItems: 1024 },
    ),
  ),
})

/**
 * The manager too is a cluster (PRISM_CENTRAL). Actions set categories and profile. Source: specification 4.5, 5, 8; clustermgmt.md 1.2, 2.
 */
export const Cluster = resource('clustermgmt.v4.config.Cluster', {
  fields: {
    name: s.text({ minLength: 1, maxLength: 75 }),
    config: s.optional(ClusterConfigReference),
    network: s.optional(ClusterNetworkReference),
    // Nodes of a new cluster; an update ignores them.
    nodes: s.optional(NodeReference),
    // Name of a new cluster's default container; not stored.
    containerName: s.immutable(s.optional(s.text({ maxLength: 64 }))),
    categories: s.readOnly(s.arrayOf(s.referenceTo('Category'), { maxItems: 1024 })),
    clusterProfileExtId: s.readOnly(s.referenceTo('ClusterProfile')),
    upgradeStatus: s.readOnly(
      s.enumeration('PENDING, DOWNLOADING, QUEUED, PREUPGRADE, UPGRADING, SUCCEEDED, FAILED, CANCELLED, SCHEDULED'),
    ),
    vmCount: s.readOnly(s.integer()),
    inefficientVmCount: s.readOnly(s.integer()),
    backupEligibilityScore: s.readOnly(s.integer()),
  },
  iam: { name: 'name', category_uuid: 'categories' },
  associationType: 'CLUSTER',
  counted: true,
  unique: [{ fields: ['name'], ignoreCase: true, error: 'CLUSTER_NAME_EXISTS' }],
  internal: {
    // The members of the profile are derived from it.
    compliance: s.object('', {
      isCompliant: s.boolean(),
      lastSyncedTime: s.timestamp(),
      configDrifts: s.arrayOf(configType),
    }),
    // Copies that every extent has; reaches redundancyFactor once the data has been copied.
    achievedRedundancyFactor: s.integer(),
  },
  sparsePut: true,
  ofCluster: { by: 'extId', keptByManager: ['categories', 'clusterProfileExtId', 'compliance'] },
  // The cluster of the manager itself runs no VMs.
  isInNewWorld: ({ config }) => !config?.clusterFunction?.includes('AOS'),
})
export type Cluster = EntityOf<typeof Cluster>

export const StorageSummaryProjection = s.object('clustermgmt.v4.config.StorageSummaryProjection', {
  clusterFaultTolerantCapacityInBytes: s.readOnly(s.integer()),
})

export const CategoryEntityReferences = s.object('clustermgmt.v4.config.CategoryEntityReferences', {
  categories: s.arrayOf(s.referenceTo('Category'), { minItems: 1, maxItems: 1024, uniqueItems: true }),
})

const filter = names(`
  backupEligibilityScore, clusterProfileExtId, config/buildInfo/version, config/clusterFunction,
  config/encryptionInTransitStatus, config/encryptionOption, config/encryptionScope, config/hypervisorTypes,
  config/isAvailable, extId, name, network/keyManagementServerType, upgradeStatus
`)
const expand = {
  clusterProfile: { kind: 'ClusterProfile', by: 'clusterProfileExtId', into: 'clusterProfileProjection' },
  storageSummary: { into: 'storageSummaryProjection', shape: StorageSummaryProjection },
}

const view = { roles: clusterReaders, rateLimit: perSecond(10, 10, 15, 20) }
const mutation = { of: Cluster, roles: clusterAdmins, rateLimit: perSecond(1) }

export const clusterOperations = {
  listClusters: list('/config/clusters', Cluster, {
    ...view,
    filter,
    orderby: names(`
      backupEligibilityScore, config/buildInfo/version, config/isAvailable, extId, inefficientVmCount, name,
      network/keyManagementServerType, nodes/numberOfNodes, upgradeStatus, vmCount
    `),
    select: ['backupEligibilityScore', 'inefficientVmCount', 'name', 'upgradeStatus', 'vmCount'],
    expand,
    expandedType: 'clustermgmt.v4.config.ClusterProjection',
    apply: filter,
  }),
  getClusterById: get('/config/clusters/{extId}', Cluster, { ...view, expand }),
  createCluster: create('/config/clusters', Cluster, {
    roles: clusterAdmins,
    rateLimit: perSecond(1),
    requestId: 'required',
    dryRun: true,
  }),
  deleteClusterById: remove('/config/clusters/{extId}', Cluster, {
    roles: clusterAdmins,
    rateLimit: perSecond(1),
    requestId: 'required',
    dryRun: true,
  }),
  updateClusterById: update('/config/clusters/{extId}', Cluster, {
    roles: [...clusterAdmins, 'Backup Admin'],
    rateLimit: perSecond(1),
  }),
  associateCategoriesToCluster: action('/config/clusters/{clusterExtId}/$actions/associate-categories', {
    ...mutation,
    body: CategoryEntityReferences,
    iam: 'Associate_Cluster_Categories',
  }),
  disassociateCategoriesFromCluster: action('/config/clusters/{clusterExtId}/$actions/disassociate-categories', {
    ...mutation,
    body: CategoryEntityReferences,
    iam: 'Disassociate_Cluster_Categories',
  }),
}
