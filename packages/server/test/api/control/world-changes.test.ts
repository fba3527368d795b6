/** Worlds that are reset or deleted during requests: every request is answered, and no old state remains. */
import assert from 'node:assert/strict'
import fs, { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fillingMark } from '../../../src/worlds/seeding-mark.ts'
import { http } from '../../support/http.ts'
import { adminPassword, type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { aWorld, worlds } from '../../support/worlds.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const categories = '/platform/v4.3/config/categories'
const postCategory = (world: string, value: string, of = app): Promise<CallResult> =>
  of.call('POST', categories, { world, body: { key: 'team', value } })
const reset = (world: string): Promise<CallResult> => app.call('POST', `${worlds}/${world}/$actions/reset`)
/** Shows errors that clients would see as 500. */
const statusOf = (asked: Promise<CallResult>): Promise<number | string> =>
  asked.then(
    ({ status }) => status,
    (error: Error) => `${error.stack}`,
  )

for (const name of ['stirred', 'default'])
  test(`a mutation of the world ${name} during its reset is answered`, async () => {
    if (name !== 'default') await aWorld(app, name)
    const at = `${worlds}/${name}`
    const asked = [statusOf(reset(name))]
    for (let round = 0; round < 30; round++) {
      await new Promise(setImmediate)
      asked.push(
        statusOf(app.call('POST', `${at}/clock/$actions/freeze`)),
        statusOf(app.call('POST', `${at}/clock/$actions/advance`, { body: { duration: 'PT1H' } })),
        statusOf(app.call('DELETE', `${at}/faults`)),
        statusOf(app.call('GET', `${at}/clock`)),
        statusOf(app.call('GET', at)),
      )
    }
    const [first, ...others] = await Promise.all(asked)
    assert.equal(first, 200)
    assert.deepEqual(
      others.filter((status) => ![200, 204, 503].includes(status as number)),
      [],
    )
    assert.equal((await app.call('GET', `${at}/clock`)).status, 200)
  })

test('a world that is deleted answers pending requests; later requests of an administrator are 404', async () => {
  await aWorld(app, 'leaving')
  const { dispatch } = app.worlds.get('leaving') ?? assert.fail()
  const calls = Array.from({ length: 20 }, (_, index) => statusOf(postCategory('leaving', `v${index}`, app.atOnce)))
  const removed = statusOf(app.call('DELETE', `${worlds}/leaving`))
  assert.deepEqual([...new Set(await Promise.all(calls))], [201])
  assert.equal(await removed, 204)
  const late = async (headers: object) =>
    dispatch({
      method: 'GET',
      path: categories,
      query: '',
      headers,
      address: '',
      profile: 'spec',
    } as never)
  const authorization = `Basic ${Buffer.from(`admin:${adminPassword}`).toString('base64')}`
  await assert.rejects(late({ authorization }), ({ refusal }: any) => refusal.status === 404)
  await assert.rejects(late({}), ({ refusal }: any) => refusal.status === 401)
})

test('a world whose deletion fails at its beginning continues, and no old instance keeps its store open', async (t) => {
  const full = await startApp({ logLevel: 'silent' })
  t.after(() => full.close())
  await aWorld(full, 'kept')
  const before = await full.worlds.get('kept')?.instance()
  const { writeFileSync } = fs
  const writing = t.mock.method(fs, 'writeFileSync', (...given: Parameters<typeof writeFileSync>) => {
    if (String(given[0]).endsWith('.unlisted')) throw Object.assign(new Error('full'), { code: 'ENOSPC' })
    writeFileSync(...given)
  })
  syncBuiltinESMExports()
  assert.equal((await full.call('DELETE', `${worlds}/kept`)).status, 503)
  writing.mock.restore()
  syncBuiltinESMExports()
  assert.equal((await postCategory('kept', 'after', full)).status, 201)
  const after = full.worlds.get('kept')?.current
  if (after !== before) await assert.rejects(async () => before?.store.transaction(async () => undefined), /not open/)
  assert.equal((await full.call('DELETE', `${worlds}/kept`)).status, 204)
})

test('a request that a fault delays does not delay the deletion of its world', async () => {
  await aWorld(app, 'held')
  const fault = await app.call('POST', `${worlds}/held/faults`, {
    body: { match: { operation: 'createCategory' }, trigger: { next: 1 }, effect: { delay: { fixed: 'PT1H' } } },
  })
  assert.equal(fault.status, 201, JSON.stringify(fault.errors))
  const call = statusOf(postCategory('held', 'late'))
  await new Promise(setImmediate)
  assert.equal((await app.call('DELETE', `${worlds}/held`)).status, 204)
  assert.ok([201, 503].includes((await call) as number), String(await call))
})

test('an unfinished export does not prevent a reset', async () => {
  await aWorld(app, 'read', { preset: 'demo' })
  const exported = await app.call('GET', `${worlds}/read/seed`)
  assert.equal(exported.status, 200, JSON.stringify(exported.errors))
  const reader = exported.data.content[Symbol.asyncIterator]()
  await reader.next()
  for (let index = 0; index < 50; index++) assert.equal((await postCategory('read', `v${index}`)).status, 201)
  assert.equal((await reset('read')).status, 200)
  const left = await app.call('GET', `${categories}?$filter=key eq 'team'`, { world: 'read' })
  assert.deepEqual([left.status, left.total], [200, 0])
  assert.equal((await postCategory('read', 'after')).status, 201)
  await reader.return()
})

test('a fork whose reset is interrupted returns to its state at the fork, not to the seed of its origin', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-changes-'))
  try {
    const first = await startApp({ folder })
    await aWorld(first, 'origin')
    await postCategory('origin', 'before', first)
    const forked = await first.call('POST', `${worlds}/origin/$actions/fork`, { body: { name: 'copy' } })
    assert.equal(forked.status, 201)
    await postCategory('copy', 'later', first)
    await first.close()
    // The state that a crash between two steps of a reset leaves.
    rmSync(join(folder, 'worlds', 'copy', 'world.sqlite'))
    writeFileSync(fillingMark(join(folder, 'worlds', 'copy')), '')
    const second = await startApp({ folder })
    const { data } = await second.call('GET', `${categories}?$filter=key eq 'team'`, { world: 'copy' })
    assert.deepEqual(
      data.map(({ value }: { value: string }) => value),
      ['before'],
    )
    await second.close()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

const aRule = { match: { operation: 'createCategory' }, trigger: { next: 1 }, effect: { delay: { fixed: 'PT1H' } } }
const keptFor = async (of: TestApp, world: string): Promise<unknown> => ({
  rules: (await of.call('GET', `${worlds}/${world}/faults`)).total,
  calls: (await of.call('GET', `${worlds}/${world}/journal`)).data.callCount,
})

for (const [whose, left] of Object.entries({
  'of a world': ['world.sqlite'],
  'of one without a kept beginning': ['world.sqlite', 'seed.sqlite'],
}))
  test(`a reset ${whose} that is interrupted is completed by the next start: rules and journal are removed as well`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'hyperplane-changes-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    const first = await startApp({ folder })
    t.after(() => first.close())
    const { url } = await first.listen()
    assert.equal((await first.call('POST', `${worlds}/default/faults`, { body: aRule })).status, 201)
    await http(url, `/api${categories}`)
    assert.deepEqual(await keptFor(first, 'default'), { rules: 1, calls: 1 })
    await first.close()
    for (const file of left) rmSync(join(folder, file))
    writeFileSync(fillingMark(folder), '')
    const second = await startApp({ folder })
    t.after(() => second.close())
    assert.deepEqual(await keptFor(second, 'default'), { rules: 0, calls: 0 })
  })

test('a reset that cannot move the state away changes nothing: rules and journal stay', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-changes-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const full = await startApp({ folder, logLevel: 'silent' })
  t.after(() => full.close())
  const { url } = await full.listen()
  assert.equal((await full.call('POST', `${worlds}/default/faults`, { body: aRule })).status, 201)
  await http(url, `/api${categories}`)
  const { renameSync } = fs
  const renaming = t.mock.method(fs, 'renameSync', (...given: Parameters<typeof renameSync>) => {
    if (String(given[1]).endsWith('world.sqlite-before')) throw Object.assign(new Error('broken'), { code: 'EIO' })
    renameSync(...given)
  })
  syncBuiltinESMExports()
  assert.equal((await full.call('POST', `${worlds}/default/$actions/reset`)).status, 503)
  renaming.mock.restore()
  syncBuiltinESMExports()
  assert.deepEqual(await keptFor(full, 'default'), { rules: 1, calls: 1 })
})

test('a world may begin with 1970', async () => {
  const clock = { mode: 'frozen', startTime: '1970-01-01T00:00:00Z' }
  const { data } = await aWorld(app, 'old', { clock })
  assert.match(data.time, /^1970-01-01T00:00:00/)
})
