/** Nodes join a cluster, and leave it. Source: catalogue clustermgmt.json; behaviour clustermgmt.md 1.3. */
import { action, perSecond } from '../operation.ts'
import * as s from '../schema.ts'
import { Cluster } from './cluster.ts'
import { hypervisorType } from './host.ts'
import { addressed, BundleInfo, described, luksStatus, placed, UplinkNetworkItem } from './node.ts'
import { clusterAdmins } from './roles.ts'

const NodeItem = s.object('clustermgmt.v4.config.NodeItem', {
  ...described,
  ...placed,
  ...addressed,
  hypervisorHostname: s.optional(
    s.text({
      maxLength: 63,
      pattern: '^(?!.*\\.\\.)(?!.*\\.-)(?!.*-\\.)(?!^\\d+$)[a-zA-Z\\d]([a-zA-Z\\d.-]*[a-zA-Z\\d])?$',
    }),
  ),
  luksStatus: luksStatus(),
  networks: s.optional(s.arrayOf(UplinkNetworkItem, { maxItems: 1024 })),
})

const { cvmIp: _, ...withoutStorage } = addressed
const ComputeNodeItem = s.object('clustermgmt.v4.config.ComputeNodeItem', {
  nodeUuid: described.nodeUuid,
  blockId: described.blockId,
  model: described.model,
  nodePosition: placed.nodePosition,
  digitalCertificateMapList: placed.digitalCertificateMapList,
  ...withoutStorage,
  hypervisorHostname: s.optional(s.text({ maxLength: 64 })),
})

const UserInfo = s.object('clustermgmt.v4.config.UserInfo', {
  clusterName: s.optional(s.text({ maxLength: 75 })),
  password: s.secret(s.text()),
  userName: s.optional(s.text({ maxLength: 64 })),
})

export const ExpandClusterParams = s.object('clustermgmt.v4.config.ExpandClusterParams', {
  nodeParams: s.object('clustermgmt.v4.config.NodeParam', {
    nodeList: s.optional(s.arrayOf(NodeItem, { maxItems: 1024 })),
    computeNodeList: s.optional(s.arrayOf(ComputeNodeItem, { maxItems: 1024 })),
    blockList: s.optional(
      s.arrayOf(
        s.object('clustermgmt.v4.config.BlockItem', {
          blockId: s.optional(s.text()),
          rackName: s.optional(s.text({ maxLength: 64 })),
        }),
        { maxItems: 1024 },
      ),
    ),
    bundleInfo: s.optional(BundleInfo),
    hypervSku: s.optional(s.text()),
    hypervisorIsos: s.optional(
      s.arrayOf(
        s.object('clustermgmt.v4.config.HypervisorIsoMap', {
          md5Sum: s.optional(s.text({ pattern: '^[a-fA-F0-9]{32}$' })),
          type: s.optional(hypervisorType),
        }),
        { maxItems: 1024 },
      ),
    ),
    shouldSkipHostNetworking: s.withDefault(s.boolean(), false),
  }),
  configParams: s.optionalObject('clustermgmt.v4.config.ConfigParams', {
    hyperv: s.optionalObject('clustermgmt.v4.config.HypervCredentials', {
      domainDetails: s.optional(UserInfo),
      failoverClusterDetails: s.optional(UserInfo),
    }),
    isComputeOnly: s.optional(s.boolean()),
    isNeverScheduleable: s.optional(s.boolean()),
    isNosCompatible: s.optional(s.boolean()),
    shouldSkipDiscovery: s.optional(s.boolean()),
    shouldSkipImaging: s.optional(s.boolean()),
    shouldValidateRackAwareness: s.optional(s.boolean()),
    targetHypervisor: s.optional(s.text()),
  }),
  shouldSkipAddNode: s.withDefault(s.boolean(), false),
  /** Only the existence of the nodes is checked. */
  shouldSkipPreExpandChecks: s.withDefault(s.boolean(), false),
})

export const NodeRemovalParams = s.object('clustermgmt.v4.config.NodeRemovalParams', {
  nodeUuids: s.arrayOf(s.uuid(), { minItems: 1, maxItems: 1024, uniqueItems: true }),
  shouldSkipPrechecks: s.withDefault(s.boolean(), false),
  shouldSkipRemove: s.withDefault(s.boolean(), false),
  extraParams: s.optionalObject('clustermgmt.v4.config.NodeRemovalExtraParam', {
    shouldSkipAddCheck: s.withDefault(s.boolean(), false),
    shouldSkipSpaceCheck: s.withDefault(s.boolean(), false),
    shouldSkipUpgradeCheck: s.withDefault(s.boolean(), false),
  }),
})

const path = '/config/clusters/{clusterExtId}/$actions'
const mutation = { of: Cluster, roles: clusterAdmins, rateLimit: perSecond(1), requestId: 'required' } as const

export const clusterExpansionOperations = {
  expandCluster: action(`${path}/expand-cluster`, { ...mutation, iam: 'Expand_Cluster', body: ExpandClusterParams }),
  removeNode: action(`${path}/remove-node`, { ...mutation, iam: 'Remove_Node', body: NodeRemovalParams }),
}
