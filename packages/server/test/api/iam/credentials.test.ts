import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { AuditRecord } from '../../../src/core/records.ts'
import { realClock } from '../../../src/core/time/clock.ts'
import { SignInLock } from '../../../src/domains/iam/records.ts'
import { adminPassword, startApp, type TestApp } from '../../support/start-app.ts'
import { aRobot, aUser, categories, fresh, goodPassword, grant, ok, settled, users, verdict } from './people.ts'

/** Real time for the service, but for waits: they are noted and take none. */
const waits: number[] = []
let standsAt: number | undefined
const noWaiting = {
  ...realClock,
  now: () => standsAt ?? realClock.now(),
  sleep: async (ms: number) => void waits.push(ms),
}

let app: TestApp
before(async () => void (app = await startApp({ realClock: noWaiting })))
after(() => app.close())

const minute = 60_000
let network = 0
/** An address from which nobody came yet. */
const anAddress = (): string => `198.51.100.${++network}`
const signIn = (name: string, password: string, address: string) =>
  app.call('GET', users, { as: `${name}:${password}`, address })

test('every failed sign-in gets the same answer: unknown, wrong, inactive, service account, no credentials', async () => {
  const inactive = await aUser(app, undefined, { status: 'INACTIVE' })
  const robot = await aRobot(app)
  const robotName = (await app.call('GET', `${users}/${robot.extId}`)).data.username
  const address = anAddress()
  const refused = [
    await app.call('GET', users, { as: null, address }),
    await signIn('nobody', 'x', address),
    await signIn('nobody@example.com', 'x', address),
    await signIn('EXAMPLE\\nobody', 'x', address),
    await signIn('admin', 'wrong', address),
    await signIn('admin', '', address),
    await app.call('GET', users, { as: inactive.as, address }),
    await signIn(robotName, robot.apiKey, address),
    await app.call('GET', users, { apiKey: 'hpk_unknown', address }),
    await app.call('GET', '/nowhere', { as: 'nobody:x', address }),
  ]
  for (const one of refused) {
    assert.equal(one.status, 401)
    assert.deepEqual(one.errors, refused[0]?.errors)
  }
})

test('over HTTP the refusals of an unknown user and of a wrong password are the same bytes', async () => {
  const { url } = await app.listen()
  const answers = await Promise.all(
    ['nobody:wrong', 'admin:wrong'].map(async (as) => {
      const requestId = '7e0c6ad1-8d0c-4a5e-9a77-000000000001'
      const headers = { authorization: `Basic ${Buffer.from(as).toString('base64')}`, 'svc-request-id': requestId }
      const answer = await fetch(`${url}/api${users}`, { headers })
      const shown = [...answer.headers].filter(([name]) => !['date', 'content-length'].includes(name))
      return { status: answer.status, headers: shown, body: await answer.text() }
    }),
  )
  assert.equal(answers[0]?.status, 401)
  assert.match(new Map(answers[0]?.headers).get('www-authenticate') ?? '', /^Basic realm=/)
  assert.deepEqual(answers[0], answers[1])
  assert.match(answers[0]?.body ?? '', /PLAT-10401/)
})

test('a wrong API key is refused even with correct Basic credentials, and a valid key passes even with wrong ones', async () => {
  const { apiKey, extId } = await aRobot(app)
  const as = `admin:${adminPassword}`
  assert.equal((await app.call('GET', users, { as, apiKey: 'hpk_wrong' })).status, 401)
  ok(await app.call('GET', `${users}/${extId}`, { as: 'admin:wrong', apiKey }), 200)
  ok(await app.call('GET', `${users}/${extId}`, { apiKey: `ApiKey ${apiKey}` }), 200)
})

test('the storage namespace accepts only Basic credentials', async () => {
  const { apiKey, extId } = await aRobot(app)
  await grant(app, 'Platform Viewer', extId)
  const path = '/storage/v4.0.a3/config/iscsi-clients'
  assert.equal((await app.call('GET', path, { apiKey })).status, 401)
  assert.notEqual((await app.call('GET', path, { as: `admin:${adminPassword}`, apiKey })).status, 401)
})

test('five wrong passwords lock the pair of user name and client address for 15 minutes of world time', async () => {
  const person = await aUser(app)
  const [here, there] = [anAddress(), anAddress()]
  const own = (address: string) => app.call('GET', `${users}/${person.extId}`, { as: person.as, address })
  ok(await own(here), 200)
  for (let i = 0; i < 6; i++) assert.equal((await signIn(person.username, `wrong ${i}`, here)).status, 401)
  assert.equal((await own(here)).status, 401, 'the right password, remembered or not')
  ok(await own(there), 200)
  await app.clock.advance(15 * minute - 1000)
  assert.equal((await own(here)).status, 401)
  await app.clock.advance(1000)
  ok(await own(here), 200)
})

