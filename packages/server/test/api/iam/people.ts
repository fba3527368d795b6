/** Users, keys, roles and policies for the tests of iam. */

import assert from 'node:assert/strict'
import type { RoleName } from '@hyperplane/contract'
import { catalogueId } from '../../../src/core/ids/named-id.ts'
import { systemRoleId } from '../../../src/domains/iam/catalogue/system-roles.ts'
import type { CallResult, TestApp } from '../../support/start-app.ts'

export const users = '/iam/v4.1.b2/authn/users'
export const roles = '/iam/v4.1.b2/authz/roles'
export const policies = '/iam/v4.1.b2/authz/authorization-policies'
export const operations = '/iam/v4.1.b2/authz/operations'
export const entities = '/iam/v4.1.b2/authz/entities'
export const categories = '/platform/v4.3/config/categories'

export const everything = { '*': { '*': { eq: '*' } } }
export const goodPassword = 'Correct.Horse7'
export const operationId = (name: string): string => catalogueId('operation', name)

let count = 0
/** A name that no other test uses. */
export const fresh = (word: string): string => `${word}-${++count}`

export interface Person {
  readonly extId: string
  readonly username: string
  /** Basic credentials. */
  readonly as: string
}

export async function aUser(app: TestApp, username = fresh('person'), fields: object = {}): Promise<Person> {
  const created = ok(
    await app.call('POST', users, { body: { userType: 'LOCAL', username, password: goodPassword, ...fields } }),
    201,
  )
  return { extId: created.data.extId, username, as: `${username}:${goodPassword}` }
}

/** A service account with a key: signs in without the cost of a password. */
export async function aRobot(
  app: TestApp,
  username = fresh('robot'),
): Promise<{ extId: string; keyExtId: string; apiKey: string }> {
  const created = ok(await app.call('POST', users, { body: { userType: 'SERVICE_ACCOUNT', username } }), 201)
  const { extId } = created.data
  const key = ok(await app.call('POST', `${users}/${extId}/keys`, { body: { name: 'first', keyType: 'API_KEY' } }), 201)
  return { extId, keyExtId: key.data.extId, apiKey: key.data.keyDetails.apiKey }
}

export async function aRole(app: TestApp, names: readonly string[], displayName = fresh('role')): Promise<string> {
  const created = await app.call('POST', roles, { body: { displayName, operations: names.map(operationId) } })
  return ok(created, 201).data.extId
}

export const policyBody = (role: string, user: string, entityFilter: object = everything) => ({
  displayName: fresh('policy'),
  role,
  identities: [{ identityFilter: { user: { uuid: { anyof: [user] } } } }],
  entities: [{ entityFilter }],
})

/** Gives a role, by name of a system role or by id. */
export async function grant(
  app: TestApp,
  role: RoleName | { id: string },
  user: string,
  entityFilter: object = everything,
): Promise<string> {
  const id = typeof role === 'string' ? systemRoleId(role) : role.id
  return ok(await app.call('POST', policies, { body: policyBody(id, user, entityFilter) }), 201).data.extId
}

export function ok(result: CallResult, status: number): CallResult {
  assert.equal(result.status, status, JSON.stringify(result.errors))
  return result
}

/** Status with the code of the first message: `409 IAM-20010`. */
export const verdict = (result: CallResult): string =>
  [result.status, result.errors[0]?.code].filter((part) => part !== undefined).join(' ')

export async function etagOf(app: TestApp, path: string): Promise<string> {
  return (await app.call('GET', path)).etag as string
}

/** What was noted beside the requests is written now. */
export const settled = (app: TestApp): Promise<void> => app.store.transaction(async () => undefined)
