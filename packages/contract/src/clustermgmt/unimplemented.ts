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
  '/config/clusters/{clusterExtId}/ssl-certificate': {
    getSSLCertificate: 'v4.2 GET',
    updateSSLCertificate: 'v4.2 PUT',
  },
  '/config/storage-containers': { clearThickProvisionedSpace: 'v4.2 clear-thick-provisioned-space' },
  '/config/system-user-passwords': {
    SystemUserPassword: 'v4.2 list',
    changeSystemUserPasswordById: 'v4.2 change-password',
  },
  '/config/task-response': { fetchTaskResponse: 'GET /{extId}' },
  '/config/vcenter-extensions': {
    VcenterExtension: 'list get',
    registerVcenterExtension: 'register',
    unregisterVcenterExtension: 'unregister',
  },
  '/stats/storage-containers': { getStorageContainerStats: 'GET /{extId}' },
}
