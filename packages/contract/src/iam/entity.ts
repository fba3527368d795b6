/**
 * A kind that permissions apply to, with the attributes by which a policy can filter it. Derived from this contract.
 * Source: catalogue iam.json; behaviour iam.md 7, 9.3, 10.
 */
import { baseFields, get, list, perSecond, resource } from '../operation.ts'
import { arrayOf, boolean, enumeration, object, optional, readOnly, text, timestamp, uuid } from '../schema.ts'
import { policyReaders } from './roles.ts'

const AttributeEntity = object('iam.v4.authz.AttributeEntity', {
  ...baseFields,
  name: optional(text()),
  displayName: optional(text()),
  supportedOperators: optional(arrayOf(enumeration(['ALLOF', 'ANYOF', 'EQ', 'NONEOF', 'NOTEQ']))),
  attributeValues: optional(arrayOf(text())),
})

export const Entity = resource(
  'iam.v4.authz.Entity',
  {
    name: readOnly(text()),
    displayName: readOnly(text()),
    description: readOnly(text({ multiline: true })),
    clientName: readOnly(text({ named: 'systemName' })),
    attributeList: readOnly(arrayOf(AttributeEntity)),
    isLogicalAndSupportedForAttributes: readOnly(boolean()),
    /** Path of the list operation. */
    searchURL: readOnly(text({ named: 'href' })),
    createdBy: readOnly(uuid()),
    createdTime: readOnly(timestamp()),
    lastUpdatedTime: readOnly(timestamp()),
  },
  {
    iam: { name: 'entity', attributes: { displayName: 'displayName', name: 'name' } },
    notFound: 'AUTHORIZATION_ENTITY_NOT_FOUND',
    derived: true,
  },
)

export const entityOperations = {
  listEntities: list('/authz/entities', Entity, {
    iam: 'View_Entity',
    roles: policyReaders,
    rateLimit: perSecond(10, 10, 15, 20),
    filter: ['createdBy', 'createdTime', 'displayName', 'extId', 'lastUpdatedTime', 'name'],
    orderby: ['createdTime', 'displayName', 'extId', 'lastUpdatedTime', 'name'],
    select: [
      'clientName',
      'createdBy',
      'createdTime',
      'description',
      'displayName',
      'extId',
      'isLogicalAndSupportedForAttributes',
      'lastUpdatedTime',
      'name',
    ],
  }),
  getEntityById: get('/authz/entities/{extId}', Entity, {
    iam: 'View_Entity',
    roles: policyReaders,
    rateLimit: perSecond(10, 10, 15, 20),
  }),
}
