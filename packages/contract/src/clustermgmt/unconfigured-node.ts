/** Questions about nodes of no cluster, each answered by a task. Source: catalogue clustermgmt.json; behaviour clustermgmt.md 1.3. */
import { action, perSecond } from '../operation.ts'
import * as s from '../schema.ts'
import { IPAddress } from '../shapes.ts'
import { Cluster } from './cluster.ts'
import { addressed, BundleInfo, described, luksStatus, placed, UplinkNetworkItem } from './node.ts'
import { clusterAdmins, profileReaders } from './roles.ts'

export const NodeDiscoveryParams = s.object('clustermgmt.v4.config.NodeDiscoveryParams', {
  addressType: s.withDefault(s.enumeration(['IPV4', 'IPV6']), 'IPV4'),
  interfaceFilterList: s.optional(s.arrayOf(s.text(), { maxItems: 1024 })),
  ipFilterList: s.optional(s.arrayOf(IPAddress, { maxItems: 1024 })),
  isManualDiscovery: s.withDefault(s.boolean(), false),
  /** Seconds in which nodes may answer. */
  timeout: s.withDefault(s.integer({ minimum: 1, maximum: 600 }), 60),
  uuidFilterList: s.optional(s.arrayOf(s.uuid(), { maxItems: 1024 })),
})

export const NodeDetails = s.object('clustermgmt.v4.config.NodeDetails', {
  nodeList: s.arrayOf(
    s.object('clustermgmt.v4.config.NodeListNetworkingDetails', {
      ...described,
      ...placed,
      ...addressed,
      isComputeOnly: s.optional(s.boolean()),
    }),
    { minItems: 1, maxItems: 1024 },
  ),
  requestType: s.withDefault(s.enumeration(['expand_cluster', 'npe']), 'expand_cluster'),
})

const UplinkNode = s.object('clustermgmt.v4.config.UplinkNode', {
  cvmIp: IPAddress,
  hypervisorIp: s.optional(IPAddress),
  networks: s.arrayOf(UplinkNetworkItem, { maxItems: 1024 }),
})

const BundleParam = s.object('clustermgmt.v4.config.BundleParam', {
  bundleInfo: BundleInfo,
  nodeList: s.arrayOf(
    s.object('clustermgmt.v4.config.NodeInfo', {
      ...described,
      ...placed,
      ...addressed,
      hypervisorHostname: s.optional(s.text({ maxLength: 64 })),
    }),
    { maxItems: 1024 },
  ),
})

export const ValidateNodeParam = s.object('clustermgmt.v4.config.ValidateNodeParam', {
  spec: s.oneOf(s.arrayOf(UplinkNode, { minItems: 1, maxItems: 1024 }), BundleParam),
})

export const HypervisorUploadParam = s.object('clustermgmt.v4.config.HypervisorUploadParam', {
  nodeList: s.arrayOf(
    s.object('clustermgmt.v4.config.HypervisorUploadNodeListItem', {
      ...described,
      isMinimumComputeNode: s.optional(s.boolean()),
      luksStatus: luksStatus(),
    }),
    { minItems: 1, maxItems: 1024 },
  ),
})

const path = '/config/clusters/{clusterExtId}/$actions'
const asking = { of: Cluster, roles: profileReaders, rateLimit: perSecond(1) } as const
const checking = { of: Cluster, roles: clusterAdmins, rateLimit: perSecond(1) } as const

export const unconfiguredNodeOperations = {
  discoverUnconfiguredNodes: action(`${path}/discover-unconfigured-nodes`, {
    ...asking,
    iam: 'Discover_Unconfigured_Nodes',
    body: NodeDiscoveryParams,
  }),
  fetchNodeNetworkingDetails: action(`${path}/fetch-node-networking-details`, {
    ...asking,
    iam: 'Fetch_Node_Networking_Details',
    body: NodeDetails,
  }),
  validateNode: action(`${path}/validate-node`, { ...checking, iam: 'Validate_Node', body: ValidateNodeParam }),
  checkHypervisorRequirements: action(`${path}/check-hypervisor-requirements`, {
    ...checking,
    iam: 'Check_Hypervisor_Requirements',
    body: HypervisorUploadParam,
  }),
}
