import { names } from '../names.ts'
import { type EntityOf, get, list, perSecond, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { IPAddress } from '../shapes.ts'
import { clusterHostReaders, hostReaders } from './roles.ts'
import { fqdnPattern } from './settings.ts'

export const hypervisorType = s.enumeration(['AHV', 'ESX', 'HYPERV', 'XEN', 'NATIVEHOST'])

const ControllerVmReference = s.object('clustermgmt.v4.config.ControllerVmReference', {
  externalAddress: s.readOnly(IPAddress),
  backplaneAddress: s.readOnly(IPAddress),
  rdmaBackplaneAddress: s.readOnly(s.arrayOf(IPAddress, { maxItems: 1024 })),
  natIp: s.readOnly(IPAddress),
  natPort: s.readOnly(s.integer()),
  isInMaintenanceMode: s.readOnly(s.boolean()),
})

const DiskReference = s.object('clustermgmt.v4.config.DiskReference', {
  uuid: s.readOnly(s.uuid()),
  mountPath: s.readOnly(s.text()),
  serialId: s.readOnly(s.text()),
  sizeInBytes: s.readOnly(s.integer()),
  storageTier: s.readOnly(s.enumeration(['PCIE_SSD', 'SATA_SSD', 'HDD'])),
})

const HypervisorReference = s.object('clustermgmt.v4.config.HypervisorReference', {
  type: s.readOnly(hypervisorType),
  fullName: s.readOnly(s.text({ maxLength: 64 })),
  externalAddress: s.readOnly(IPAddress),
  userName: s.readOnly(s.text({ maxLength: 64 })),
  numberOfVms: s.readOnly(s.integer()),
  state: s.readOnly(
    s.enumeration(`
      ACROPOLIS_NORMAL, ENTERING_MAINTENANCE_MODE, ENTERED_MAINTENANCE_MODE, RESERVED_FOR_HA_FAILOVER,
      ENTERING_MAINTENANCE_MODE_FROM_HA_FAILOVER, RESERVING_FOR_HA_FAILOVER, HA_FAILOVER_SOURCE, HA_FAILOVER_TARGET,
      HA_HEALING_SOURCE, HA_HEALING_TARGET
    `),
  ),
  acropolisConnectionState: s.readOnly(s.enumeration(['CONNECTED', 'DISCONNECTED'])),
})

/** Clients write nothing here. Source: catalogue clustermgmt.json; behaviour clustermgmt.md 1.4, 2. */
export const Host = resource('clustermgmt.v4.config.Host', {
  fields: {
    hostName: s.text({ maxLength: 63 }),
    cluster: s.object('clustermgmt.v4.config.ClusterReference', {
      uuid: s.uuid(),
      name: s.visibleWith('Cluster', 'cluster/uuid', s.optional(s.text({ maxLength: 64 }))),
    }),
    hostType: s.readOnly(s.enumeration(['HYPER_CONVERGED', 'COMPUTE_ONLY', 'STORAGE_ONLY'])),
    nodeStatus: s.readOnly(
      s.enumeration(['NORMAL', 'TO_BE_REMOVED', 'OK_TO_BE_REMOVED', 'NEW_NODE', 'TO_BE_PREPROTECTED', 'PREPROTECTED']),
    ),
    maintenanceState: s.readOnly(s.text()),
    hypervisor: s.readOnly(HypervisorReference),
    controllerVm: s.readOnly(ControllerVmReference),
    disk: s.readOnly(s.arrayOf(DiskReference, { maxItems: 1024 })),
    ipmi: s.readOnly(
      s.object('clustermgmt.v4.config.IpmiReference', {
        ip: s.readOnly(IPAddress),
        username: s.readOnly(s.text({ maxLength: 64 })),
      }),
    ),
    cpuModel: s.readOnly(s.text()),
    cpuCapacityHz: s.readOnly(s.integer()),
    cpuFrequencyHz: s.readOnly(s.integer()),
    numberOfCpuCores: s.readOnly(s.integer()),
    numberOfCpuSockets: s.readOnly(s.integer()),
    numberOfCpuThreads: s.readOnly(s.integer()),
    memorySizeBytes: s.readOnly(s.integer()),
    bootTimeUsecs: s.readOnly(s.integer()),
    gpuDriverVersion: s.readOnly(s.text()),
    gpuList: s.readOnly(s.arrayOf(s.text(), { maxItems: 1024 })),
    blockModel: s.readOnly(s.text()),
    blockSerial: s.readOnly(s.text()),
    nodeSerial: s.since('v4.2', s.readOnly(s.text())),
    rackableUnitUuid: s.readOnly(s.uuid()),
    defaultVhdContainerUuid: s.readOnly(s.uuid()),
    defaultVhdLocation: s.readOnly(s.text()),
    defaultVmContainerUuid: s.readOnly(s.uuid()),
    defaultVmLocation: s.readOnly(s.text()),
    failoverClusterFqdn: s.readOnly(s.text({ pattern: fqdnPattern })),
    failoverClusterNodeStatus: s.readOnly(s.text()),
    hasCsr: s.readOnly(s.boolean()),
    isDegraded: s.readOnly(s.boolean()),
    isHardwareVirtualized: s.readOnly(s.boolean()),
    isRebootPending: s.readOnly(s.boolean()),
    isSecureBooted: s.readOnly(s.boolean()),
    keyManagementDeviceToCertStatus: s.readOnly(
      s.arrayOf(
        s.object('clustermgmt.v4.config.KeyManagementDeviceToCertStatusInfo', {
          isCertificatePresent: s.readOnly(s.boolean()),
          keyManagementServerName: s.readOnly(s.text({ maxLength: 64 })),
        }),
        { maxItems: 1024 },
      ),
    ),
  },
  iamNoun: 'Cluster_Host',
  // Set by the seed or the control interface; affinity policies read them.
  internal: {
    categories: s.arrayOf(s.referenceTo('Category')),
    position: s.optional(s.text()),
    // Name of the block's rack. Absent: it has none.
    rackName: s.optional(s.text()),
    // Default: 32 GiB. `next…` is there while the controller VM is being resized, or waits for it.
    controllerVmMemoryBytes: s.optional(s.integer()),
    nextControllerVmMemoryBytes: s.optional(s.integer()),
  },
  iam: { name: 'hostName', cluster_uuid: 'cluster/uuid', category_uuid: 'categories' },
  iamName: 'host',
  associationType: 'HOST',
  parent: { param: 'clusterExtId', kind: 'Cluster', field: 'cluster/uuid' },
  unique: [{ fields: ['cluster/uuid', 'hostName'] }],
  ofCluster: { by: 'cluster/uuid', keptByManager: ['categories'] },
})
export type Host = EntityOf<typeof Host>

const filter = names(`
  bootTimeUsecs, cluster/name, cluster/uuid, cpuCapacityHz, cpuFrequencyHz, cpuModel, defaultVhdContainerUuid,
  defaultVhdLocation, defaultVmContainerUuid, defaultVmLocation, extId, gpuDriverVersion, gpuList, hostName,
  hypervisor/type, memorySizeBytes, numberOfCpuCores, numberOfCpuSockets, numberOfCpuThreads
`)
const orderby = ['cluster/name', 'extId', 'hostName', 'hostType', 'hypervisor/type', 'memorySizeBytes']
const select = names(`
  blockModel, blockSerial, bootTimeUsecs, cluster, cpuCapacityHz, cpuFrequencyHz, cpuModel, defaultVhdContainerUuid,
  defaultVhdLocation, defaultVmContainerUuid, defaultVmLocation, failoverClusterFqdn, failoverClusterNodeStatus,
  gpuDriverVersion, gpuList, hostName, hostType, maintenanceState, memorySizeBytes, nodeStatus, numberOfCpuCores,
  numberOfCpuSockets, numberOfCpuThreads
`)

const view = { roles: clusterHostReaders, rateLimit: perSecond(10, 10, 15, 20) }

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
    ...view,
    envelope: 'clustermgmt.v4.config.ListHostsByClusterIdApiResponse',
    filter,
    orderby,
    select,
    apply: filter,
  }),
  getHostById: get('/config/clusters/{clusterExtId}/hosts/{extId}', Host, view),
}
