/** Source: specification 2.4; catalogue clustermgmt.json; behaviour clustermgmt.md 1.16, 2. */
import { action, type EntityOf, get, list, perSecond, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { clusterAdmins, clusterViewers } from './roles.ts'

/** The extension of this manager in the vCenter of an ESX cluster: one per cluster with a vCenter. */
export const VcenterExtension = resource('clustermgmt.v4.config.VcenterExtension', {
  fields: {
    clusterExtId: s.readOnly(s.uuid()),
    ipAddress: s.readOnly(s.text()),
    isRegistered: s.readOnly(s.boolean()),
  },
  title: 'vCenter extension',
  iamNoun: 'Vcenter_Extension',
  unique: [{ fields: ['clusterExtId'] }],
  ofCluster: { by: 'clusterExtId' },
})
export type VcenterExtension = EntityOf<typeof VcenterExtension>

/** Not stored. */
export const VcenterCredentials = s.object('clustermgmt.v4.config.VcenterCredentials', {
  username: s.text({ maxLength: 256 }),
  password: s.secret(s.text()),
  port: s.withDefault(s.integer({ minimum: 1, maximum: 65_535 }), 443),
})

const path = '/config/vcenter-extensions'
const view = { roles: clusterViewers, rateLimit: perSecond(5, 5, 10, 10) }
const mutation = {
  of: VcenterExtension,
  body: VcenterCredentials,
  roles: clusterAdmins,
  rateLimit: perSecond(1),
  requestId: 'required',
} as const

export const vcenterExtensionOperations = {
  listVcenterExtensions: list(path, VcenterExtension, {
    ...view,
    filter: ['clusterExtId', 'ipAddress', 'isRegistered'],
    select: 'any',
  }),
  getVcenterExtensionById: get(`${path}/{extId}`, VcenterExtension, view),
  registerVcenterExtension: action(`${path}/{extId}/$actions/register`, mutation),
  unregisterVcenterExtension: action(`${path}/{extId}/$actions/unregister`, mutation),
}
