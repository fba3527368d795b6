import { get, list, perSecond, resource } from '../operation.ts'
import {
  arrayOf,
  boolean,
  enumeration,
  integer,
  object,
  optional,
  readOnly,
  referenceTo,
  since,
  text,
  uuid,
  visibleWith,
} from '../schema.ts'
import { IPAddress } from '../shapes.ts'
import { clusterHostReaders, hostReaders } from './roles.ts'
import { fqdnPattern } from './settings.ts'

export const hypervisorType = enumeration(['AHV', 'ESX', 'HYPERV', 'XEN', 'NATIVEHOST'])

const ControllerVmReference = object('clustermgmt.v4.config.ControllerVmReference', {
  externalAddress: readOnly(IPAddress),
  backplaneAddress: readOnly(IPAddress),
  rdmaBackplaneAddress: readOnly(arrayOf(IPAddress, { maxItems: 1024 })),
  natIp: readOnly(IPAddress),
  natPort: readOnly(integer()),
  isInMaintenanceMode: readOnly(boolean()),
})

const DiskReference = object('clustermgmt.v4.config.DiskReference', {
  uuid: readOnly(uuid()),
  mountPath: readOnly(text()),
  serialId: readOnly(text()),
  sizeInBytes: readOnly(integer()),
  storageTier: readOnly(enumeration(['PCIE_SSD', 'SATA_SSD', 'HDD'])),
})

const HypervisorReference = object('clustermgmt.v4.config.HypervisorReference', {
  type: readOnly(hypervisorType),
  fullName: readOnly(text({ maxLength: 64 })),
  externalAddress: readOnly(IPAddress),
  userName: readOnly(text({ maxLength: 64 })),
  numberOfVms: readOnly(integer()),
  state: readOnly(
    enumeration([
      'ACROPOLIS_NORMAL',
      'ENTERING_MAINTENANCE_MODE',
      'ENTERED_MAINTENANCE_MODE',
      'RESERVED_FOR_HA_FAILOVER',
      'ENTERING_MAINTENANCE_MODE_FROM_HA_FAILOVER',
      'RESERVING_FOR_HA_FAILOVER',
      'HA_FAILOVER_SOURCE',
      'HA_FAILOVER_TARGET',
      'HA_HEALING_SOURCE',
      'HA_HEALING_TARGET',
    ]),
  ),
  acropolisConnectionState: readOnly(enumeration(['CONNECTED', 'DISCONNECTED'])),
})

/**
 * A configured node of a cluster. Nothing here is written by clients.
 * Source: catalogue clustermgmt.json (fields, limits, list fields); behaviour clustermgmt.md 1.4, 2.
 */
