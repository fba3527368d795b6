/**
 * A permission that roles contain, such as `Create_Category`, with the endpoints that require it. Derived from this
 * contract.
 * Source: catalogue iam.json; behaviour iam.md 7, 10.
 */
import { get, list, perSecond, resource } from '../operation.ts'
import { arrayOf, enumeration, object, optional, readOnly, text, timestamp, uuid } from '../schema.ts'
import { policyReaders } from './roles.ts'

const AssociatedEndpoint = object('iam.v4.authz.AssociatedEndpoint', {
  apiVersion: optional(enumeration(['V3', 'V4'])),
  /** URL without a version, the same in both naming profiles. */
  endpointUrl: optional(text()),
  httpMethod: optional(enumeration(['POST', 'GET', 'PUT', 'PATCH', 'DELETE'])),
})

export const Operation = resource(
  'iam.v4.authz.Operation',
  {
    displayName: readOnly(text({ named: 'systemName' })),
    description: readOnly(text({ multiline: true })),
    entityType: readOnly(text()),
    clientName: readOnly(text({ named: 'systemName' })),
    operationType: readOnly(enumeration(['INTERNAL', 'SYSTEM_DEFINED_ONLY', 'EXTERNAL'])),
    associatedEndpointList: readOnly(arrayOf(AssociatedEndpoint)),
    relatedOperationList: readOnly(arrayOf(uuid())),
    migrationActionNotes: readOnly(object('iam.v4.authz.MigrationActionNotes', { notes: text({ multiline: true }) })),
    createdTime: readOnly(timestamp()),
    lastUpdatedTime: readOnly(timestamp()),
  },
  {
    iam: { name: 'operation', attributes: { displayName: 'displayName', name: 'displayName' } },
    notFound: 'AUTHORIZATION_ENTITY_NOT_FOUND',
    derived: true,
  },
)

export const operationOperations = {
  listOperations: list('/authz/operations', Operation, {
    iam: 'View_Operation',
    roles: policyReaders,
    rateLimit: perSecond(10, 10, 15, 20),
    filter: ['clientName', 'createdTime', 'displayName', 'entityType', 'extId', 'lastUpdatedTime', 'operationType'],
    orderby: ['createdTime', 'displayName', 'entityType', 'extId', 'lastUpdatedTime'],
    select: [
      'associatedEndpointList',
      'clientName',
      'createdTime',
      'description',
      'displayName',
      'entityType',
      'extId',
      'lastUpdatedTime',
      'links',
      'operationType',
      'relatedOperationList',
      'tenantId',
    ],
  }),
  getOperationById: get('/authz/operations/{extId}', Operation, {
    iam: 'View_Operation',
    roles: policyReaders,
    rateLimit: perSecond(10, 10, 15, 20),
  }),
}
