/** System roles are read-only. Source: specification 5 (names); catalogue iam.json; behaviour iam.md 8, 10. */
import { names } from '../names.ts'
import { create, type EntityOf, get, list, perSecond, remove, resource, update } from '../operation.ts'
import type { RoleName } from '../roles.ts'
import * as s from '../schema.ts'
import { Message } from '../shapes.ts'

export const Role = resource('iam.v4.authz.Role', {
  fields: {
    displayName: s.text({ minLength: 1, maxLength: 255, named: 'systemName' }),
    description: s.optional(s.text({ maxLength: 1000, multiline: true })),
    /** Default: the client `Platform`. */
    clientName: s.optional(s.text({ maxLength: 255, named: 'clientName' })),
    // Not references: an operation that is unknown or not grantable is 400, not 404.
    operations: s.arrayOf(s.uuid(), { minItems: 1, maxItems: 1000, uniqueItems: true }),
    accessibleClients: s.readOnly(s.arrayOf(s.text({ named: 'systemName' }))),
    accessibleClientsCount: s.readOnly(s.integer({ minimum: 0 })),
    accessibleEntityTypes: s.readOnly(s.arrayOf(s.text())),
    accessibleEntityTypesCount: s.readOnly(s.integer({ minimum: 0 })),
    assignedUsersCount: s.readOnly(s.integer({ minimum: 0 })),
    assignedUserGroupsCount: s.readOnly(s.integer({ minimum: 0 })),
    isSystemDefined: s.readOnly(s.boolean()),
    operationSchemaChangeImpact: s.readOnly(s.enumeration(['IMPACTED', 'NOT_IMPACTED', 'UNDETERMINED'])),
    createdBy: s.readOnly(s.uuid()),
    createdTime: s.readOnly(s.timestamp()),
    lastUpdatedTime: s.readOnly(s.timestamp()),
  },
  iam: { owner_uuid: 'createdBy', displayName: 'displayName', name: 'displayName' },
  unique: [{ fields: ['displayName'], ignoreCase: true, error: 'ROLE_ALREADY_EXISTS' }],
  notFound: 'AUTHORIZATION_ENTITY_NOT_FOUND',
  isInNewWorld: ({ isSystemDefined }) => isSystemDefined === true,
})
export type Role = EntityOf<typeof Role>

const readers: readonly RoleName[] = names(`
  Account Owner, Administrator, Central Admin, Platform Admin, Platform Viewer, Project Admin, Project Manager,
  Self-Service Admin (deprecated), Super Admin, User
`)
const writers: readonly RoleName[] = names(`
  Central Admin, Platform Admin, Project Manager, Self-Service Admin (deprecated), Super Admin
`)

const view = { roles: readers, rateLimit: perSecond(10, 10, 15, 20) }
const mutation = { roles: writers, rateLimit: perSecond(5, 5, 10, 10), runs: 'sync' } as const

export const roleOperations = {
  listRoles: list('/authz/roles', Role, {
    ...view,
    showsEmptyList: true,
    filter: ['clientName', 'createdBy', 'createdTime', 'displayName', 'extId', 'isSystemDefined', 'lastUpdatedTime'],
    orderby: ['createdTime', 'displayName', 'extId', 'lastUpdatedTime'],
    select: names(`
      accessibleClients, accessibleEntityTypes, assignedUserGroupsCount, assignedUsersCount, clientName, createdBy,
      createdTime, description, displayName, extId, isSystemDefined, lastUpdatedTime, links, operations, tenantId
    `),
  }),
  createRole: create('/authz/roles', Role, mutation),
  getRoleById: get('/authz/roles/{extId}', Role, view),
  updateRoleById: update('/authz/roles/{extId}', Role, { ...mutation, answer: Message }),
  deleteRoleById: remove('/authz/roles/{extId}', Role, { ...mutation, ifMatch: 'required' }),
}
