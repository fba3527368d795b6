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
  '/config/clusters/{clusterExtId}/ssl-certificate': {
    getSSLCertificate: 'v4.2 GET',
    updateSSLCertificate: 'v4.2 PUT',
  },
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
  '/stats/disks': { getDiskStats: 'GET /{extId}' },
}
