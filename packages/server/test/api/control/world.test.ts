/** Worlds over the control interface: creation, fork, reset, deletion, isolation. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { adminPassword, startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const worlds = '/control/v1/worlds'
const create = (name: string, more: object = {}) =>
  app.call('POST', worlds, { body: { name, preset: 'empty', ...more } })

/** A call of the API in another world, by default as `admin`. */
const within = (world: string, method: string, path: string, body?: unknown, as = `admin:${adminPassword}`) =>
  app.call(method, path, { world, as, ...(body === undefined ? {} : { body }) })
const categories = '/platform/v4.3/config/categories'

test('a world is created from a preset, listed, read and deleted; default always exists', async () => {
  const made = await create('first', { description: 'for one test' })
  assert.equal(made.status, 201, JSON.stringify(made.errors))
  assert.equal(made.data.state, 'OPEN')
  assert.equal(made.data.preset, 'empty')
  const listed = await app.call('GET', `${worlds}?$orderby=name`)
  assert.deepEqual(
    listed.data.map(({ name }: { name: string }) => name),
    ['default', 'first'],
  )
  const read = await app.call('GET', `${worlds}/first`)
  assert.equal(read.data.description, 'for one test')
  assert.ok(read.data.sizeBytes > 0)
  assert.equal((await app.call('GET', `${worlds}/FIRST`)).data.name, 'first', 'names are found in either case')
  assert.equal((await app.call('DELETE', `${worlds}/first`)).status, 204)
  assert.equal((await app.call('GET', `${worlds}/first`)).status, 404)
  const refused = await app.call('DELETE', `${worlds}/default`)
  assert.equal(refused.status, 409)
  assert.equal(refused.errors[0]?.code, 'CTRL-10003')
})

test('a world has its own users and rows: nothing of one is seen in another', async () => {
  await create('left', { adminPassword: 'Left.Passw0rd!' })
  await create('right')
  const made = await within('left', 'POST', categories, { key: 'team', value: 'a' }, 'admin:Left.Passw0rd!')
  assert.equal(made.status, 201)
  const id = made.data.extId
  assert.equal((await within('right', 'GET', `${categories}/${id}`)).status, 404)
  assert.equal((await app.call('GET', `${categories}/${id}`)).status, 404)
  assert.equal(
    (await within('left', 'GET', `${categories}/${id}`)).status,
    401,
    'the password of default is not its own',
  )
  assert.equal((await within('right', 'GET', `${categories}/${id}`, undefined, 'admin:Left.Passw0rd!')).status, 401)
})

test('a fork continues from the state of its origin, and neither changes the other', async () => {
  await create('origin')
  const before = await within('origin', 'POST', categories, { key: 'team', value: 'before' })
  const forked = await app.call('POST', `${worlds}/origin/$actions/fork`, { body: { name: 'copy' } })
  assert.equal(forked.status, 201, JSON.stringify(forked.errors))
  assert.equal(forked.data.forkedFrom, 'origin')
  assert.equal((await within('copy', 'GET', `${categories}/${before.data.extId}`)).status, 200)
  const later = await within('copy', 'POST', categories, { key: 'team', value: 'later' })
  assert.equal((await within('origin', 'GET', `${categories}/${later.data.extId}`)).status, 404)
  await within('origin', 'DELETE', `${categories}/${before.data.extId}`)
  assert.equal((await within('copy', 'GET', `${categories}/${before.data.extId}`)).status, 200)
  // A reset returns the fork to its state at the fork.
  await app.call('POST', `${worlds}/copy/$actions/reset`)
  assert.equal((await within('copy', 'GET', `${categories}/${before.data.extId}`)).status, 200)
  assert.equal((await within('copy', 'GET', `${categories}/${later.data.extId}`)).status, 404)
})

test('a reset returns a world to its seed and its clock to its initial time; the password stays', async () => {
  await create('again', { clock: { mode: 'frozen', startTime: '2026-01-01T00:00:00Z' } })
  const made = await within('again', 'POST', categories, { key: 'team', value: 'x' })
  await app.call('POST', `${worlds}/again/clock/$actions/advance`, { body: { duration: 'P1D' } })
  assert.match((await app.call('GET', `${worlds}/again/clock`)).data.time, /^2026-01-02T00:00:00/)
  const reset = await app.call('POST', `${worlds}/again/$actions/reset`)
  assert.equal(reset.status, 200, JSON.stringify(reset.errors))
  assert.equal((await within('again', 'GET', `${categories}/${made.data.extId}`)).status, 404)
  assert.match((await app.call('GET', `${worlds}/again/clock`)).data.time, /^2026-01-01T00:00:00/)
})

test('the world default is reset like any other, and its admin keeps the password', async () => {
  const { data } = await app.call('POST', categories, { body: { key: 'team', value: 'default' } })
  assert.equal((await app.call('POST', `${worlds}/default/$actions/reset`)).status, 200)
  assert.equal((await app.call('GET', `${categories}/${data.extId}`)).status, 404)
})

