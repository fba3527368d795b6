/** A kind that policies can filter, from this contract. Source: catalogue iam.json; behaviour iam.md 7, 9.3, 10. */
import { names } from '../names.ts'
import { baseFields, get, list, perSecond, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { policyReaders } from './roles.ts'

const AttributeEntity = s.object('iam.v4.authz.AttributeEntity', {
  ...baseFields,
  name: s.optional(s.text()),
  displayName: s.optional(s.text()),
  supportedOperators: s.optional(s.arrayOf(s.enumeration(['ALLOF', 'ANYOF', 'EQ', 'NONEOF', 'NOTEQ']))),
  attributeValues: s.optional(s.arrayOf(s.text())),
})

export const Entity = resource('iam.v4.authz.Entity', {
  fields: {
    name: s.readOnly(s.text()),
    displayName: s.readOnly(s.text()),
    description: s.readOnly(s.text({ multiline: true })),
    clientName: s.readOnly(s.text({ named: 'systemName' })),
    attributeList: s.readOnly(s.arrayOf(AttributeEntity)),
    isLogicalAndSupportedForAttributes: s.readOnly(s.boolean()),
    searchURL: s.readOnly(s.text({ named: 'href' })),
    createdBy: s.readOnly(s.uuid()),
    createdTime: s.readOnly(s.timestamp()),
    lastUpdatedTime: s.readOnly(s.timestamp()),
  },
  iam: { displayName: 'displayName', name: 'name' },
  notFound: 'AUTHORIZATION_ENTITY_NOT_FOUND',
  derived: true,
})

const view = { roles: policyReaders, rateLimit: perSecond(10, 10, 15, 20) }

export const entityOperations = {
  listEntities: list('/authz/entities', Entity, {
    ...view,
    filter: ['createdBy', 'createdTime', 'displayName', 'extId', 'lastUpdatedTime', 'name'],
    orderby: ['createdTime', 'displayName', 'extId', 'lastUpdatedTime', 'name'],
    select: names(`
      clientName, createdBy, createdTime, description, displayName, extId, isLogicalAndSupportedForAttributes,
      lastUpdatedTime, name
    `),
  }),
  getEntityById: get('/authz/entities/{extId}', Entity, view),
}
