/**
 * Every system role alone, against every operation that is built: allowed exactly as the contract lists, and the contract
 * as the role tables. Source: specification 5; behaviour operation-roles.tsv, iam.md 13 (33).
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { contract, type Operation, type RoleName, systemRoles } from '@hyperplane/contract'
import { systemRoleId } from '../../../src/domains/iam/catalogue/system-roles.ts'
import { adminPassword, startApp, type TestApp } from '../../support/start-app.ts'
import { aRobot, aUser, etagOf, grant, ok, type Person, policies, policyBody, roles } from './people.ts'

let app: TestApp
let person: Person
let policy = ''
/** What somebody else has: a user with a key, and the finished batch of the demo with its jobs. */
const others = new Map<string, string>()
before(async () => {
  app = await startApp()
  person = await aUser(app)
  policy = `${policies}/${await grant(app, 'Super Admin', person.extId)}`
  const robot = await aRobot(app)
  others.set('userExtId', robot.extId).set('keyExtId', robot.keyExtId)
  const [batch] = ok(await app.call('GET', '/platform/v4.3/operations/batches?$limit=1'), 200).data
  const [job] = ok(await app.call('GET', `${tasks}/${batch.extId}/jobs?$limit=1`), 200).data
  others.set('taskExtId', batch.extId).set('jobExtId', job.extId)
})
after(() => app.close())

const tasks = '/platform/v4.3/config/tasks'
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
  test(`a user with only the role ${role} may call exactly the operations that list it`, async () => {
    const body = policyBody(systemRoleId(role), person.extId)
    ok(await app.call('PUT', policy, { body, ifMatch: await etagOf(app, policy) }), 200)
    for (const operation of operations) {
      // Everyone reaches what is their own: there the policy decides about what is others', below.
      if (operation.own !== undefined) continue
      const isHeld = operation.key === 'iam.getRoleById' && role === 'Consumer'
      assert.equal(await isLetIn(operation), isHeld || isListed(operation, role), operation.key)
    }
    for (const operation of operations.filter(({ own }) => own !== undefined)) {
      const path = `${othersPath(operation)}${operation.id === 'fetchTaskResponse' ? '?taskResponseType=UNCONFIGURED_NODES' : ''}`
      const result = await app.call(operation.method, path, { as: person.as, requestId: randomUUID() })
      const found = `${operation.key}: ${result.status} ${JSON.stringify(result.errors).slice(0, 200)}`
      if (isListed(operation, role)) {
        // The task has ended without a result, and not every role that reads results sees the tasks of others.
        const statuses = { cancelTask: [409], fetchTaskResponse: [404, 409] }[operation.id] ?? []
        assert.ok([200, ...statuses].includes(result.status), found)
        if (operation.verb === 'list') assert.ok((result.total as number) > 0, found)
      } else if (operation.mutates) assert.equal(result.status, seesTargetOf(operation, role) ? 403 : 404, found)
      else if (result.status === 200) assert.equal(result.total, 0, found)
      else assert.equal(result.status, 404, found)
    }
  })
}

function othersPath(operation: Operation): string {
  const last = { Task: 'taskExtId', TaskJob: 'jobExtId', User: 'userExtId', Key: 'keyExtId' } as const
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const own = last[(operation.pathKinds[name] ?? '') as keyof typeof last]
    return others.get(name) ?? others.get(own) ?? assert.fail(`${operation.key} ${name}`)
  })
  return `/${operation.namespace}/${operation.versions[0]}${path}`
}

/** A mutation of what one may see is 403, of anything else 404. */
const seesTargetOf = (operation: Operation, role: RoleName): boolean =>
  operations.some(
    (other) =>
      other.verb === 'get' &&
      other.resource?.kind === operation.pathKinds[operation.target ?? ''] &&
      isListed(other, role),
  )

const isListed = (operation: Operation, role: RoleName): boolean =>
  operation.roles === 'everyone' || operation.roles.includes(role)

test('operations on owned entities are open to everyone, but only for the entities they own', async () => {
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

test('every system role exists, and the public profile shows and finds it by its public name', async () => {
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
