/**
 * Many worlds in one process: each with what is its own, however much goes on in the others, and one that is damaged touches
 * nobody. Source: DESIGN C; decision worlds-and-their-control.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { existsSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { categoryOperations } from '@hyperplane/contract/platform/category'
import { limitAt } from '../../src/core/access/rate-limit.ts'
import { storeFiles } from '../../src/data-folder/store-files.ts'
import { aRobot, aUser, grant, ok, users, verdict } from '../api/iam/people.ts'
import { http } from '../support/http.ts'
import { adminPassword, type CallOptions, type CallResult, startApp, type TestApp } from '../support/start-app.ts'
import { aWorld, inside, worlds } from '../support/worlds.ts'

let app: TestApp
/** Real time stands until a test moves it: windows of rates end when the test says so. */
let realTime = Date.parse('2026-03-02T09:00:00Z')
const realClock = {
  now: () => realTime,
  iso: () => new Date(realTime).toISOString(),
  sleep: async () => undefined,
  setTimer: () => () => undefined,
}
before(async () => {
  app = await startApp({ realClock, logLevel: 'silent' })
})
after(() => app.close())

const categories = '/platform/v4.3/config/categories'

test('a hundred worlds in one process, each with a row that no other one has', async () => {
  const names = Array.from({ length: 100 }, (_, index) => `many-${index}`)
  for (const world of names) await aWorld(app, world)
  const create = (world: string) => app.call('POST', categories, { world, body: { key: 'of', value: world } })
  const rows = (await Promise.all(names.map(create))).map((result): string => ok(result, 201).data.extId)
  assert.equal(new Set(rows).size, names.length)
  for (const [index, world] of names.entries()) {
    const own = await app.call('GET', `${categories}?$filter=key eq 'of'`, { world })
    assert.deepEqual(
      own.data.map(({ extId, value }: { extId: string; value: string }) => [extId, value]),
      [[rows[index], world]],
    )
    const other = rows[(index + 1) % rows.length]
    assert.equal((await app.call('GET', `${categories}/${other}`, { world })).status, 404)
  }
  assert.equal((await app.call('GET', `${categories}?$filter=key eq 'of'`)).total, 0, 'nor has default')
  assert.equal((await app.call('GET', `${worlds}?$limit=1&$filter=startswith(name,'many-')`)).total, names.length)
})

test('worlds can be created up to the limit, also concurrently; the next one is 422 until one is deleted', async () => {
  const small = await startApp({ limits: { worlds: 4 }, config: { seed: 'empty' } })
  try {
    const create = (name: string) => small.call('POST', worlds, { body: { name, preset: 'empty' } })
    const made = await Promise.all(['a', 'b', 'c', 'd', 'e'].map(create))
    assert.deepEqual(made.map(({ status }) => status).sort(), [201, 201, 201, 422, 422])
    const refused = made.find(({ status }) => status === 422) as CallResult
    assert.equal(refused.errors[0]?.message, 'Worlds: at most 4, found 5.')
    const fork = () => small.call('POST', `${worlds}/default/$actions/fork`, { body: { name: 'forked' } })
    const form = new FormData()
    form.append('name', 'imported')
    form.append('seed', 'extends: empty\n')
    const imported = () => small.call('POST', `${worlds}/$actions/import`, { form })
    assert.deepEqual([verdict(await fork()), verdict(await imported())], ['422 PLAT-10014', '422 PLAT-10014'])
    assert.equal(small.worlds.size, 4)
    assert.equal((await small.call('GET', worlds)).total, 4, 'what was refused left no row')
    const one = made.find(({ status }) => status === 201)?.data.name
    ok(await small.call('DELETE', `${worlds}/${one}`), 204)
    ok(await fork(), 201)
    assert.equal(verdict(await imported()), '422 PLAT-10014')
  } finally {
    await small.close()
  }
})

test('a process allows at most 500 worlds', () => {
  assert.equal(app.worlds.maximum, 500)
})

/** Ways in which the file of a store is no store any more. */
const damages: Readonly<Record<string, (file: string) => void>> = {
  'is another file': (file) => writeFileSync(file, 'this is no store '.repeat(10_000)),
  'was cut': (file) => truncateSync(file, 5000),
  'lost its first page': (file) => writeFileSync(file, Buffer.alloc(100), { flag: 'r+' }),
}

