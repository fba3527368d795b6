/** A client without a proven identity cannot find out which worlds exist. Source: decision strangers-cannot-tell-worlds. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, beforeEach, describe, test } from 'node:test'
import { realClock } from '../../src/core/time/clock.ts'
import { systemRoleId } from '../../src/domains/iam/catalogue/system-roles.ts'
import { type HttpResult, http } from '../support/http.ts'
import { adminPassword, startApp, type TestApp } from '../support/start-app.ts'
import { aWorld } from '../support/worlds.ts'

let app: TestApp
let url: string
const categories = '/api/platform/v4.3/config/categories'
const unknown = 'nowhere'
const existing = ['awake', 'resting', 'damaged']

/** Real time: moved on in each test, so that failed sign-ins of earlier tests no longer count. */
let moved = 0
beforeEach(() => void (moved += 60_000))

before(async () => {
  app = await startApp({ logLevel: 'silent', realClock: { ...realClock, now: () => realClock.now() + moved } })
  url = (await app.listen()).url
  for (const name of existing)
    await aWorld(app, name, { clock: { mode: 'frozen', startTime: '2031-01-01T00:00:00Z' }, rateLimits: 'off' })
  await sleep('resting')
  await sleep('damaged')
  writeFileSync(join(app.folder, 'worlds', 'damaged', 'world.sqlite'), 'no database')
})
after(() => app.close())

const sleep = async (name: string): Promise<void> => app.worlds.get(name)?.rest()

interface Attempt {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly as?: string | null
  readonly body?: string
}
const attempts: Record<string, Attempt> = {
  'no credentials': { as: null },
  'no credentials, HEAD': { as: null, method: 'HEAD' },
  'no credentials, on no path': { as: null, path: '/api/nothing/v1/x' },
  'no credentials, with a body': { as: null, method: 'POST', body: '{"key":"a","value":"b"}' },
  'a wrong password': { as: 'admin:wrong' },
  'a wrong password of nobody, on no path': { as: 'nobody:wrong', path: '/api/nothing/v1/x' },
  'a wrong API key': { as: null, headers: { 'x-svc-api-key': 'hpk_wrong' } },
  'an API key where Basic alone is taken': {
    as: null,
    headers: { 'x-svc-api-key': 'hpk_wrong' },
    path: '/api/storage/v4.0.a3/config/iscsi-clients',
  },
  'an unreadable header': { as: null, headers: { authorization: 'Basic %' } },
  'public names': { as: 'admin:wrong', path: '/api/prism/v4.0/config/categories' },
  'the version negotiation': { as: null, method: 'OPTIONS', path: '/api/vmm/unversioned/info' },
  'too long a target': { as: null, path: `${categories}?a=${'b'.repeat(17_000)}` },
}
const ways: Record<string, (world: string) => Record<string, string>> = {
  'the header X-World': (world) => ({ 'x-world': world }),
  'the host name': (world) => ({ host: `${world}.localhost:9440` }),
}

/** Everything that the client receives, without the name of the world that it sent. */
const seen = async ({ path = categories, ...attempt }: Attempt, of: Record<string, string>, name: string) => {
  const headers = { 'svc-request-id': '7e0c6ad1-8d0c-4a5e-9a77-000000000001', ...attempt.headers, ...of }
  const answer: HttpResult = await http(url, path, { ...attempt, headers })
  return JSON.stringify([answer.status, answer.headers, answer.text])
    .replaceAll(`${name}.localhost`, 'WORLD.localhost')
    .replace(/"content-length":"\d+"/, '')
}

for (const [way, headersOf] of Object.entries(ways))
  describe(`by ${way}`, () => {
    for (const [what, attempt] of Object.entries(attempts))
      for (const world of existing)
        test(`${what}: a world that is ${world} answers as one that does not exist`, async () => {
          if (world === 'resting') await sleep(world)
          const expected = await seen(attempt, headersOf(unknown), unknown)
          assert.equal(await seen(attempt, headersOf(world), world), expected)
          assert.match(expected, /^\[(401|414|200),/)
        })
  })

describe('a generated request id', () => {
  /** Ids of one world differ only in the counter at their end. */
  const worldOfId = async (attempt: Attempt, world: string): Promise<string> => {
    const headers = { ...attempt.headers, 'x-world': world }
    const answer = await http(url, attempt.path ?? categories, { ...attempt, headers })
    return String(answer.headers['svc-request-id'] ?? answer.headers['ntnx-request-id']).slice(0, 23)
  }
  for (const [what, attempt] of Object.entries(attempts))
    test(`${what}: the answers of all worlds carry ids of default`, async () => {
      const expected = await worldOfId(attempt, unknown)
      for (const world of existing) assert.equal(await worldOfId(attempt, world), expected, world)
    })
})

test('a request without credentials does not open a world', async () => {
  await sleep('resting')
  assert.equal((await http(url, categories, { as: null, headers: { 'x-world': 'resting' } })).status, 401)
  assert.equal(app.worlds.get('resting')?.state.is, 'RESTING')
})

describe('a world that cannot check credentials', () => {
  const requested = async (as: string, world: string): Promise<[number, string]> => {
    const { status, json } = await http(url, categories, { as, headers: { 'x-world': world } })
    return [status, json.data.error[0].code]
  }
  const aPerson = async (username: string, role?: 'Super Admin' | 'Platform Viewer'): Promise<string> => {
    const password = 'Correct.Horse7'
    const body = { userType: 'LOCAL', username, password }
    const { data } = await app.call('POST', '/iam/v4.1.b2/authn/users', { body })
    const policy = {
      displayName: username,
      role: systemRoleId(role ?? 'Platform Viewer'),
      identities: [{ identityFilter: { user: { uuid: { eq: data.extId } } } }],
      entities: [{ entityFilter: { '*': { '*': { eq: '*' } } } }],
    }
    const created = await app.call('POST', '/iam/v4.1.b2/authz/authorization-policies', { body: policy })
    assert.equal(created.status, 201, JSON.stringify(created.errors))
    return `${username}:${password}`
  }

  // Tests above used wrong passwords of `admin`.
  before(() => app.clock.advance(15 * 60_000))

  test('an administrator of default sees the reason', async () => {
    for (const as of [`admin:${adminPassword}`, await aPerson('second-admin', 'Super Admin')]) {
      assert.deepEqual(await requested(as, unknown), [404, 'CTRL-10002'])
      assert.deepEqual(await requested(as, 'damaged'), [503, 'CTRL-10004'])
    }
  })

  test('another user of default gets the same answer as from an existing world that does not know the user', async () => {
    const as = await aPerson('onlooker')
    for (const world of [unknown, ...existing]) assert.deepEqual(await requested(as, world), [401, 'PLAT-10401'], world)
  })
})

test('wrong passwords for an unknown world count for the address, and lock the administrator of default', async () => {
  for (let i = 0; i < 5; i++) await http(url, categories, { as: `admin:guess ${i}`, headers: { 'x-world': unknown } })
  assert.equal((await http(url, categories)).status, 401)
  assert.equal((await http(url, categories, { headers: { 'x-world': unknown } })).status, 401)
  await app.clock.advance(15 * 60_000)
  assert.equal((await http(url, categories)).status, 200)
})