test('a request that began before a reset is answered; requests during the reset wait for the new state', async () => {
  await create('busy')
  const calls = Array.from({ length: 40 }, (_, index) =>
    within('busy', 'POST', categories, { key: 'team', value: `v${index}` }),
  )
  const reset = app.call('POST', `${worlds}/busy/$actions/reset`)
  const statuses = (await Promise.all(calls)).map(({ status }) => status)
  assert.ok(
    statuses.every((status) => status === 201),
    String(statuses),
  )
  assert.equal((await reset).status, 200)
})

test('an invalid world is refused with all faults together', async () => {
  for (const name of ['', '-a', 'a-', 'a.b', 'a_b', 'ä', 'a'.repeat(64)])
    assert.equal((await create(name)).status, 400, JSON.stringify(name))
  assert.equal((await create('default')).status, 409)
  await create('taken')
  assert.equal((await create('TAKEN')).status, 409)
  const faults = await create('faulty', {
    adminPassword: 'short-but-weak',
    clock: { mode: 'frozen', scale: 2 },
    seed: 'extends: demo',
  })
  assert.equal(faults.status, 400)
  assert.deepEqual([...new Set(faults.errors.map((error) => error.argumentsMap?.['attributePath']))].sort(), [
    'adminPassword',
    'clock/scale',
    'seed',
  ])
  assert.equal((await create('unknown', { colour: 'red' })).status, 400)
  assert.equal(app.worlds.get('faulty'), undefined)
})

test('only a Super Admin of the world default may manage worlds: other users get 403, anonymous requests 401', async () => {
  assert.equal((await app.call('GET', worlds, { as: null })).status, 401)
  assert.equal((await app.call('GET', worlds, { as: 'admin:wrong' })).status, 401)
  const users = '/iam/v4.1.b2/authn/users'
  const viewer = await app.call('POST', users, {
    body: { username: 'onlooker', userType: 'LOCAL', password: 'Sees.Nothing-42', firstName: 'On', lastName: 'Looker' },
  })
  assert.ok(viewer.status < 300, JSON.stringify(viewer.errors))
  const refused = await app.call('GET', worlds, { as: 'onlooker:Sees.Nothing-42' })
  assert.equal(refused.status, 403)
})

test('an update needs the tag of a read, and changes mutable fields', async () => {
  await create('named')
  const read = await app.call('GET', `${worlds}/named`)
  const { extId: _, ...known } = read.data
  const body = { ...known, description: 'changed' }
  assert.equal((await app.call('PUT', `${worlds}/named`, { body })).status, 428)
  const updated = await app.call('PUT', `${worlds}/named`, { body, ifMatch: read.etag! })
  assert.equal(updated.status, 200, JSON.stringify(updated.errors))
  assert.equal((await app.call('GET', `${worlds}/named`)).data.description, 'changed')
  assert.equal((await app.call('PUT', `${worlds}/named`, { body, ifMatch: read.etag! })).status, 412)
})

test('requests with the same request id create one world', async () => {
  const options = { body: { name: 'once', preset: 'empty' }, requestId: '5d0f4f8e-6c1b-4d59-9f0b-3e1f5a9f0a11' }
  assert.equal((await app.call('POST', worlds, options)).status, 201)
  const again = await app.call('POST', worlds, options)
  assert.equal(again.status, 201)
  assert.equal(again.replayed, true)
  const other = { ...options, body: { name: 'twice', preset: 'empty' } }
  assert.equal((await app.call('POST', worlds, other)).status, 422)
})

test('worlds survive a restart of the service, each with its rows and its time', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-worlds-'))
  try {
    const first = await startApp({ folder })
    const body = { name: 'kept', preset: 'empty', clock: { mode: 'frozen', startTime: '2026-01-01T00:00:00Z' } }
    assert.equal((await first.call('POST', worlds, { body })).status, 201)
    const row = await first.call('POST', categories, { world: 'kept', body: { key: 'team', value: 'kept' } })
    await first.call('POST', `${worlds}/kept/clock/$actions/advance`, { body: { duration: 'PT36H' } })
    await first.close()
    const second = await startApp({ folder })
    const resting = (await second.call('GET', `${worlds}/kept`)).data
    assert.deepEqual([resting.state, resting.time], ['RESTING', undefined], 'no time is told rather than a wrong one')
    assert.match((await second.call('GET', `${worlds}/kept/clock`)).data.time, /^2026-01-02T12:00:00/)
    const open = (await second.call('GET', `${worlds}/kept`)).data
    assert.deepEqual([open.state, open.time], ['OPEN', '2026-01-02T12:00:00.000000Z'])
    const kept = await second.call('GET', `${categories}/${row.data.extId}`, { world: 'kept' })
    assert.deepEqual([kept.status, kept.data.value], [200, 'kept'])
    await second.close()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