for (const [damage, harm] of Object.entries(damages)) {
  test(`a world whose store ${damage} is FAILED with the cause and answers 503; other worlds work, and a reset repairs it`, async () => {
    const url = await listening()
    const name = `harmed-${Object.keys(damages).indexOf(damage)}`
    const at = `${worlds}/${name}`
    await aWorld(app, name)
    await aWorld(app, `beside-${name}`)
    ok(await app.call('POST', categories, { world: name, body: { key: 'team', value: 'lost' } }), 201)
    const hosted = app.worlds.get(name)
    await hosted?.rest()
    const file = storeFiles(join(app.folder, 'worlds', name)).first
    for (const companion of [`${file}-wal`, `${file}-shm`]) if (existsSync(companion)) rmSync(companion)
    harm(file)

    const call = () => http(url, `/api${categories}`, { headers: { 'x-world': name } })
    for (const answer of [await call(), await call()]) {
      assert.equal(answer.status, 503, answer.text)
      const [error] = answer.json.data.error
      assert.equal(error.code, 'CTRL-10004')
      const said = new RegExp(
        `^The world ${name} does not open: The data file .+\\. Reset it to start again from its seed, or delete it, .+`,
      )
      assert.match(error.message, said)
      assert.doesNotMatch(error.message, /--data|restart|start with/, 'what only helps at a start')
    }
    const { data } = ok(await app.call('GET', at), 200)
    assert.equal(data.state, 'FAILED')
    assert.ok(data.fault.length > 20, data.fault)
    assert.equal(verdict(await app.call('GET', `${at}/clock`)), '503 CTRL-10004')
    assert.equal(verdict(await app.call('GET', `${at}/seed`)), '503 CTRL-10004')
    const forked = await app.call('POST', `${at}/$actions/fork`, { body: { name: `copy-of-${name}` } })
    assert.equal(verdict(forked), '503 CTRL-10004')
    assert.equal(verdict(await app.call('GET', `${worlds}/copy-of-${name}`)), '404 CTRL-10002')

    for (const world of ['default', `beside-${name}`]) ok(await app.call('GET', categories, { world }), 200)
    assert.equal((await app.call('GET', `${worlds}/beside-${name}`)).data.state, 'OPEN')

    const reset = ok(await app.call('POST', `${at}/$actions/reset`), 200)
    assert.deepEqual([reset.data.state, reset.data.fault], ['OPEN', undefined])
    assert.equal((await call()).status, 200)
    assert.equal((await app.call('GET', `${categories}?$filter=key eq 'team'`, { world: name })).total, 0)
  })
}

test('a damaged world stays FAILED in the next process, whose other worlds answer; it can be deleted', async () => {
  const first = await startApp({ folder: join(app.folder, 'again'), config: { seed: 'empty' } })
  await aWorld(first, 'harmed')
  await aWorld(first, 'whole')
  await first.close()
  writeFileSync(storeFiles(join(first.folder, 'worlds', 'harmed')).first, 'no store')
  const second = await startApp({ folder: first.folder, config: { seed: 'empty' }, logLevel: 'silent' })
  try {
    ok(await second.call('GET', categories, { world: 'whole' }), 200)
    assert.equal((await second.call('GET', categories, { world: 'harmed' })).status, 503)
    assert.equal((await second.call('GET', `${worlds}/harmed`)).data.state, 'FAILED')
    ok(await second.call('DELETE', `${worlds}/harmed`), 204)
    assert.equal(existsSync(join(second.folder, 'worlds', 'harmed')), false)
    await aWorld(second, 'harmed')
  } finally {
    await second.close()
  }
})

/** Two worlds that know the same people, since one is a fork of the other. */
async function twins(name: string, more: object = {}): Promise<readonly [string, string]> {
  await aWorld(app, name, { rateLimits: 'off', ...more })
  const twin = `${name}-twin`
  ok(await app.call('POST', `${worlds}/${name}/$actions/fork`, { body: { name: twin } }), 201)
  return [name, twin]
}

test('under concurrent load each world has its own rate limits', async () => {
  const pair = await twins('rates', { rateLimits: 'on' })
  const limit = limitAt(categoryOperations.listCategories.rateLimit!, 'small')
  realTime += 120_000
  const send = (world: string): Promise<CallResult> => app.call('GET', `${categories}?$limit=1`, { world })
  const calls = pair.flatMap((world) => Array.from({ length: limit + 2 }, () => world))
  const answers = await Promise.all(shuffled(calls).map(async (world) => ({ world, ...(await send(world)) })))
  for (const world of pair) {
    const statuses = answers.filter((answer) => answer.world === world).map(({ status }) => status)
    assert.equal(statuses.filter((status) => status === 200).length, limit, world)
    assert.equal(statuses.filter((status) => status === 429).length, 2, world)
  }
  ok(await app.call('GET', categories), 200)
})