test('four wrong passwords, and requests without credentials, lock nobody', async () => {
  const person = await aUser(app)
  const address = anAddress()
  for (let i = 0; i < 4; i++) await signIn(person.username, `wrong ${i}`, address)
  for (let i = 0; i < 10; i++) assert.equal((await app.call('GET', users, { as: null, address })).status, 401)
  ok(await app.call('GET', `${users}/${person.extId}`, { as: person.as, address }), 200)
  await app.clock.advance(15 * minute)
  await signIn(person.username, 'wrong', address)
  ok(await app.call('GET', `${users}/${person.extId}`, { as: person.as, address }), 200)
})

test('an administrator unlocks a locked pair by resetting the password', async () => {
  const person = await aUser(app)
  const address = anAddress()
  for (let i = 0; i < 5; i++) await signIn(person.username, `wrong ${i}`, address)
  ok(
    await app.call('POST', `${users}/${person.extId}/$actions/reset-password`, {
      body: { newPassword: 'Given.Passw0rd' },
    }),
    200,
  )
  const result = await app.call('GET', users, { as: `${person.username}:Given.Passw0rd`, address })
  assert.equal(verdict(result), '403 IAM-20015')
  assert.equal((await app.store.findWhere(SignInLock, { name: person.username })).length, 0)
})

test('of concurrent wrong passwords no more than five are checked, because they are checked one after another', async () => {
  const person = await aUser(app)
  const address = anAddress()
  const right = app.call('GET', `${users}/${person.extId}`, { as: person.as, address: anAddress() })
  await Promise.all(Array.from({ length: 8 }, (_, index) => signIn(person.username, `wrong ${index}`, address)))
  assert.equal((await app.call('GET', `${users}/${person.extId}`, { as: person.as, address })).status, 401)
  ok(await right, 200)
})

test('fifty failed sign-ins of one user name from any addresses slow it down and raise an alarm', async () => {
  const name = fresh('attacked')
  waits.length = 0
  // How long a hash takes is the machine's matter.
  standsAt = realClock.now()
  for (let i = 0; i < 50; i++) await signIn(name, 'guess', `203.0.113.${i}`)
  assert.deepEqual(waits, [])
  await signIn(name, 'guess', '203.0.113.99')
  assert.deepEqual(waits, [1000])
  standsAt = undefined
  const alarms = (await app.store.find(AuditRecord)).filter((record) => record.operation === 'iam.signInAlarm')
  assert.deepEqual(
    alarms.map((record) => record.target),
    [name],
  )
})

test('sixty failures a minute block that client address and no other', async () => {
  const address = anAddress()
  for (let i = 0; i < 60; i++)
    assert.equal((await app.call('GET', users, { apiKey: `hpk_guess${i}`, address })).status, 401)
  const refused = await app.call('GET', users, { as: `admin:${adminPassword}`, address })
  assert.equal(refused.status, 429)
  assert.match(refused.headers['Retry-After'] ?? '', /^[1-9]\d*$/)
  ok(await app.call('GET', users, { address: anAddress() }), 200)
})

test('every failed sign-in is audited, for reads too', async () => {
  const address = anAddress()
  await signIn('nobody', 'x', address)
  const records = (await app.store.find(AuditRecord)).filter((record) => record.address === address)
  assert.deepEqual(
    records.map((record) => [record.status, record.credential]),
    [[401, 'failed']],
  )
})

test('a lock survives a restart', async () => {
  const { mkdtempSync, rmSync } = await import('node:fs')
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-test-'))
  const first = await startApp({ folder })
  const address = '192.0.2.77'
  for (let i = 0; i < 5; i++) await first.call('GET', categories, { as: `admin:wrong${i}`, address })
  await first.close()
  const second = await startApp({ folder })
  try {
    assert.equal((await second.call('GET', categories, { address })).status, 401)
    ok(await second.call('GET', categories, { address: '192.0.2.78' }), 200)
  } finally {
    await second.close()
    rmSync(folder, { recursive: true, force: true })
  }
})

test('with lock-out disabled no wrong password locks', async () => {
  const open = await startApp({ config: { lockout: 'off' } })
  try {
    for (let i = 0; i < 6; i++) await open.call('GET', categories, { as: `admin:wrong${i}` })
    ok(await open.call('GET', categories), 200)
  } finally {
    await open.close()
  }
})

test('an API key cannot be used to guess the password of its user by change-password after the pair is locked', async () => {
  const person = await aUser(app)
  const { extId, username } = person
  const key = ok(await app.call('POST', `${users}/${extId}/keys`, { body: { name: 'k', keyType: 'API_KEY' } }), 201)
  const apiKey = key.data.keyDetails.apiKey
  const address = anAddress()
  const change = async (oldPassword: string) => {
    const body = { username, oldPassword, newPassword: 'Another.Horse8' }
    return (await app.call('POST', `${users}/$actions/change-password`, { apiKey, address, body })).status
  }
  for (let guess = 0; guess < 5; guess++) assert.equal(await change(`wrong ${guess}`), 403)
  await settled(app)
  assert.equal(await change(goodPassword), 403)
  await app.clock.advance(15 * 60_000)
  assert.equal(await change(goodPassword), 200)
})
