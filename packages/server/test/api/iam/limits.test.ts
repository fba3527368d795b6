/** How many users and roles there may be. Source: behaviour iam.md 1, 8. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../src/domains/collected.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { aRole, aUser, fresh, goodPassword, operationId, roles, users } from './people.ts'

const refusal = ({ status, errors }: CallResult): unknown[] => [
  status,
  errors[0]?.code,
  errors[0]?.argumentsMap?.['limit'],
  errors[0]?.argumentsMap?.['maximum'],
]
async function totalOf(path: string): Promise<number> {
  const app = await startApp()
  const { total } = await app.call('GET', path)
  await app.close()
  return total as number
}
async function within(limited: object, work: (app: TestApp) => Promise<void>): Promise<void> {
  const app = await startApp({ limits: limited })
  try {
    await work(app)
  } finally {
    await app.close()
  }
}

test('the limits of users and roles are the documented ones', () => {
  assert.deepEqual([limits.users, limits.roles], [10_000, 5000])
})

test('a user beyond the limit is refused with 422 naming the limit, and of ten concurrent creations for one free place one succeeds', async () => {
  const maximum = (await totalOf(users)) + 2
  await within({ users: maximum }, async (app) => {
    await aUser(app)
    const create = (): Promise<CallResult> =>
      app.call('POST', users, { body: { userType: 'LOCAL', username: fresh('crowd'), password: goodPassword } })
    const answers = await Promise.all(Array.from({ length: 10 }, create))
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, ...Array(9).fill(422)])
    assert.deepEqual(refusal(await create()), [422, 'PLAT-10014', 'users', String(maximum)])
    assert.equal((await app.call('GET', users)).total, maximum)
  })
})

test('a role beyond the limit is refused with 422, and accepted after another is deleted', async () => {
  const maximum = (await totalOf(roles)) + 1
  await within({ roles: maximum }, async (app) => {
    const made = await aRole(app, ['View_Image'])
    const create = (): Promise<CallResult> =>
      app.call('POST', roles, { body: { displayName: fresh('role'), operations: [operationId('View_Image')] } })
    assert.deepEqual(refusal(await create()), [422, 'PLAT-10014', 'roles', String(maximum)])
    const path = `${roles}/${made}`
    const { etag } = await app.call('GET', path)
    assert.equal((await app.call('DELETE', path, { ifMatch: etag as string })).status, 204)
    assert.equal((await create()).status, 201)
  })
})
