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
  '/config/clusters/{clusterExtId}/rackable-units': { RackableUnit: 'list get' },
  '/config/clusters/{clusterExtId}/rsyslog-servers': { RsyslogServer: 'list create get update delete' },
  '/config/clusters/{clusterExtId}/snmp': {
    addSnmpTransport: 'POST /$actions/add-transports',
    getSnmpConfigByClusterId: 'GET',
    removeSnmpTransport: 'POST /$actions/remove-transports',
    updateSnmpStatus: 'POST /$actions/update-status',
  },
  '/config/clusters/{clusterExtId}/snmp/traps': { SnmpTrap: 'create get update delete' },
  '/config/clusters/{clusterExtId}/snmp/users': { SnmpUser: 'create get update delete' },
  '/config/storage-containers': { clearThickProvisionedSpace: 'v4.2 clear-thick-provisioned-space' },
  '/config/task-response': { fetchTaskResponse: 'GET /{extId}' },
  '/stats/disks': { getDiskStats: 'GET /{extId}' },
  '/stats/storage-containers': { getStorageContainerStats: 'GET /{extId}' },
}
