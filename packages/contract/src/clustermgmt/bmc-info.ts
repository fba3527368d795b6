import { type EntityOf, get, perSecond, resource, update } from '../operation.ts'
import * as s from '../schema.ts'
import { IPAddress } from '../shapes.ts'
import { clusterAdmins } from './roles.ts'

const BasicAuth = s.object('common.v1.config.BasicAuth', {
  username: s.text({ minLength: 3, maxLength: 256 }),
  password: s.secret(s.text({ minLength: 3, maxLength: 256 })),
})

/**
 * One row per host, under its extId; a probe (`status`) does not change the entity tag.
 * Source: specification 4.5, 5, 8; catalogue clustermgmt.json (fields, limits); behaviour clustermgmt.md 1.13.
 */
export const BmcInfo = resource('clustermgmt.v4.config.BmcInfo', {
  fields: {
    ipAddress: s.optional(IPAddress),
    credential: s.optional(BasicAuth),
    status: s.readOnly(s.enumeration(['VALID', 'INVALID', 'UNAVAILABLE'])),
  },
  bare: true,
  internal: { clusterExtId: s.uuid() },
  parent: { param: 'clusterExtId', kind: 'Cluster', field: 'clusterExtId' },
  rel: 'clustermgmt:config:host',
  ofCluster: { by: 'clusterExtId' },
})
export type BmcInfo = EntityOf<typeof BmcInfo>

const path = '/config/clusters/{clusterExtId}/hosts/{extId}/bmc-info'

export const bmcInfoOperations = {
  getBmcInfo: get(path, BmcInfo, {
    envelope: 'clustermgmt.v4.config.GetBmcInfoResponse',
    roles: [...clusterAdmins, 'Platform Viewer', 'User Admin'],
    rateLimit: perSecond(1, 1, 5, 5),
    deployments: ['on-prem'],
  }),
  updateBmcInfo: update(path, BmcInfo, {
    envelope: 'clustermgmt.v4.config.UpdateBmcInfoResponse',
    roles: clusterAdmins,
    rateLimit: perSecond(1, 1, 5, 5),
    deployments: ['on-prem'],
    requestId: 'required',
  }),
}