test('under concurrent load a request id is independent in each world', async () => {
  const pair = await twins('once')
  const ids: readonly string[] = Array.from({ length: 20 }, () => randomUUID())
  const create = (world: string, requestId: string, value: string): Promise<CallResult> =>
    app.call('POST', categories, {
      world,
      requestId,
      body: { key: 'once', value: `${value}-${ids.indexOf(requestId)}` },
    })
  const all = () => Promise.all(ids.flatMap((id) => pair.map((world) => create(world, id, world))))
  // The same id with another body would be 422 in one world.
  for (const answer of await all()) assert.deepEqual([verdict(answer), answer.replayed], ['201', undefined])
  for (const answer of await all()) assert.deepEqual([verdict(answer), answer.replayed], ['201', true])
  for (const world of pair) {
    const { data } = await app.call('GET', `${categories}?$filter=key eq 'once'&$limit=100`, { world })
    assert.deepEqual(
      data.map(({ value }: { value: string }) => value).sort(),
      ids.map((_, index) => `${world}-${index}`).sort(),
    )
  }
})

test('under concurrent load a user name that is locked in one world signs in to another from the same address', async () => {
  const [left, right] = await twins('locked')
  const { extId, username, as } = await aUser(inside(app, left))
  const twin = await aUser(inside(app, right), username)
  const address = '192.0.2.77'
  const sign = (world: string, id: string, credentials: string): Promise<CallResult> =>
    app.call('GET', `${users}/${id}`, { world, address, as: credentials })
  const [wrong, right200] = await Promise.all([
    Promise.all(Array.from({ length: 6 }, (_, index) => sign(left, extId, `${username}:wrong ${index}`))),
    Promise.all(Array.from({ length: 6 }, () => sign(right, twin.extId, as))),
  ])
  assert.deepEqual([...new Set(wrong.map(({ status }) => status))], [401])
  assert.deepEqual([...new Set(right200.map(({ status }) => status))], [200])
  assert.equal((await sign(left, extId, as)).status, 401, 'locked')
  assert.equal((await sign(right, twin.extId, as)).status, 200, 'not there')
})

test('keys, users and passwords of one world are invalid in others, also in an earlier fork', async () => {
  const [left, right] = await twins('keys', { adminPassword: 'Left.And.Right-1' })
  const as = 'admin:Left.And.Right-1'
  const administered = (world: string): TestApp => {
    const { call } = inside(app, world)
    const asAdmin = (method: string, path: string, options?: CallOptions) => call(method, path, { as, ...options })
    return Object.assign(Object.create(app), { call: asAdmin })
  }
  const { extId, apiKey } = await aRobot(administered(left), 'robot')
  const other = await aRobot(administered(right), 'robot')
  await grant(administered(left), 'Category Viewer', extId)
  await grant(administered(right), 'Category Viewer', other.extId)
  assert.notEqual(apiKey, other.apiKey)
  const read = (world: string, credentials: CallOptions) => app.call('GET', categories, { world, ...credentials })
  const keys = [
    ['left', { apiKey }],
    ['right', { apiKey: other.apiKey }],
  ] as const
  for (const [side, key] of keys)
    for (const world of [left, right, 'default']) {
      const isOwn = world === (side === 'left' ? left : right)
      assert.equal((await read(world, key)).status, isOwn ? 200 : 401, `the key of ${side} in ${world}`)
    }
  assert.equal((await read('default', { as })).status, 401)
  assert.equal((await read(left, { as: `admin:${adminPassword}` })).status, 401)
})

test('advancing one world leaves the clocks and deadlines of others', async () => {
  const [left, right] = await twins('hours', { clock: { mode: 'frozen', startTime: '2026-01-01T00:00:00Z' } })
  const requestId = randomUUID()
  const create = (world: string) =>
    app.call('POST', categories, { world, requestId, body: { key: 'hours', value: 'x' } })
  for (const world of [left, right]) ok(await create(world), 201)
  ok(await app.call('POST', `${worlds}/${left}/clock/$actions/advance`, { body: { duration: 'P2D' } }), 200)
  const times = [left, right].map(async (world) => (await app.call('GET', `${worlds}/${world}/clock`)).data.time)
  assert.deepEqual(await Promise.all(times), ['2026-01-03T00:00:00.000000Z', '2026-01-01T00:00:00.000000Z'])
  assert.equal(verdict(await create(left)).slice(0, 3), '409', 'what was remembered for a day is forgotten there')
  assert.equal((await create(right)).replayed, true)
})

/** The same order in each run. */
function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item, index) => ({ item, at: (index * 7919) % items.length }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item)
}

let url: string | undefined
const listening = async (): Promise<string> => (url ??= (await app.listen()).url)
