/** A permission (`Create_Category`), derived from this contract. Source: catalogue iam.json; behaviour iam.md 7, 10. */
import { names } from '../names.ts'
import { get, list, perSecond, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { policyReaders } from './roles.ts'

const AssociatedEndpoint = s.object('iam.v4.authz.AssociatedEndpoint', {
  apiVersion: s.optional(s.enumeration(['V3', 'V4'])),
  /** Without a version, the same in both naming profiles. */
  endpointUrl: s.optional(s.text()),
  httpMethod: s.optional(s.enumeration(['POST', 'GET', 'PUT', 'PATCH', 'DELETE'])),
})

export const Operation = resource('iam.v4.authz.Operation', {
  fields: {
    displayName: s.readOnly(s.text({ named: 'systemName' })),
    description: s.readOnly(s.text({ multiline: true })),
    entityType: s.readOnly(s.text()),
    clientName: s.readOnly(s.text({ named: 'systemName' })),
    operationType: s.readOnly(s.enumeration(['INTERNAL', 'SYSTEM_DEFINED_ONLY', 'EXTERNAL'])),
    associatedEndpointList: s.readOnly(s.arrayOf(AssociatedEndpoint)),
    relatedOperationList: s.readOnly(s.arrayOf(s.uuid())),
    migrationActionNotes: s.readOnly(
      s.object('iam.v4.authz.MigrationActionNotes', { notes: s.text({ multiline: true }) }),
    ),
    createdTime: s.readOnly(s.timestamp()),
    lastUpdatedTime: s.readOnly(s.timestamp()),
  },
  iam: { displayName: 'displayName', name: 'displayName' },
  notFound: 'AUTHORIZATION_ENTITY_NOT_FOUND',
  derived: true,
})

const view = { roles: policyReaders, rateLimit: perSecond(10, 10, 15, 20) }

export const operationOperations = {
  listOperations: list('/authz/operations', Operation, {
    ...view,
    filter: ['clientName', 'createdTime', 'displayName', 'entityType', 'extId', 'lastUpdatedTime', 'operationType'],
    orderby: ['createdTime', 'displayName', 'entityType', 'extId', 'lastUpdatedTime'],
    select: names(`
      associatedEndpointList, clientName, createdTime, description, displayName, entityType, extId, lastUpdatedTime,
      links, operationType, relatedOperationList, tenantId
    `),
  }),
  getOperationById: get('/authz/operations/{extId}', Operation, view),
}
