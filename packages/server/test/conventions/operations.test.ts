/** Rules for every operation, generated from the contract: a new operation is covered from its first day. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { contract, type Operation } from '@hyperplane/contract'
import { limitAt } from '../../src/core/access/rate-limit.ts'
import {
  type Asking,
  facts,
  ignoresUnknownOptionsOfPublicClients,
  refusesPagesOutOfRange,
  refusesStrangers,
  refusesUnknownFields,
  refusesUnknownOptions,
} from '../support/every-operation.ts'
import { startApp, type TestApp } from '../support/start-app.ts'

const operations = contract.flatMap((namespace) => namespace.operations)
const someId = '5d3f6a0e-9f0b-4c39-8f4e-3a1d0c9b7e11'
const pathOf = (operation: Operation, ids: Readonly<Record<string, string>> = {}): string =>
  `/${operation.namespace}/${operation.versions[0]}${operation.path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? someId)}`

/** Required query parameters with a valid value. */
const requiredQuery = (operation: Operation): string =>
  Object.entries(operation.query)
    .filter(([, schema]) => schema.optional !== true)
    .map(
      ([name, schema]) =>
        `${name}=${schema.type === 'timestamp' ? (name === '$endTime' ? '2026-03-02T09:00:00Z' : '2026-03-02T08:00:00Z') : '1'}`,
    )
    .join('&')

const target = (operation: Operation, more = ''): string => {
  const query = [requiredQuery(operation), more].filter((text) => text !== '').join('&')
  return `${pathOf(operation)}${query === '' ? '' : `?${query}`}`
}
const headers = (operation: Operation): object => ({
  ...(operation.clusterId === undefined ? {} : { clusterId: someId }),
  ...(operation.requestId === 'required' ? { requestId: someId } : {}),
})
const isAlpha = (operation: Operation): boolean => operation.namespace === 'storage'
const asking: Asking = {
  operations,
  send: (operation, query, options) =>
    app.call(operation.method, target(operation, query), { ...headers(operation), ...options }),
}

/** A key of a user who may have one. */
async function keyOf(of: TestApp, username: string): Promise<string> {
  const users = '/iam/v4.1.b2/authn/users'
  const [user] = (await of.call('GET', `${users}?$filter=username eq '${username}'`)).data
  const body = { name: 'throttled', keyType: 'API_KEY' }
  return (await of.call('POST', `${users}/${user.extId}/keys`, { body })).data.keyDetails.apiKey
}

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

test('every operation refuses a request without credentials with 401', () => refusesStrangers(asking))

test('every list refuses pages and limits out of range with 400, or clamps them where the namespace says so', () =>
  refusesPagesOutOfRange(asking))

test('every operation refuses unknown options, and ignores them with a warning in the public profile', async () => {
  await refusesUnknownOptions(asking)
  await ignoresUnknownOptionsOfPublicClients(asking)
})

test('every body refuses fields that it does not have', () => refusesUnknownFields(asking))

test('every operation that requires a request id refuses a missing and a malformed one', async () => {
  for (const operation of operations.filter((candidate) => candidate.requestId === 'required')) {
    const absent = await app.call(operation.method, target(operation), { ...headers(operation), requestId: '' })
    assert.ok(
      absent.errors.some((error) => error.attributePath === 'SVC-Request-Id'),
      `${operation.key}: ${facts(absent)}`,
    )
    const wrong = await app.call(operation.method, target(operation), {
      ...headers(operation),
      requestId: 'not-a-uuid',
    })
    assert.ok(
      wrong.errors.some((error) => error.attributePath === 'SVC-Request-Id'),
      `${operation.key}: ${facts(wrong)}`,
    )
  }
})

test('every malformed path id is quoted in the refusal with the pattern that it does not match', async () => {
  for (const operation of operations.filter((candidate) => candidate.path.includes('{'))) {
    const path = pathOf(operation).replace(someId, 'invalid-ext-id')
    const query = requiredQuery(operation)
    const result = await app.call(operation.method, query === '' ? path : `${path}?${query}`, headers(operation))
    assert.equal(result.status, 400, `${operation.key}: ${facts(result)}`)
    assert.ok(
      result.errors.some(
        (error) => error.message.includes('invalid-ext-id') && error.message.includes('regular expression'),
      ),
      operation.key,
    )
  }
})

test('every listed filter and order field is accepted, and any other is refused with the list of those allowed', async () => {
  for (const operation of operations) {
    for (const [option, fields] of [
      ['$filter', operation.filter],
      ['$orderby', operation.orderby],
    ] as const) {
      if (fields === undefined || operation.path.includes('{')) continue
      const text = option === '$filter' ? "noSuchField eq 'x'" : 'noSuchField'
      const refused = await app.call(
        'GET',
        target(operation, `${option}=${encodeURIComponent(text)}`),
        headers(operation),
      )
      assert.equal(refused.status, 400, `${operation.key} ${option}: ${facts(refused)}`)
      for (const field of fields) {
        const expression = option === '$filter' ? `${field} eq null` : field
        const result = await app.call(
          'GET',
          target(operation, `${option}=${encodeURIComponent(expression)}`),
          headers(operation),
        )
        assert.ok(
          result.status === 200 || result.status === 404,
          `${operation.key} ${option}=${expression}: ${facts(result)}`,
        )
      }
    }
  }
})

test('every operation throttles at its own figure, per identity, with Retry-After', async () => {
  let now = 0
  const limited = await startApp({
    config: { rateLimits: 'on' },
    realClock: { now: () => now, iso: () => '', sleep: async () => undefined, setTimer: () => () => undefined },
  })
  try {
    const apiKey = await keyOf(limited, 'admin')
    for (const operation of operations) {
      now += 120_000
      const limit = limitAt(operation.rateLimit, 'small')
      // A key costs no password hash, which each jump of the clock would ask for again.
      const asked = { ...headers(operation), ...(isAlpha(operation) ? {} : { apiKey }) }
      const send = () => limited.call(operation.method, target(operation, '$nonsense=1'), asked)
      for (let count = 0; count < limit; count++) {
        const result = await send()
        assert.notEqual(result.status, 429, `${operation.key} at ${count + 1} of ${limit}`)
      }
      const result = await send()
      assert.equal(result.status, 429, `${operation.key}: ${facts(result)}`)
      assert.ok(Number(result.headers['Retry-After']) >= 1, operation.key)
      assert.equal(result.headers['X-Api-Ratelimit-Remaining'], '0')
      assert.equal(result.headers['X-Api-Ratelimit-Limit'], String(limit))
    }
  } finally {
    await limited.close()
  }
})
