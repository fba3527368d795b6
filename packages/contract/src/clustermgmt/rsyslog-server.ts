/** Receivers of the log lines of a cluster. Source: catalogue clustermgmt.json; behaviour clustermgmt.md 1.11, 2. */
import { create, get, list, perSecond, remove, resource, update } from '../operation.ts'
import * as s from '../schema.ts'
import { clusterAdmins, clusterViewers } from './roles.ts'
import { rsyslogServerFields } from './settings.ts'

export const RsyslogServer = resource('clustermgmt.v4.config.RsyslogServer', {
  fields: { ...rsyslogServerFields, serverName: s.immutable(rsyslogServerFields.serverName) },
  iamNoun: 'Cluster_Rsyslog_Server',
  internal: {
    clusterExtId: s.uuid(),
    /** Address, port and protocol in one text. */
    receiver: s.text(),
  },
  parent: { param: 'clusterExtId', kind: 'Cluster', field: 'clusterExtId' },
  unique: [{ fields: ['clusterExtId', 'serverName'] }, { fields: ['clusterExtId', 'receiver'] }],
  ofCluster: { by: 'clusterExtId' },
})

const path = '/config/clusters/{clusterExtId}/rsyslog-servers'
const view = { roles: clusterViewers, rateLimit: perSecond(5, 5, 10, 10) }
const mutation = { roles: clusterAdmins, rateLimit: perSecond(1, 1, 5, 5) }

export const rsyslogServerOperations = {
  listRsyslogServersByClusterId: list(path, RsyslogServer, {
    ...view,
    envelope: 'clustermgmt.v4.config.ListRsyslogServersByClusterIdApiResponse',
    paged: false,
  }),
  createRsyslogServer: create(path, RsyslogServer, mutation),
  getRsyslogServerById: get(`${path}/{extId}`, RsyslogServer, view),
  updateRsyslogServerById: update(`${path}/{extId}`, RsyslogServer, mutation),
  deleteRsyslogServerById: remove(`${path}/{extId}`, RsyslogServer, mutation),
}
