/** Status and transports of the SNMP agent of a cluster. Source: specification 2.4; catalogue clustermgmt.json; clustermgmt.md 1.12, 2. */
import { action, perSecond, read, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { Cluster } from './cluster.ts'
import { clusterAdmins, clusterViewers } from './roles.ts'
import { SnmpConfig, SnmpTransport } from './settings.ts'

/** Absent for a cluster whose settings were never changed. */
export const SnmpSettings = resource('internal.v1.clustermgmt.SnmpSettings', {
  fields: { clusterExtId: s.uuid(), isEnabled: s.boolean(), transports: s.arrayOf(SnmpTransport) },
  title: 'SNMP configuration',
  rel: 'clustermgmt:config:snmp-config',
  unique: [{ fields: ['clusterExtId'] }],
  ofCluster: { by: 'clusterExtId' },
})

export const SnmpStatusParam = s.object('clustermgmt.v4.config.SnmpStatusParam', { isEnabled: s.boolean() })

const path = '/config/clusters/{clusterExtId}/snmp'
const mutation = { of: Cluster, roles: clusterAdmins, rateLimit: perSecond(1, 1, 5, 5) }

export const snmpConfigOperations = {
  getSnmpConfigByClusterId: read(path, SnmpConfig, {
    of: Cluster,
    envelope: 'clustermgmt.v4.config.GetSnmpConfigByClusterIdApiResponse',
    iam: 'View_Cluster_SNMP',
    roles: clusterViewers,
    rateLimit: perSecond(5, 5, 10, 10),
  }),
  updateSnmpStatus: action(`${path}/$actions/update-status`, {
    ...mutation,
    body: SnmpStatusParam,
    iam: 'Update_Cluster_SNMP_Status',
  }),
  addSnmpTransport: action(`${path}/$actions/add-transports`, {
    ...mutation,
    body: SnmpTransport,
    envelope: 'clustermgmt.v4.config.AddSnmpTransportsApiResponse',
    iam: 'Add_Cluster_SNMP_Transport',
  }),
  removeSnmpTransport: action(`${path}/$actions/remove-transports`, {
    ...mutation,
    body: SnmpTransport,
    envelope: 'clustermgmt.v4.config.RemoveSnmpTransportsApiResponse',
    iam: 'Remove_Cluster_SNMP_Transport',
  }),
}
