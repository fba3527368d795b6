/** Password guesses are limited over all worlds of the process. Source: behaviour conventions 14. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createPasswords } from '../../../src/core/access/passwords.ts'
import { realClock } from '../../../src/core/time/clock.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { aWorld, worlds } from '../../support/worlds.ts'

const categories = '/platform/v4.3/config/categories'
const minute = 60_000
const cheap = createPasswords({ memory: 256, passes: 1, parallelism: 1 })
let hashes = 0
/** Counts what a guess costs. */
const passwords: typeof cheap = {
  hash: cheap.hash,
  verify(password, stored) {
    hashes++
    return cheap.verify(password, stored)
  },
  verifyNone(password) {
    hashes++
    return cheap.verifyNone(password)
  },
}
/** Real time that a test advances. */
let moved = 0

let app: TestApp
before(async () => {
  app = await startApp({ passwords, realClock: { ...realClock, now: () => realClock.now() + moved } })
  for (const name of ['one', 'other']) await aWorld(app, name)
})
after(() => app.close())

let network = 0
const anAddress = (): string => `198.51.100.${++network}`
const places = [
  (as: string, address: string) => app.call('GET', categories, { as, address, world: 'one' }),
  (as: string, address: string) => app.call('GET', categories, { as, address, world: 'other' }),
  (as: string, address: string) => app.call('GET', categories, { as, address }),
  (as: string, address: string) => app.call('GET', worlds, { as, address }),
]
/** Sixty wrong guesses with different names, spread over all places. */
async function guess(address: string): Promise<CallResult[]> {
  const guesses: CallResult[] = []
  for (let i = 0; i < 60; i++) guesses.push(await (places[i % 4] as (typeof places)[0])(`name-${i}:guess`, address))
  return guesses
}

test('sixty failed sign-ins from one address, in any worlds and for any names, make every world refuse it without a hash', async () => {
  const [address, elsewhere] = [anAddress(), anAddress()]
  assert.deepEqual([...new Set((await guess(address)).map(({ status }) => status))], [401])
  const before = hashes
  for (const ask of places) {
    for (const as of ['admin:guess', `admin:${app.config.adminPassword}`]) {
      const refused = await ask(as, address)
      assert.equal(refused.status, 429)
      assert.match(refused.headers['Retry-After'] ?? '', /^[1-9]\d*$/)
    }
  }
  assert.equal((await app.call('GET', categories, { apiKey: 'hpk_guess', address, world: 'one' })).status, 429)
  assert.equal(hashes, before)
  for (const ask of places) assert.equal((await ask(`admin:${app.config.adminPassword}`, elsewhere)).status, 200)
})

test('guesses in two worlds lock the name only in these two', async () => {
  const address = anAddress()
  for (const ask of places.slice(0, 2)) for (let i = 0; i < 5; i++) await ask(`admin:guess ${i}`, address)
  const statuses = await Promise.all(places.map((ask) => ask(`admin:${app.config.adminPassword}`, address)))
  assert.deepEqual(
    statuses.map(({ status }) => status),
    [401, 401, 200, 200],
  )
})

test('neither a reset of a world nor its time ends the refusal; a minute of real time does', async () => {
  const address = anAddress()
  await guess(address)
  assert.equal((await app.call('POST', `${worlds}/one/$actions/reset`)).status, 200)
  const advanced = await app.call('POST', `${worlds}/other/clock/$actions/advance`, { body: { duration: 'PT10M' } })
  assert.equal(advanced.status, 200, JSON.stringify(advanced.errors))
  for (const ask of places) assert.equal((await ask('admin:guess', address)).status, 429)
  moved += minute
  for (const ask of places) assert.equal((await ask(`admin:${app.config.adminPassword}`, address)).status, 200)
})

test('sixty wrong API keys refuse the address as well', async () => {
  const address = anAddress()
  for (let i = 0; i < 60; i++) {
    const world = i % 2 === 0 ? 'one' : 'other'
    assert.equal((await app.call('GET', categories, { apiKey: `hpk_guess${i}`, address, world })).status, 401)
  }
  assert.equal((await app.call('GET', categories, { apiKey: 'hpk_more', address })).status, 429)
})

test('concurrent guesses are limited like sequential ones', async () => {
  const address = anAddress()
  const guesses = Array.from({ length: 100 }, (_, i) =>
    (places[i % 4] as (typeof places)[0])(`together-${i}:guess`, address),
  )
  const statuses = (await Promise.all(guesses)).map(({ status }) => status)
  assert.equal(statuses.filter((status) => status === 401).length, 60)
  assert.equal(statuses.filter((status) => status === 429).length, 40)
})

test('with --lockout off no address is refused', async () => {
  const open = await startApp({ config: { lockout: 'off' } })
  try {
    for (let i = 0; i < 61; i++)
      assert.equal((await open.call('GET', categories, { apiKey: `hpk_guess${i}` })).status, 401)
    assert.equal((await open.call('GET', categories)).status, 200)
  } finally {
    await open.close()
  }
})
