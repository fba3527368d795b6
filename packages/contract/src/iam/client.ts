/**
 * A service that registers operations and entities, such as `Networking`. Derived from this contract.
 * Source: catalogue iam.json; behaviour iam.md 7, 10.
 */
import { get, perSecond, resource } from '../operation.ts'
import { arrayOf, readOnly, text, timestamp, uuid } from '../schema.ts'

export const Client = resource(
  'iam.v4.authz.Client',
  {
    name: readOnly(text({ named: 'systemName' })),
    displayName: readOnly(text({ named: 'systemName' })),
    description: readOnly(text({ multiline: true })),
    deploymentList: readOnly(arrayOf(text())),
    createdBy: readOnly(uuid()),
    createdTime: readOnly(timestamp()),
    lastUpdatedTime: readOnly(timestamp()),
  },
  {
    iam: { name: 'client', attributes: { displayName: 'displayName', name: 'name' } },
    notFound: 'AUTHORIZATION_ENTITY_NOT_FOUND',
    derived: true,
  },
)

export const clientOperations = {
  getRegisteredClientById: get('/authz/clients/{extId}', Client, {
    envelope: 'iam.v4.authz.GetClientApiResponse',
    iam: 'View_Client',
    roles: 'everyone',
    rateLimit: perSecond(10, 10, 15, 20),
  }),
}
