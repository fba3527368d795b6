/** Users that sign and encrypt SNMP V3 messages of a cluster. Source: catalogue clustermgmt.json; behaviour clustermgmt.md 1.12, 2. */
import { create, get, perSecond, remove, resource, update } from '../operation.ts'
import * as s from '../schema.ts'
import { clusterAdmins, clusterViewers } from './roles.ts'
import { snmpUserFields } from './settings.ts'

export const SnmpUser = resource('clustermgmt.v4.config.SnmpUser', {
  fields: { ...snmpUserFields, username: s.immutable(snmpUserFields.username) },
  iamNoun: 'Cluster_SNMP_User',
  internal: { clusterExtId: s.uuid() },
  parent: { param: 'clusterExtId', kind: 'Cluster', field: 'clusterExtId' },
  unique: [{ fields: ['clusterExtId', 'username'] }],
  ofCluster: { by: 'clusterExtId' },
})

const path = '/config/clusters/{clusterExtId}/snmp/users'
const view = { roles: clusterViewers, rateLimit: perSecond(5, 5, 10, 10) }
const mutation = { roles: clusterAdmins, rateLimit: perSecond(1, 1, 5, 5) }

export const snmpUserOperations = {
  createSnmpUser: create(path, SnmpUser, mutation),
  getSnmpUserById: get(`${path}/{extId}`, SnmpUser, view),
  updateSnmpUserById: update(`${path}/{extId}`, SnmpUser, mutation),
  deleteSnmpUserById: remove(`${path}/{extId}`, SnmpUser, mutation),
}
