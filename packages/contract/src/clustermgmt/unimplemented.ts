/** Operations that are known and not built yet. This list only shrinks. Source: catalogue clustermgmt.json. */
import type { Unimplemented } from '../unimplemented.ts'

export const unimplemented: Unimplemented = {
  '/config/clusters': { Cluster: 'create delete' },
  '/config/clusters/{clusterExtId}': {
    checkHypervisorRequirements: 'POST /$actions/check-hypervisor-requirements',
    discoverUnconfiguredNodes: 'POST /$actions/discover-unconfigured-nodes',
    expandCluster: 'POST /$actions/expand-cluster',
    fetchNodeNetworkingDetails: 'POST /$actions/fetch-node-networking-details',
    removeNode: 'POST /$actions/remove-node',
    validateNode: 'POST /$actions/validate-node',
  },
}
