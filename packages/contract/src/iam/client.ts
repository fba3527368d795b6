/** A service that registers operations, derived from this contract. Source: catalogue iam.json; iam.md 7, 10. */
import { get, perSecond, resource } from '../operation.ts'
import * as s from '../schema.ts'

export const Client = resource('iam.v4.authz.Client', {
  fields: {
    name: s.readOnly(s.text({ named: 'systemName' })),
    displayName: s.readOnly(s.text({ named: 'systemName' })),
    description: s.readOnly(s.text({ multiline: true })),
    deploymentList: s.readOnly(s.arrayOf(s.text())),
    createdBy: s.readOnly(s.uuid()),
    createdTime: s.readOnly(s.timestamp()),
    lastUpdatedTime: s.readOnly(s.timestamp()),
  },
  iam: { displayName: 'displayName', name: 'name' },
  notFound: 'AUTHORIZATION_ENTITY_NOT_FOUND',
  derived: true,
})

export const clientOperations = {
  getRegisteredClientById: get('/authz/clients/{extId}', Client, {
    envelope: 'iam.v4.authz.GetClientApiResponse',
    roles: 'everyone',
    rateLimit: perSecond(10, 10, 15, 20),
  }),
}