export const Host = resource(
  'clustermgmt.v4.config.Host',
  {
    hostName: text({ maxLength: 63 }),
    cluster: object('clustermgmt.v4.config.ClusterReference', {
      uuid: uuid(),
      name: visibleWith('Cluster', 'cluster/uuid', optional(text({ maxLength: 64 }))),
    }),
    hostType: readOnly(enumeration(['HYPER_CONVERGED', 'COMPUTE_ONLY', 'STORAGE_ONLY'])),
    nodeStatus: readOnly(
      enumeration(['NORMAL', 'TO_BE_REMOVED', 'OK_TO_BE_REMOVED', 'NEW_NODE', 'TO_BE_PREPROTECTED', 'PREPROTECTED']),
    ),
    maintenanceState: readOnly(text()),
    hypervisor: readOnly(HypervisorReference),
    controllerVm: readOnly(ControllerVmReference),
    disk: readOnly(arrayOf(DiskReference, { maxItems: 1024 })),
    ipmi: readOnly(
      object('clustermgmt.v4.config.IpmiReference', {
        ip: readOnly(IPAddress),
        username: readOnly(text({ maxLength: 64 })),
      }),
    ),
    cpuModel: readOnly(text()),
    cpuCapacityHz: readOnly(integer()),
    cpuFrequencyHz: readOnly(integer()),
    numberOfCpuCores: readOnly(integer()),
    numberOfCpuSockets: readOnly(integer()),
    numberOfCpuThreads: readOnly(integer()),
    memorySizeBytes: readOnly(integer()),
    bootTimeUsecs: readOnly(integer()),
    gpuDriverVersion: readOnly(text()),
    gpuList: readOnly(arrayOf(text(), { maxItems: 1024 })),
    blockModel: readOnly(text()),
    blockSerial: readOnly(text()),
    nodeSerial: since('v4.2', readOnly(text())),
    rackableUnitUuid: readOnly(uuid()),
    defaultVhdContainerUuid: readOnly(uuid()),
    defaultVhdLocation: readOnly(text()),
    defaultVmContainerUuid: readOnly(uuid()),
    defaultVmLocation: readOnly(text()),
    failoverClusterFqdn: readOnly(text({ pattern: fqdnPattern })),
    failoverClusterNodeStatus: readOnly(text()),
    hasCsr: readOnly(boolean()),
    isDegraded: readOnly(boolean()),
    isHardwareVirtualized: readOnly(boolean()),
    isRebootPending: readOnly(boolean()),
    isSecureBooted: readOnly(boolean()),
    keyManagementDeviceToCertStatus: readOnly(
      arrayOf(
        object('clustermgmt.v4.config.KeyManagementDeviceToCertStatusInfo', {
          isCertificatePresent: readOnly(boolean()),
          keyManagementServerName: readOnly(text({ maxLength: 64 })),
        }),
        { maxItems: 1024 },
      ),
    ),
  },
  {
    // Categories of a host come from the seed or the control interface; affinity policies read them.
    internal: { categories: arrayOf(referenceTo('Category')) },
    iam: {
      name: 'host',
      attributes: { name: 'hostName', cluster_uuid: 'cluster/uuid', category_uuid: 'categories' },
    },
    rel: 'clustermgmt:config:host',
    parent: { param: 'clusterExtId', kind: 'Cluster', field: 'cluster/uuid' },
    unique: [{ fields: ['cluster/uuid', 'hostName'] }],
    ofCluster: { by: 'cluster/uuid', keptByManager: ['categories'] },
  },
)

const filter = [
  'bootTimeUsecs',
  'cluster/name',
  'cluster/uuid',
  'cpuCapacityHz',
  'cpuFrequencyHz',
  'cpuModel',
  'defaultVhdContainerUuid',
  'defaultVhdLocation',
  'defaultVmContainerUuid',
  'defaultVmLocation',
  'extId',
  'gpuDriverVersion',
  'gpuList',
  'hostName',
  'hypervisor/type',
  'memorySizeBytes',
  'numberOfCpuCores',
  'numberOfCpuSockets',
  'numberOfCpuThreads',
]
const orderby = ['cluster/name', 'extId', 'hostName', 'hostType', 'hypervisor/type', 'memorySizeBytes']
const select = [
  'blockModel',
  'blockSerial',
  'bootTimeUsecs',
  'cluster',
  'cpuCapacityHz',
  'cpuFrequencyHz',
  'cpuModel',
  'defaultVhdContainerUuid',
  'defaultVhdLocation',
  'defaultVmContainerUuid',
  'defaultVmLocation',
  'failoverClusterFqdn',
  'failoverClusterNodeStatus',
  'gpuDriverVersion',
  'gpuList',
  'hostName',
  'hostType',
  'maintenanceState',
  'memorySizeBytes',
  'nodeStatus',
  'numberOfCpuCores',
  'numberOfCpuSockets',
  'numberOfCpuThreads',
]

export const hostOperations = {
  listHosts: list('/config/hosts', Host, {
    iam: 'View_Host',
    roles: hostReaders,
    rateLimit: perSecond(10, 10, 15, 20),
    filter,
    orderby: [...orderby, 'controllerVm/externalAddress/ipv4/value', 'controllerVm/externalAddress/ipv6/value'],
    select,
    apply: filter,
  }),
  listHostsByClusterId: list('/config/clusters/{clusterExtId}/hosts', Host, {
    envelope: 'clustermgmt.v4.config.ListHostsByClusterIdApiResponse',
    iam: 'View_Cluster_Host',
    roles: clusterHostReaders,
    rateLimit: perSecond(10, 10, 15, 20),
    filter,
    orderby,
    select,
    apply: filter,
  }),
  getHostById: get('/config/clusters/{clusterExtId}/hosts/{extId}', Host, {
    iam: 'View_Cluster_Host',
    roles: clusterHostReaders,
    rateLimit: perSecond(10, 10, 15, 20),
  }),
}
