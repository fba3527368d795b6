/**
 * Refusals of every operation of the control interface, generated from its contract: an operation without a case fails.
 * Source: behaviour conventions 1, 2.3, 4, 5, 9, 16.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { aUser as aPerson, aRobot, grant, type Person } from '../api/iam/people.ts'
import { controlRequests, operations, someId, subject } from '../support/control-requests.ts'
import {
  facts,
  refusesPagesOutOfRange,
  refusesStrangers,
  refusesUnknownFields,
  refusesUnknownOptions,
} from '../support/every-operation.ts'
import { http } from '../support/http.ts'
import { aUser } from '../support/identities.ts'
import { type CallOptions, startApp, type TestApp } from '../support/start-app.ts'
import { aWorld, inside, worlds } from '../support/worlds.ts'

let app: TestApp
let url: string
let requests: ReturnType<typeof controlRequests>
before(async () => {
  app = await startApp()
  url = (await app.listen()).url
  await aWorld(app, subject)
  requests = controlRequests(app, url)
})
after(() => app.close())

test('every operation of the control interface has a case here', () => {
  assert.deepEqual(Object.keys(requests.cases).sort(), operations.map(({ id }) => id).sort())
})

test('every operation refuses a request without credentials with 401', () => refusesStrangers(requests.asking))

test('every operation refuses callers without the role Super Admin with 403', async () => {
  for (const as of [
    await aUser(app),
    await aUser(app, ['Platform Admin', 'Virtual Machine Admin', 'Network Infra Admin']),
  ])
    for (const operation of operations) {
      const result = await requests.asking.send(operation, '', { as })
      assert.equal(result.status, 403, `${operation.key}: ${facts(result)}`)
      assert.equal(result.errors[0]?.code, 'PLAT-10403')
    }
})

test('a Super Admin of another world is unknown to every operation: 401, and 403 if default has a user of that name', async () => {
  const known: Person = await aPerson(app, 'known-in-both')
  const forked = await app.call('POST', `${worlds}/default/$actions/fork`, { body: { name: 'elsewhere' } })
  assert.equal(forked.status, 201, facts(forked))
  const elsewhere = inside(app, 'elsewhere')
  await grant(elsewhere, 'Super Admin', known.extId)
  const { extId, apiKey } = await aRobot(elsewhere)
  await grant(elsewhere, 'Super Admin', extId)
  const people: readonly [CallOptions, number][] = [
    [{ as: known.as }, 403],
    [{ apiKey }, 401],
  ]
  for (const [credentials, status] of people) {
    const there = await elsewhere.call('GET', '/iam/v4.1.b2/authn/users', credentials)
    assert.equal(there.status, 200, facts(there))
    for (const operation of operations) {
      const result = await app.call(operation.method, requests.pathOf(operation, 'elsewhere'), credentials)
      assert.equal(result.status, status, `${operation.key}: ${facts(result)}`)
    }
  }
})

test('every operation refuses unknown options', () => refusesUnknownOptions(requests.asking))

test('every body refuses unknown fields', () => refusesUnknownFields(requests.asking))

test('every list refuses pages and limits out of range with 400', () => refusesPagesOutOfRange(requests.asking))

test('a page beyond the end of any list is 200, empty, with the right total', async () => {
  for (const operation of operations.filter(({ paged }) => paged)) {
    const path = requests.pathOf(operation, subject)
    const all = await app.call('GET', `${path}?$limit=1`)
    const beyond = await app.call('GET', `${path}?$page=1000000&$limit=100`)
    assert.deepEqual([beyond.status, beyond.data, beyond.total], [200, [], all.total], operation.key)
    assert.equal(typeof all.total, 'number')
  }
})

test('every operation below a world is 404 for an unknown name, and 400 for an invalid one', async () => {
  for (const operation of operations.filter(({ path }) => path.includes('{worldName}'))) {
    const content = requests.contentOf(operation, 'nowhere')
    const unknown = await app.call(operation.method, requests.pathOf(operation, 'nowhere'), content)
    assert.deepEqual(
      [unknown.status, unknown.errors[0]?.code],
      [404, 'CTRL-10002'],
      `${operation.key}: ${facts(unknown)}`,
    )
    assert.match(unknown.errors[0]?.message ?? '', /nowhere/)
    const impossible = await app.call(operation.method, requests.pathOf(operation, 'no_where'), content)
    assert.equal(impossible.status, 400, `${operation.key}: ${facts(impossible)}`)
    assert.deepEqual(
      impossible.errors.map(({ attributePath }) => attributePath),
      ['worldName'],
      operation.key,
    )
  }
})

test('every operation on a rule, an event or a call is 404 for an unknown id', async () => {
  const below = operations.filter(({ path }) => /\{(extId|sequence)\}/.test(path))
  assert.ok(below.length >= 6)
  for (const operation of below) {
    const path = requests.pathOf(operation, subject, { sequence: '1000000000' })
    const result = await app.call(operation.method, path, requests.contentOf(operation, subject))
    assert.equal(result.status, 404, `${operation.key}: ${facts(result)}`)
    assert.match(result.errors[0]?.message ?? '', new RegExp(`${someId}|1000000000`), operation.key)
  }
})

test('with the control interface off, every operation of it is 404 for every caller', async () => {
  const plain = await startApp({ config: { control: 'off' } })
  try {
    const at = (await plain.listen()).url
    for (const operation of operations)
      for (const as of [null, undefined]) {
        const answer = await http(at, requests.pathOf(operation, 'default'), {
          method: operation.method,
          ...(as === undefined ? {} : { as }),
        })
        assert.deepEqual([answer.status, answer.json.data.error[0].code], [404, 'PLAT-10001'], operation.key)
      }
  } finally {
    await plain.close()
  }
})
