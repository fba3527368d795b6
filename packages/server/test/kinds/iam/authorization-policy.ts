/** Requests by which suites that cover every kind reach authorization policies. */

import { randomUUID } from 'node:crypto'
import { systemRoleId } from '../../../src/domains/iam/catalogue/system-roles.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { creating, named, updating } from '../../support/field-bases.ts'
import type { TestApp } from '../../support/start-app.ts'
import { type FieldBase, type OrderCase, unknown } from '../kind.ts'

const policies = '/iam/v4.1.b2/authz/authorization-policies'

const authorization = () => ({
  displayName: named(),
  role: systemRoleId('Platform Viewer'),
  identities: [{ identityFilter: { user: { uuid: { anyof: [randomUUID()] } } } }],
  entities: [{ entityFilter: { '*': { '*': { eq: '*' } } } }],
})

const policy = {
  displayName: 'by-order',
  role: unknown,
  identities: [{ identityFilter: { user: { uuid: { anyof: [unknown] } } } }],
  entities: [{ entityFilter: { '*': { '*': { eq: '*' } } } }],
}
async function aPolicy(app: TestApp): Promise<string> {
  const made = await app.call('POST', policies, {
    body: { ...policy, role: systemRoleId('Platform Viewer') },
  })
  return made.data.extId
}

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'iam.createAuthorizationPolicy': {
    path: '/authz/authorization-policies',
    body: policy,
    broken: { authorizationPolicyType: 'PREDEFINED_READ_ONLY' },
  },
  'iam.updateAuthorizationPolicyById': {
    path: async (app) => `/authz/authorization-policies/${await aPolicy(app)}`,
    body: policy,
    broken: { entities: [{ entityFilter: { vm: { name: { nearly: 'x' } } } }] },
  },
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'iam.createAuthorizationPolicy': [creating(policies, authorization)],
  'iam.updateAuthorizationPolicyById': [updating(policies, authorization)],
}

export const fieldValues: Readonly<Record<string, readonly unknown[]>> = {
  '* entityFilter': [{ vm: { '*': { eq: '*' } } }],
  '* identityFilter': [{ user: { uuid: { anyof: [randomUUID()] } } }],
}

const everything = { '*': { '*': { eq: '*' } } }

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createPolicy: ({ model, draw }) =>
    walk.post(policies, {
      displayName: `policy-${model.number()}`,
      role: model.extId(draw, walk.collections.roles),
      identities: [{ identityFilter: { user: { uuid: { anyof: [model.extId(draw, walk.collections.users)] } } } }],
      entities: [{ entityFilter: everything }],
    }),
  deletePolicy: walk.removing(policies),
}

export const walkEntities = { [policies]: [] }
