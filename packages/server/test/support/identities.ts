/** Identities besides `admin`, created over the interface. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { RoleName } from '@hyperplane/contract/roles'
import type { TestApp } from './start-app.ts'

const password = 'S0me.Other.Passw0rd!'
const iam = '/iam/v4.1.b2'

const everything = { '*': { '*': { eq: '*' } } }

/** A local user that holds these roles, by default on everything: `name:password` for `as`. */
export async function aUser(
  app: TestApp,
  roles: readonly RoleName[] = [],
  entityFilter: object = everything,
): Promise<string> {
  const username = `user-${randomUUID().slice(0, 8)}`
  const user = await app.call('POST', `${iam}/authn/users`, {
    body: { userType: 'LOCAL', username, password, firstName: 'Some', lastName: 'One' },
    requestId: randomUUID(),
  })
  assert.equal(user.status, 201, JSON.stringify(user.errors))
  for (const displayName of roles) {
    const filter = encodeURIComponent(`displayName eq '${displayName}'`)
    const role = (await app.call('GET', `${iam}/authz/roles?$filter=${filter}`)).data[0]
    const policy = await app.call('POST', `${iam}/authz/authorization-policies`, {
      body: {
        displayName: `${displayName} of ${username}`,
        role: role.extId,
        identities: [{ identityFilter: { user: { uuid: { anyof: [user.data.extId] } } } }],
        entities: [{ entityFilter }],
      },
      requestId: randomUUID(),
    })
    assert.equal(policy.status, 201, JSON.stringify(policy.errors))
  }
  return `${username}:${password}`
}
