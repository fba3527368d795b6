/** Every system role alone, against every operation that is built: allowed exactly as the contract lists. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { contract, type Operation, type RoleName, systemRoles } from '@hyperplane/contract'
import { systemRoleId } from '../../../src/domains/iam/catalogue/system-roles.ts'
import { adminPassword, startApp, type TestApp } from '../../support/start-app.ts'
import { aUser, etagOf, grant, ok, type Person, policies, policyBody, roles } from './people.ts'

let app: TestApp
let person: Person
let policy = ''
before(async () => {
  app = await startApp()
  person = await aUser(app)
  policy = `${policies}/${await grant(app, 'Super Admin', person.extId)}`
})
after(() => app.close())

const operations = contract.flatMap((namespace) => namespace.operations)

/** Ids that name nothing: whoever is let in gets as far as 404, or the first fault of the request. */
const pathOf = (operation: Operation): string =>
  `/${operation.namespace}/${operation.versions[0]}${operation.path.replace(/\{\w+\}/g, () => randomUUID())}`

async function isLetIn(operation: Operation): Promise<boolean> {
  const path = operation.key === 'iam.getRoleById' ? `${roles}/${systemRoleId('Consumer')}` : pathOf(operation)
  const result = await app.call(operation.method, path, { as: person.as })
  assert.notEqual(result.status, 401, operation.key)
  assert.notEqual(result.status, 500, operation.key)
  return result.status !== 403
}

for (const role of systemRoles) {
  test(`${role} alone is let in where the contract lists it, and nowhere else`, async () => {
    const body = policyBody(systemRoleId(role), person.extId)
    ok(await app.call('PUT', policy, { body, ifMatch: await etagOf(app, policy) }), 200)
    for (const operation of operations) {
      // Everyone reaches what is their own: there the policy decides about the rest only, which is not found.
      if (operation.own !== undefined) continue
      const isHeld = operation.key === 'iam.getRoleById' && role === 'Consumer'
      assert.equal(await isLetIn(operation), isHeld || isListed(operation, role), operation.key)
    }
  })
}

const isListed = (operation: Operation, role: RoleName): boolean =>
  operation.roles === 'everyone' || operation.roles.includes(role)

test('what is own is open to everyone for the own rows alone', async () => {
  const nobody = await aUser(app)
  for (const operation of operations.filter((one) => one.own !== undefined)) {
    const result = await app.call(operation.method, pathOf(operation), { as: nobody.as })
    assert.ok(
      operation.verb === 'list' && !operation.path.includes('{')
        ? result.status === 200 && result.total === 0
        : [400, 404].includes(result.status),
      `${operation.key}: ${result.status}`,
    )
  }
})

test('every system role exists in both spellings', async () => {
  const { url } = await app.listen()
  const authorization = `Basic ${Buffer.from(`admin:${adminPassword}`).toString('base64')}`
  const named = async (headers: Record<string, string>, filter = 'isSystemDefined eq true'): Promise<string[]> => {
    const answer = await fetch(`${url}/api${roles}?$limit=100&$filter=${encodeURIComponent(filter)}`, {
      headers: { authorization, ...headers },
    })
    return (((await answer.json()) as any).data ?? []).map((one: any) => one.displayName)
  }
  assert.deepEqual((await named({})).sort(), [...systemRoles].sort())
  const publicNames = await named({ 'ntnx-request-id': randomUUID() })
  assert.equal(publicNames.length, systemRoles.length)
  for (const name of [
    'Prism Admin',
    'Prism Viewer',
    'Prism User',
    'Nutanix Central Admin',
    'NCM Connector',
    'Flow Admin',
    'Flow Viewer',
    'Flow Policy Author',
    'Super Admin',
    'Self-Service Admin (deprecated)',
  ]) {
    assert.ok(publicNames.includes(name), name)
    assert.deepEqual(await named({ 'ntnx-request-id': randomUUID() }, `displayName eq '${name}'`), [name])
  }
})
