/** Worlds are created independently: a slow creation delays no other world, and requests for one world are serialised. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { User } from '@hyperplane/contract/iam/user'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { aUser } from '../../support/identities.ts'
import { type CallOptions, type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { aWorld, worlds } from '../../support/worlds.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

/** Takes seconds: other requests end earlier unless they wait for it. */
const long = { seed: 'extends: tiny\nvms: 6000\n' }
const make = (name: string, more: object = { preset: 'empty' }, options: CallOptions = {}): Promise<CallResult> =>
  app.call('POST', worlds, { body: { name, ...more }, ...options })
const at = (name: string): string => `${worlds}/${name}`
const mark = (name: string): string => join(app.folder, 'worlds', name, '.unlisted')
/** Resolves when its folder exists, or when the creation ended without one. */
async function begun(name: string, making: Promise<unknown>): Promise<void> {
  let isOver = false
  void making.then(() => {
    isOver = true
  })
  while (!isOver && !existsSync(mark(name))) await new Promise(setImmediate)
}

test('while a large world is created, others are listed, created, forked, reset and deleted', async () => {
  await aWorld(app, 'beside')
  const told: string[] = []
  const large = make('large', long).then((made) => {
    told.push('large')
    return made
  })
  await begun('large', large)
  for (const [method, path, body] of [
    ['GET', worlds, undefined],
    ['POST', worlds, { name: 'small', preset: 'empty' }],
    ['POST', `${at('beside')}/$actions/fork`, { name: 'forked' }],
    ['POST', `${at('beside')}/$actions/reset`, undefined],
    ['DELETE', at('small'), undefined],
  ] as const) {
    const { status, errors } = await app.call(method, path, body === undefined ? {} : { body })
    assert.ok(status < 300, `${method} ${path}: ${status} ${JSON.stringify(errors)}`)
    told.push(`${method} ${path}`)
  }
  assert.equal(told.includes('large'), false, told.join())
  assert.equal(app.worlds.get('large'), undefined, 'nobody finds it yet')
  assert.equal((await app.call('GET', at('large'))).status, 404)
  assert.equal((await large).status, 201)
  assert.equal(existsSync(mark('large')), false)
  const { total = 0 } = await app.call('GET', '/vmm/v4.2/ahv/config/vms?$limit=1', { world: 'large' })
  assert.ok(total >= 6000, String(total))
})

test('of two concurrent creations with one name, in any case, one succeeds and the other is 409', async () => {
  const made = await Promise.all([make('twice'), make('TWICE')])
  assert.deepEqual(made.map(({ status }) => status).sort(), [201, 409])
  assert.equal((await app.call('GET', `${worlds}?$filter=name eq 'twice' or name eq 'TWICE'`)).total, 1)
})

test('of two concurrent creations with one name, the second succeeds if the first fails', async () => {
  const made = await Promise.all([
    make('second', { seed: 'extends: tiny\nvms: [{ name: a, nics: [no] }]\n' }),
    make('second'),
  ])
  assert.deepEqual(
    made.map(({ status }) => status),
    [400, 201],
  )
})

test('a deletion during the creation of a world waits for it, and deletes the world', async () => {
  const making = make('brief')
  await begun('brief', making)
  const removed = app.call('DELETE', at('brief'))
  assert.equal((await making).status, 201)
  // A request sees the state at the time when it runs.
  assert.equal((await removed).status, 204)
  assert.equal(existsSync(join(app.folder, 'worlds', 'brief')), false)
})

test('a repeated request during the first one gets the same answer, and is refused if its body differs', async () => {
  const requestId = randomUUID()
  const [first, again, other] = await Promise.all([
    make('repeated', { preset: 'empty' }, { requestId }),
    make('repeated', { preset: 'empty' }, { requestId }),
    make('another', { preset: 'empty' }, { requestId }),
  ])
  assert.deepEqual([first.status, first.replayed], [201, undefined])
  assert.deepEqual([again.status, again.replayed], [201, true])
  assert.equal(other.status, 422)
  assert.equal((await app.call('GET', at('another'))).status, 404)
})

test('a concurrent reset, fork and deletion of one world run one after another', async () => {
  await aWorld(app, 'asked')
  const [reset, forked, removed, late] = await Promise.all([
    app.call('POST', `${at('asked')}/$actions/reset`),
    app.call('POST', `${at('asked')}/$actions/fork`, { body: { name: 'of-asked' } }),
    app.call('DELETE', at('asked')),
    app.call('POST', `${at('asked')}/$actions/reset`),
  ])
  assert.deepEqual([reset.status, forked.status, removed.status, late.status], [200, 201, 204, 404])
  assert.equal((await app.call('GET', at('of-asked'))).status, 200)
})

test('without an admin password in the world default, a new world needs one of its own: 400', async () => {
  const other = await startApp({ config: { seed: 'empty' } })
  try {
    const as = await aUser(other, ['Super Admin'])
    // A seed with users of its own can leave out `admin`.
    await other.store.transaction((store) =>
      store.update(User, seedId('user/admin'), { passwordHash: undefined } as never),
    )
    const body = { name: 'closed', preset: 'empty' }
    const refused = await other.call('POST', worlds, { as, body })
    assert.equal(refused.status, 400, JSON.stringify(refused.errors))
    assert.match(
      refused.errors[0]?.message ?? '',
      /adminPassword.* is required here: the world default has no user admin/,
    )
    assert.equal((await other.call('GET', at('closed'), { as })).status, 404)
    const made = await other.call('POST', worlds, { as, body: { ...body, adminPassword: 'Its.Own-Passw0rd' } })
    assert.equal(made.status, 201, JSON.stringify(made.errors))
    const own = { world: 'closed', as: 'admin:Its.Own-Passw0rd' }
    assert.equal((await other.call('GET', '/platform/v4.3/config/categories', own)).status, 200)
  } finally {
    await other.close()
  }
})

test('a refused caller does not create the control store of a world', async () => {
  await aWorld(app, 'untouched')
  const store = join(app.folder, 'worlds', 'untouched', 'control.sqlite')
  const clock = `${at('untouched')}/clock`
  const stranger = await aUser(app)
  for (const [as, status] of [
    [null, 401],
    ['admin:wrong', 401],
    [stranger, 403],
  ] as const) {
    assert.equal((await app.call('GET', clock, { as })).status, status)
    assert.equal((await app.call('POST', `${at('untouched')}/faults`, { as, body: {} })).status, status)
  }
  assert.equal(existsSync(store), false)
  assert.equal((await app.call('GET', clock)).status, 200)
  assert.equal(existsSync(store), true)
})

test('a world that is being created while the service stops is completed, and closed with the others', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-creation-'))
  try {
    const ending = await startApp({ folder })
    const making = ending.call('POST', worlds, { body: { name: 'last', preset: 'demo' } })
    while (!existsSync(join(folder, 'worlds', 'last', '.unlisted'))) await new Promise(setImmediate)
    await ending.close()
    assert.equal((await making).status, 201)
    const store = join(folder, 'worlds', 'last', 'world.sqlite')
    assert.deepEqual(
      [store, `${store}-wal`].map(existsSync),
      [true, false],
      'the last one to close it clears its log away',
    )
    const next = await startApp({ folder })
    assert.equal((await next.call('GET', at('last'))).status, 200)
    await next.close()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
