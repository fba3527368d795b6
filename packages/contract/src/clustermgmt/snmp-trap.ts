/** Receivers of the alerts of a cluster over SNMP. Source: catalogue clustermgmt.json; behaviour clustermgmt.md 1.12, 2. */
import { create, get, perSecond, remove, resource, update } from '../operation.ts'
import * as s from '../schema.ts'
import { clusterAdmins, clusterViewers } from './roles.ts'
import { snmpTrapFields } from './settings.ts'

export const SnmpTrap = resource('clustermgmt.v4.config.SnmpTrap', {
  fields: snmpTrapFields,
  iamNoun: 'Cluster_SNMP_Trap',
  internal: {
    clusterExtId: s.uuid(),
    /** Address, port and username. */
    receiver: s.text(),
  },
  parent: { param: 'clusterExtId', kind: 'Cluster', field: 'clusterExtId' },
  unique: [{ fields: ['clusterExtId', 'receiver'], error: 'SNMP_TRAP_EXISTS' }],
  ofCluster: { by: 'clusterExtId' },
})

const path = '/config/clusters/{clusterExtId}/snmp/traps'
const view = { roles: clusterViewers, rateLimit: perSecond(5, 5, 10, 10) }
const mutation = { roles: clusterAdmins, rateLimit: perSecond(1, 1, 5, 5) }

export const snmpTrapOperations = {
  createSnmpTrap: create(path, SnmpTrap, mutation),
  getSnmpTrapById: get(`${path}/{extId}`, SnmpTrap, view),
  updateSnmpTrapById: update(`${path}/{extId}`, SnmpTrap, mutation),
  deleteSnmpTrapById: remove(`${path}/{extId}`, SnmpTrap, mutation),
}
