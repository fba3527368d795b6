/** Results of tasks that read from nodes and clusters. Source: catalogue clustermgmt.json; behaviour clustermgmt.md 1.3. */
import { baseFields, perSecond, read } from '../operation.ts'
import { Task } from '../platform/task.ts'
import * as s from '../schema.ts'
import { IPAddress } from '../shapes.ts'
import { hypervisorType } from './host.ts'
import { luksStatus, macPattern } from './node.ts'
import { profileReaders } from './roles.ts'
import { configType } from './settings.ts'

const text = () => s.optional(s.text())
const flag = () => s.optional(s.boolean())
const list = <S extends s.AnySchema>(items: S) => s.optional(s.arrayOf(items, { maxItems: 1024 }))

const UnconfiguredNodeListItem = s.object('clustermgmt.v4.config.UnconfiguredNodeListItem', {
  arch: text(),
  attributes: s.optionalObject('clustermgmt.v4.config.UnconfiguredNodeAttributeMap', {
    defaultWorkload: text(),
    isModelSupported: flag(),
    isRoboMixedHypervisor: flag(),
    lcmFamily: text(),
    shouldWorkWith1GNic: flag(),
  }),
  clusterId: text(),
  cpuType: list(s.text()),
  currentCvmVlanTag: text(),
  currentNetworkInterface: text(),
  cvmIp: s.optional(IPAddress),
  foundationVersion: text(),
  hostType: s.optional(s.enumeration(['HYPER_CONVERGED', 'COMPUTE_ONLY', 'STORAGE_ONLY'])),
  hypervisorIp: s.optional(IPAddress),
  hypervisorType: s.optional(hypervisorType),
  hypervisorVersion: text(),
  interfaceIpv6: text(),
  ipmiIp: s.optional(IPAddress),
  isCvmExists: s.since('v4.2', flag()),
  isSecureBooted: flag(),
  luksStatus: luksStatus(),
  nodePosition: text(),
  nodeUuid: s.optional(s.uuid()),
  nosVersion: text(),
  rackableUnitMaxNodes: s.optional(s.integer()),
  rackableUnitModel: text(),
  rackableUnitSerial: text(),
})

export const UnconfigureNodeDetails = s.object('clustermgmt.v4.config.UnconfigureNodeDetails', {
  nodeList: s.arrayOf(UnconfiguredNodeListItem, { maxItems: 1024 }),
})

const NameNetworkRef = s.object('clustermgmt.v4.config.NameNetworkRef', {
  bondingMode: s.since(
    'v4.2',
    s.optional(s.enumeration(['NO_BOND', 'ACTIVE_BACKUP', 'ACTIVE_ACTIVE', 'ACTIVE_ACTIVE_WITH_MAC_PINNING'])),
  ),
  hypervisorType: s.optional(hypervisorType),
  name: text(),
  networks: list(s.text()),
  vswitchExtId: s.since('v4.2', text()),
  vswitchName: s.since('v4.2', text()),
  vswitchOwnerType: s.since('v4.2', s.optional(s.enumeration(['PRISM_ELEMENT', 'PRISM_CENTRAL']))),
})

const LldpConfig = s.object('clustermgmt.v4.config.LldpConfig', {
  switchHardwarePlatformDescription: text(),
  switchMacAddress: text(),
  switchManagementAddress: s.optional(IPAddress),
  switchName: text(),
  switchPortDescription: text(),
  switchPortName: text(),
  switchPortNativeVlanId: s.optional(s.integer()),
})

const NameMacRef = s.object('clustermgmt.v4.config.NameMacRef', {
  hostNicLabel: s.since('v4.2', text()),
  interfaceSpeedKbps: s.since('v4.2', s.optional(s.integer())),
  lldpConfig: s.since('v4.2', s.optional(LldpConfig)),
  mac: s.optional(s.text({ pattern: macPattern })),
  name: text(),
  status: s.since('v4.2', s.optional(s.enumeration(['UP', 'DOWN']))),
})

export const NodeNetworkingDetails = s.object('clustermgmt.v4.config.NodeNetworkingDetails', {
  networkInfo: s.object('clustermgmt.v4.config.NetworkInfo', { hci: list(NameNetworkRef), so: list(NameNetworkRef) }),
  uplinks: list(
    s.object('clustermgmt.v4.config.UplinkInfo', { cvmIp: s.optional(IPAddress), uplinkList: list(NameMacRef) }),
  ),
  warnings: list(s.text()),
})

const md5 = () => s.text({ pattern: '^[a-fA-F0-9]{32}$' })

export const HypervisorUploadInfo = s.object('clustermgmt.v4.config.HypervisorUploadInfo', {
  errorMessage: text(),
  uploadInfoNodeList: s.arrayOf(
    s.object('clustermgmt.v4.config.UploadInfoNodeItem', {
      availableHypervisorIsoError: text(),
      bundleName: text(),
      isHypervisorUploadRequired: flag(),
      isImagingMandatory: flag(),
      isNodeCompatible: flag(),
      md5Sum: s.optional(md5()),
      nodeUuid: s.optional(s.uuid()),
      requiredHypervisorType: s.optional(hypervisorType),
    }),
    { maxItems: 1024 },
  ),
})

export const ValidateBundleInfo = s.object('clustermgmt.v4.config.ValidateBundleInfo', { md5Sum: md5() })

export const NonCompatibleClusterReference = s.object('clustermgmt.v4.config.NonCompatibleClusterReference', {
  clusterExtId: s.optional(s.uuid()),
  configDrifts: s.optional(s.arrayOf(configType, { maxItems: 50 })),
})

export const taskResponseType = s.enumeration([
  'UNCONFIGURED_NODES',
  'NETWORKING_DETAILS',
  'HYPERVISOR_UPLOAD_INFO',
  'VALIDATE_BUNDLE_INFO',
  'NON_COMPATIBLE_CLUSTERS',
])

export const TaskResponse = s.object('clustermgmt.v4.config.TaskResponse', {
  ...baseFields,
  taskResponseType,
  response: s.oneOf(
    HypervisorUploadInfo,
    ValidateBundleInfo,
    s.arrayOf(NonCompatibleClusterReference),
    NodeNetworkingDetails,
    UnconfigureNodeDetails,
  ),
})

export const taskResponseOperations = {
  fetchTaskResponse: read('/config/task-response/{extId}', TaskResponse, {
    of: Task,
    envelope: 'clustermgmt.v4.config.FetchTaskApiResponse',
    iam: 'Fetch_Task_Response',
    roles: profileReaders,
    rateLimit: perSecond(5, 5, 10, 10),
    own: 'ownedBy/extId',
    pathSchemas: { extId: s.taskId({ isPrefixOptional: true }) },
    query: { taskResponseType },
  }),
}
