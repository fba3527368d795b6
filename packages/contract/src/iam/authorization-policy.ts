/** Policies grant; none denies. Source: specification 2.5, 4.6, 5, 8; catalogue iam.json; behaviour iam.md 9, 10. */
import { names } from '../names.ts'
import { create, type EntityOf, get, list, perSecond, remove, resource, update } from '../operation.ts'
import type { RoleName } from '../roles.ts'
import * as s from '../schema.ts'
import { Message } from '../shapes.ts'
import { policyReaders } from './roles.ts'

// Free JSON: key order and spelling are kept (iam.md 9.1). Other forms (`$reserved`, properties) are normalised before validation.
const EntityFilter = s.object(
  'iam.v4.authz.EntityFilter',
  { entityFilter: s.anything() },
  { foldsInto: 'entityFilter' },
)
const IdentityFilter = s.object(
  'iam.v4.authz.IdentityFilter',
  { identityFilter: s.anything() },
  { foldsInto: 'identityFilter' },
)

export const AuthorizationPolicy = resource('iam.v4.authz.AuthorizationPolicy', {
  fields: {
    displayName: s.text({ minLength: 1, maxLength: 255 }),
    description: s.optional(s.text({ multiline: true })),
    clientName: s.readOnly(s.text({ named: 'systemName' })),
    role: s.referenceTo('Role'),
    identities: s.arrayOf(IdentityFilter, { minItems: 1, maxItems: 100 }),
    entities: s.arrayOf(EntityFilter, { minItems: 1, maxItems: 100 }),
    authorizationPolicyType: s.immutable(
      s.withDefault(
        s.enumeration(`
          USER_DEFINED, SERVICE_DEFINED, PREDEFINED_READ_ONLY, PREDEFINED_UPDATE_IDENTITY_ONLY,
          SERVICE_DEFINED_READ_ONLY
        `),
        'USER_DEFINED',
      ),
    ),
    assignedUsersCount: s.readOnly(s.integer({ minimum: 0 })),
    assignedUserGroupsCount: s.readOnly(s.integer({ minimum: 0 })),
    isSystemDefined: s.readOnly(s.boolean()),
    createdBy: s.readOnly(s.uuid()),
    createdTime: s.readOnly(s.timestamp()),
    lastUpdatedTime: s.readOnly(s.timestamp()),
  },
  iam: {
    owner_uuid: 'createdBy',
    displayName: 'displayName',
    name: 'displayName',
    role_uuid: 'role',
    type: 'authorizationPolicyType',
  },
  unique: [{ fields: ['displayName'], ignoreCase: true, error: 'AUTHORIZATION_POLICY_ALREADY_EXISTS' }],
  notFound: 'AUTHORIZATION_ENTITY_NOT_FOUND',
  isInNewWorld: ({ isSystemDefined }) => isSystemDefined === true,
})
export type AuthorizationPolicy = EntityOf<typeof AuthorizationPolicy>

const writers: readonly RoleName[] = ['Central Admin', 'Platform Admin', 'Super Admin']

const view = { roles: policyReaders, rateLimit: perSecond(10, 10, 15, 20) }
const mutation = { roles: writers, rateLimit: perSecond(5, 5, 10, 10), runs: 'sync' } as const

const path = '/authz/authorization-policies'
const one = `${path}/{extId}` as const

export const authorizationPolicyOperations = {
  listAuthorizationPolicies: list(path, AuthorizationPolicy, {
    ...view,
    filter: names(`
      authorizationPolicyType, clientName, createdBy, createdTime, displayName, extId, isSystemDefined, lastUpdatedTime,
      role
    `),
    orderby: ['createdTime', 'displayName', 'extId', 'lastUpdatedTime', 'role'],
    select: names(`
      assignedUserGroupsCount, assignedUsersCount, authorizationPolicyType, clientName, createdBy, createdTime,
      description, displayName, entities, extId, identities, isSystemDefined, lastUpdatedTime, role
    `),
    expand: { role: { kind: 'Role', by: 'role', into: 'roleProjection' } },
    rowType: 'iam.v4.authz.AuthorizationPolicyProjection',
    showsEmptyList: true,
  }),
  createAuthorizationPolicy: create(path, AuthorizationPolicy, mutation),
  getAuthorizationPolicyById: get(one, AuthorizationPolicy, view),
  updateAuthorizationPolicyById: update(one, AuthorizationPolicy, { ...mutation, answer: Message }),
  deleteAuthorizationPolicyById: remove(one, AuthorizationPolicy, { ...mutation, ifMatch: 'required' }),
}
