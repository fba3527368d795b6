/** Hostile input is always refused. Source: behaviour conventions 25.38. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { drawsFrom } from '../../src/core/ids/draws.ts'
import { hostileRequests } from '../support/hostile.ts'
import { startApp, type TestApp } from '../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

test('5,000 hostile requests over all operations: never a server error, and the service answers as before', async () => {
  const requests = hostileRequests(drawsFrom('hostile'))
  for (let count = 0; count < 5000; count++) {
    const request = requests.next().value
    const { method, path, body, requestId } = request
    const result = await app.call(method, path, {
      ...(body === undefined ? {} : { body }),
      ...(requestId === undefined ? {} : { requestId }),
    })
    const reads = method === 'GET' && (result.status === 200 || result.status === 501)
    assert.ok(
      reads || (result.status >= 400 && result.status < 500),
      `${result.status}: ${method} ${path.slice(0, 300)} ${JSON.stringify(body)?.slice(0, 300)}`,
    )
  }
  assert.equal((await app.call('GET', '/platform/v4.3/config/categories?$limit=1')).status, 200)
})

test('any text as a filter is a list or a 400 with a position', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ maxLength: 200, unit: 'binary' }), async (text) => {
      const result = await app.call('GET', `/platform/v4.3/config/categories?$filter=${encodeURIComponent(text)}`)
      if (result.status === 200) return
      assert.equal(result.status, 400)
      assert.ok(result.errors.length > 0)
    }),
    { numRuns: 500 },
  )
})

test('any JSON as the body of a category is created or refused with the path of each fault', async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue({ maxDepth: 4 }), async (body) => {
      const result = await app.call('POST', '/platform/v4.3/config/categories', { body })
      assert.ok(
        result.status === 201 || (result.status >= 400 && result.status < 500),
        `${result.status} ${JSON.stringify(body)}`,
      )
    }),
    { numRuns: 500 },
  )
})

test('names that every JavaScript object has mean nothing in a policy, and a secret of the wrong type is not repeated', async () => {
  const [role] = (await app.call('GET', '/iam/v4.1.b2/authz/roles?$limit=1')).data
  for (const operator of ['constructor', '__proto__', 'toString']) {
    const refused = await app.call('POST', '/iam/v4.1.b2/authz/authorization-policies', {
      body: {
        displayName: operator,
        role: role.extId,
        identities: [{ identityFilter: { user: { uuid: JSON.parse(`{"${operator}":["x"]}`) } } }],
        entities: [{ entityFilter: { '*': { '*': { eq: '*' } } } }],
      },
      requestId: crypto.randomUUID(),
    })
    assert.ok(
      refused.errors.some((error) => /expected eq, noteq/.test(error.message)),
      JSON.stringify(refused),
    )
  }
  const refused = await app.call('POST', '/iam/v4.1.b2/authn/users', {
    body: { userType: 'LOCAL', username: 'digits', password: 31415926535 },
    requestId: crypto.randomUUID(),
  })
  assert.equal(refused.status, 400)
  assert.ok(!JSON.stringify(refused.errors).includes('31415926535'))
})
