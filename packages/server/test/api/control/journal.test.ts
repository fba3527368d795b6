/** The journal of a world: its contents, queries, refusals and life cycle. Source: reference journal.md. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, beforeEach, test } from 'node:test'
import { http } from '../../support/http.ts'
import { aUser } from '../../support/identities.ts'
import { asserted, callsOf, categories, configure, journal } from '../../support/journal.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { aWorld, worlds } from '../../support/worlds.ts'

let app: TestApp
let url: string
before(async () => {
  app = await startApp()
  url = (await app.listen()).url
})
after(() => app.close())
beforeEach(async () => {
  await configure(app, {})
  await app.call('POST', `${journal}/$actions/clear`)
})

const create = (value: unknown = randomUUID()) =>
  http(url, categories, { method: 'POST', body: JSON.stringify({ key: 'Journal', value }) })
const calls = (query: string) =>
  app.call('GET', `${journal}/calls?${query.replaceAll(' ', '%20').replaceAll('+', '%2B')}`)

test('calls are filtered, ordered, paged, counted and selected as in any list', async () => {
  for (let index = 0; index < 5; index++) await create(`v${index}`)
  for (let index = 0; index < 3; index++) await create(7)
  const page = await calls(
    "$filter=operation eq 'platform.createCategory' and status eq 201&$orderby=sequence desc&$limit=2&$page=1",
  )
  assert.equal(page.total, 5)
  assert.deepEqual(
    page.data.map(({ request }: any) => JSON.parse(request.text).value),
    ['v2', 'v1'],
  )
  const chosen = await calls("$filter=errorCodes/any(c:c eq 'SchemaValidationError')&$select=status,errorCodes")
  assert.equal(chosen.total, 3)
  assert.deepEqual(chosen.data[0], { status: 400, errorCodes: ['SchemaValidationError'] })
  assert.equal((await calls("$filter=contains(answer/text,'v3') and caller/name eq 'admin'")).total, 1)
})

test('unknown fields and invalid filters are refused', async () => {
  for (const query of [
    "$filter=colour eq 'red'",
    '$filter=status eq',
    '$orderby=request/text',
    '$limit=1000',
    '$top=1',
  ]) {
    const { status, errors } = await calls(query)
    assert.equal(status, 400, query)
    assert.ok(errors.length > 0)
  }
})

test('a call is read by its number; an unknown number is 404', async () => {
  await create()
  const [call] = await callsOf(app)
  assert.deepEqual((await app.call('GET', `${journal}/calls/${call.sequence}`)).data, call)
  assert.equal((await app.call('GET', `${journal}/calls/999999`)).status, 404)
  assert.equal((await app.call('GET', `${journal}/calls/first`)).status, 400)
})

test('only administrators of the world default may read the journal', async () => {
  const person = await aUser(app, ['Platform Admin'])
  for (const path of [journal, `${journal}/calls`, `${journal}/export`, `${journal}/stream`]) {
    assert.equal((await app.call('GET', path, { as: null })).status, 401, path)
    assert.equal((await app.call('GET', path, { as: person })).status, 403, path)
  }
  assert.equal((await app.call('GET', '/control/v1/worlds/nowhere/journal')).status, 404)
})

test('an update of the settings needs the present tag and valid values', async () => {
  const { data, etag } = await app.call('GET', journal)
  assert.deepEqual([data.isRecording, data.maximumCalls, data.maximumSizeBytes], [true, 100_000, 268_435_456])
  const put = (body: object, ifMatch?: string) =>
    app.call('PUT', journal, { body, ...(ifMatch === undefined ? {} : { ifMatch }) })
  assert.equal((await put({})).status, 428)
  assert.equal((await put({}, '"stale"')).status, 412)
  assert.equal((await put({ maximumCalls: 0 }, etag)).status, 400)
  assert.equal((await put({ maximumSizeBytes: 1 }, etag)).status, 400)
  assert.equal((await put({ colour: 'red' }, etag)).status, 400)
  await create()
  assert.equal((await app.call('GET', journal)).etag, etag, 'calls do not change the tag of the settings')
  assert.equal((await put({ maximumCalls: 7 }, etag)).data.maximumCalls, 7)
  assert.equal((await put({ maximumCalls: 8 }, etag)).status, 412)
})

test('calls above the maximum count drop the oldest ones, and answers show how many', async () => {
  await configure(app, { maximumCalls: 3 })
  for (let index = 0; index < 8; index++) await create(`v${index}`)
  const { data, warnings } = await calls('$select=request')
  assert.deepEqual(
    data.map(({ request }: any) => JSON.parse(request.text).value),
    ['v5', 'v6', 'v7'],
  )
  assert.deepEqual(warnings, ['5 calls went: the journal keeps the last 3 calls and 268435456 bytes.'])
  const { data: state } = await app.call('GET', journal)
  assert.deepEqual([state.callCount, state.droppedCalls, state.missedCalls], [3, 5, 0])
  assert.equal(state.lastSequence - state.firstSequence, 2)
  assert.equal((await asserted(app, { atLeast: 8 })).data.droppedCalls, 5)
})

test('the answer to lower bounds counts the remaining calls', async () => {
  for (let index = 0; index < 5; index++) await create()
  const [{ sequence }] = await callsOf(app)
  const { data } = await configure(app, { maximumCalls: 3 })
  assert.deepEqual(
    [data.callCount, data.droppedCalls, data.firstSequence, data.lastSequence],
    [3, 2, sequence + 2, sequence + 4],
  )
  const state = (await app.call('GET', journal)).data
  assert.deepEqual(state, data)
})

test('settings that cannot be stored are not applied', async (t) => {
  let commits = 0
  const { exec } = DatabaseSync.prototype
  const full = t.mock.method(DatabaseSync.prototype, 'exec', function (this: DatabaseSync, text: string) {
    // The first one comes before anything is changed.
    if (text === 'COMMIT' && this.location()?.endsWith('control.sqlite') === true && ++commits === 2)
      throw new Error('the disk is full')
    exec.call(this, text)
  })
  await assert.rejects(configure(app, { isRecording: false }), /the disk is full/)
  full.mock.restore()
  assert.equal((await app.call('GET', journal)).data.isRecording, true)
  await create('recorded')
  assert.equal((await callsOf(app)).length, 1)
})

test('calls above the maximum size drop the oldest ones', async () => {
  await configure(app, { maximumSizeBytes: 64 * 1024 })
  for (let index = 0; index < 40; index++) await create('x'.repeat(2000))
  const { data } = await app.call('GET', journal)
  assert.ok(data.sizeBytes <= 64 * 1024 && data.callCount > 5 && data.droppedCalls > 5, JSON.stringify(data))
})

test('a journal with recording off keeps its calls', async () => {
  await create('before')
  await configure(app, { isRecording: false })
  await create('unseen')
  await configure(app, { isRecording: true })
  await create('after')
  assert.deepEqual(
    (await callsOf(app)).map(({ request }) => JSON.parse(request.text).value),
    ['before', 'after'],
  )
})

test('an assertion answers its verdict, the number of matches, and near misses', async () => {
  await create('a')
  await create('b')
  await create(7)
  const filter = "operation eq 'platform.createCategory' and status eq 201"
  const held = await asserted(app, { filter, exactly: 2 })
  assert.deepEqual([held.status, held.data.isHeld, held.data.count, held.data.nearest], [200, true, 2, []])
  const failed = (await asserted(app, { filter, atLeast: 3 })).data
  assert.deepEqual([failed.isHeld, failed.count, failed.matching.length], [false, 2, 2])
  assert.deepEqual(failed.nearest[0].unmet, [{ fields: ['status'], found: ['400'] }])
  assert.equal((await asserted(app, { filter, atMost: 1 })).data.isHeld, false)
  assert.equal((await asserted(app, { filter: 'status eq 500', atMost: 0 })).data.isHeld, true)
})

test('an unknown operation in a filter gives a warning', async () => {
  const none = await asserted(app, { filter: "operation eq 'createCategory' and status eq 201", atMost: 0 })
  assert.deepEqual([none.status, none.data.isHeld], [200, true])
  assert.deepEqual(none.warnings, [
    'No operation is called "createCategory", and no call has it. Did you mean platform.createCategory?',
  ])
  const filter = encodeURIComponent("not (operation in ('platform.getCategoryByld', 'vmm.createVm'))")
  const { warnings } = await app.call('GET', `${journal}/calls?$limit=1&$filter=${filter}`)
  assert.match(
    warnings.join(),
    /^No operation is called "platform.getCategoryByld".* Did you mean platform.getCategoryById /,
  )
  assert.deepEqual((await asserted(app, { filter: "operation eq 'platform.createCategory'" })).warnings, [])
})

test('an assertion waits for the world clock, and ends when the clock is moved past its timeout', async () => {
  const waiting = asserted(app, { filter: 'status eq 201', atLeast: 2, within: 'PT10M' })
  await create()
  const moved = await app.call('POST', '/control/v1/worlds/default/clock/$actions/advance', {
    body: { duration: 'PT20M' },
  })
  assert.equal(moved.status, 200, JSON.stringify(moved.errors))
  const { isHeld, count, endedBy } = (await waiting).data
  assert.deepEqual({ isHeld, count, endedBy }, { isHeld: false, count: 1, endedBy: 'time' })
})

test('a waiting assertion ends with the call that makes it true', async () => {
  const waiting = asserted(app, { filter: 'status eq 201', atLeast: 2, within: 'P90D' })
  await create()
  await create()
  const { isHeld, endedBy } = (await waiting).data
  assert.deepEqual({ isHeld, endedBy }, { isHeld: true, endedBy: 'count' })
})

test('an invalid assertion is refused with all its faults', async () => {
  const { status, errors } = await asserted(app, { filter: 'status eq', atLeast: 1, exactly: 2, within: '5 seconds' })
  assert.equal(status, 400)
  assert.deepEqual(
    errors.map(({ code }) => code),
    ['PLAT-10010', 'PLAT-10008', 'PLAT-10008'],
  )
  assert.equal((await asserted(app, { atLeast: -1 })).status, 400)
})

test('a clear empties the journal, and numbers continue', async () => {
  await create()
  const [{ sequence }] = await callsOf(app)
  const cleared = await app.call('POST', `${journal}/$actions/clear`)
  assert.deepEqual([cleared.status, cleared.data.callCount, cleared.data.lastSequence], [200, 0, undefined])
  await create()
  assert.equal((await callsOf(app))[0].sequence, sequence + 1)
})

test('a world with recording off records nothing, also in its first request after a restart', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-journal-'))
  const first = await startApp({ folder })
  await configure(first, { isRecording: false })
  await first.close()
  const second = await startApp({ folder })
  await http((await second.listen()).url, `${categories}?$limit=1`)
  assert.equal((await second.call('GET', journal)).data.callCount, 0)
  await second.close()
  rmSync(folder, { recursive: true, force: true })
})

test('calls and settings survive a restart', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-journal-'))
  const first = await startApp({ folder, unchecked: 'the journal would record its calls' })
  await configure(first, { maximumCalls: 2 })
  const { url: at } = await first.listen()
  for (const value of ['a', 'b', 'c'])
    await http(at, categories, { method: 'POST', body: JSON.stringify({ key: 'Journal', value }) })
  await first.close()
  const second = await startApp({ folder })
  const { url: then } = await second.listen()
  await http(then, `${categories}?$limit=1`)
  assert.deepEqual(
    (await callsOf(second)).map(({ sequence, method }) => [sequence, method]),
    [
      [3, 'POST'],
      [4, 'GET'],
    ],
  )
  assert.equal((await second.call('GET', journal)).data.maximumCalls, 2)
  await second.close()
  rmSync(folder, { recursive: true, force: true })
})

test('a fork begins with an empty journal; a reset empties the journal and restores its default settings', async () => {
  const made = await app.call('POST', worlds, { body: { name: 'tested', preset: 'empty' } })
  assert.equal(made.status, 201, JSON.stringify(made.errors))
  const of = (world: string) => `${worlds}/${world}/journal`
  const { etag } = await app.call('GET', of('tested'))
  await app.call('PUT', of('tested'), { body: { maximumCalls: 5 }, ifMatch: etag ?? '' })
  await http(url, categories, { headers: { 'X-World': 'tested' } })
  assert.equal((await app.call('GET', of('tested'))).data.callCount, 1)
  assert.deepEqual(await callsOf(app), [], 'calls of a world are in its own journal')
  const forked = await app.call('POST', `${worlds}/tested/$actions/fork`, { body: { name: 'forked' } })
  assert.equal(forked.status, 201, JSON.stringify(forked.errors))
  const { callCount, maximumCalls } = (await app.call('GET', of('forked'))).data
  assert.deepEqual([callCount, maximumCalls], [0, 100_000])
  assert.equal((await app.call('POST', `${worlds}/tested/$actions/reset`)).status, 200)
  const afterwards = (await app.call('GET', of('tested'))).data
  assert.deepEqual([afterwards.callCount, afterwards.maximumCalls], [0, 100_000])
  await http(url, categories, { headers: { 'X-World': 'tested' } })
  assert.equal((await app.call('GET', `${of('tested')}/calls`)).data[0].sequence, 1)
  assert.equal((await app.call('DELETE', `${worlds}/tested`)).status, 204)
  assert.equal(existsSync(join(app.folder, 'worlds', 'tested')), false)
})

test('the settings apply from the first call after a restart, also if that reaches no operation', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-journal-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const first = await startApp({ folder, unchecked: 'the journal would record its calls' })
  t.after(() => first.close())
  await aWorld(first, 'quiet')
  const of = `${worlds}/quiet/journal`
  const { etag, data } = await first.call('GET', of)
  const kept = { isRecording: false, maximumCalls: data.maximumCalls, maximumSizeBytes: data.maximumSizeBytes }
  assert.equal((await first.call('PUT', of, { ifMatch: etag, body: kept })).status, 200)
  await first.close()
  const second = await startApp({ folder })
  t.after(() => second.close())
  const { url: at } = await second.listen()
  const headers = { 'X-World': 'quiet' }
  assert.equal((await http(at, '/api/prism/unversioned/info', { method: 'OPTIONS', as: null, headers })).status, 200)
  assert.equal((await http(at, `${categories}?$limit=1`, { headers })).status, 200)
  assert.equal((await second.call('GET', of)).data.callCount, 0)
})

test('without the control interface nothing is recorded', async () => {
  const plain = await startApp({ config: { control: 'off' } })
  const { url: at } = await plain.listen()
  assert.equal((await http(at, `${categories}?$limit=1`)).status, 200)
  assert.equal(existsSync(join(plain.folder, 'journal')), false)
  await plain.close()
})
