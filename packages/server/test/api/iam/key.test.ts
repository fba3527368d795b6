import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { AuditRecord } from '../../../src/core/records.ts'
import { adminPassword, startApp, type TestApp } from '../../support/start-app.ts'
import { aRobot, aUser, categories, etagOf, grant, ok, settled, users, verdict } from './people.ts'

let app: TestApp
before(async () => void (app = await startApp()))
after(() => app.close())

const keysOf = (user: string): string => `${users}/${user}/keys`

test('the secret of a key is returned by its creation and never again', async () => {
  const { extId, keyExtId, apiKey } = await aRobot(app)
  assert.match(apiKey, /^hpk_[A-Za-z0-9_-]{43,}$/)
  assert.ok(apiKey.length <= 128)
  const read = ok(await app.call('GET', `${keysOf(extId)}/${keyExtId}`), 200)
  const list = ok(await app.call('GET', keysOf(extId)), 200)
  assert.equal(list.total, 1)
  for (const shown of [read.data, list.data]) assert.ok(!JSON.stringify(shown).includes(apiKey.slice(4)))
  assert.equal(read.data.keyDetails, undefined)
  const again = await app.call('POST', keysOf(extId), { body: { name: 'first', keyType: 'API_KEY' } })
  assert.equal(verdict(again), '409 IAM-20011')
  assert.equal(again.errors[0]?.message, 'Failed to create key as there is a key with the same name.')
})

test('over HTTP only the creation returns the secret, in both naming profiles', async () => {
  const { url } = await app.listen()
  const { extId } = await aRobot(app)
  const call = async (method: string, headers: object, body?: object): Promise<any> => {
    const authorization = `Basic ${Buffer.from(`admin:${adminPassword}`).toString('base64')}`
    const init = { method, headers: { authorization, 'content-type': 'application/json', ...headers } }
    return (
      await fetch(`${url}/api${keysOf(extId)}`, body === undefined ? init : { ...init, body: JSON.stringify(body) })
    ).json()
  }
  const spec = await call('POST', {}, { name: 'spec', keyType: 'API_KEY' })
  assert.deepEqual(Object.keys(spec.data.keyDetails), ['$objectType', 'apiKey'])
  const names = { 'ntnx-request-id': crypto.randomUUID() }
  const shown = await call('POST', names, { name: 'public', keyType: 'OBJECT_KEY' })
  assert.equal(shown.data.$keyDetailsItemDiscriminator, 'iam.v4.authn.ObjectKeyDetails')
  assert.ok(shown.data.keyDetails.secretKey.length >= 40)
  for (const headers of [{}, { 'ntnx-request-id': crypto.randomUUID() }]) {
    const list = JSON.stringify(await call('GET', headers))
    assert.ok(!list.includes(spec.data.keyDetails.apiKey) && !list.includes(shown.data.keyDetails.secretKey))
    assert.ok(list.includes(shown.data.keyDetails.accessKey))
    assert.ok(!/digest|objectSecretKey/i.test(list))
  }
})

test('no plain secret reaches the data file', async () => {
  const { apiKey, extId } = await aRobot(app)
  const object = ok(
    await app.call('POST', keysOf(extId), {
      body: { name: 'objects', keyType: 'OBJECT_KEY' },
      requestId: crypto.randomUUID(),
    }),
    201,
  )
  const { secretKey } = object.data.keyDetails
  for (const file of ['world.sqlite', 'world.sqlite-wal']) {
    const bytes = readFileSync(join(app.folder, file)).toString('latin1')
    assert.ok(!bytes.includes(apiKey.slice(4)), file)
    assert.ok(!bytes.includes(secretKey), file)
  }
})

test('an object key shows its access key, also in the user, and its secret only once', async () => {
  const { extId } = await aRobot(app)
  const created = ok(await app.call('POST', keysOf(extId), { body: { name: 'objects', keyType: 'OBJECT_KEY' } }), 201)
  const { accessKey, secretKey } = created.data.keyDetails
  assert.ok(accessKey.length >= 16 && secretKey.length >= 40)
  const read = ok(await app.call('GET', `${keysOf(extId)}/${created.data.extId}`), 200).data
  assert.equal(read.keyDetails.accessKey, accessKey)
  assert.ok(!JSON.stringify(read).includes(secretKey))
  const owner = ok(await app.call('GET', `${users}/${extId}`), 200).data
  assert.deepEqual(
    owner.bucketsAccessKeys.map((one: any) => [one.accessKeyName, one.status]),
    [['objects', 'VALID']],
  )
})

test('using a key updates lastUsedTime but not the ETag, and a revoked key is refused with the next request', async () => {
  const { extId, keyExtId, apiKey } = await aRobot(app)
  const path = `${keysOf(extId)}/${keyExtId}`
  const etag = await etagOf(app, path)
  ok(await app.call('GET', path, { apiKey }), 200)
  await settled(app)
  const used = ok(await app.call('GET', path), 200)
  assert.equal(used.data.lastUsedTime, app.clock.iso())
  assert.equal(used.etag, etag)
  for (let i = 0; i < 2; i++) {
    const revoked = ok(await app.call('POST', `${path}/$actions/revoke`), 200)
    assert.equal(revoked.data.message, 'Revoke user key successful.')
    assert.equal(revoked.data.severity, undefined)
    assert.equal((await app.call('GET', path, { apiKey })).status, 401)
  }
  assert.equal((await app.call('GET', path)).data.status, 'REVOKED')
})

test('a key expires by the world clock', async () => {
  const { extId } = await aRobot(app)
  const expiryTime = new Date(app.clock.now() + 600_000).toISOString()
  const created = ok(
    await app.call('POST', keysOf(extId), { body: { name: 'short', keyType: 'API_KEY', expiryTime } }),
    201,
  )
  const path = `${keysOf(extId)}/${created.data.extId}`
  const { apiKey } = created.data.keyDetails
  // Of the machine it is long over.
  assert.equal(ok(await app.call('GET', path, { apiKey }), 200).data.status, 'VALID')
  await app.clock.advance(600_000)
  assert.equal((await app.call('GET', path, { apiKey })).status, 401)
  assert.equal(ok(await app.call('GET', path), 200).data.status, 'EXPIRED')
  assert.deepEqual(
    (await app.call('GET', `${keysOf(extId)}?$filter=status eq 'EXPIRED'`)).data.map((one: any) => one.name),
    ['short'],
  )
  assert.equal(verdict(await app.call('POST', `${path}/$actions/revoke`)), '409 PLAT-10009')
  ok(await app.call('DELETE', path, { ifMatch: await etagOf(app, path) }), 204)
})

test("a key is 404 under another user's path, and deleting it needs the ETag and revokes it", async () => {
  const { extId, keyExtId, apiKey } = await aRobot(app)
  const other = await aRobot(app)
  assert.equal(verdict(await app.call('GET', `${keysOf(other.extId)}/${keyExtId}`)), '404 IAM-20002')
  const path = `${keysOf(extId)}/${keyExtId}`
  ok(await app.call('GET', path, { apiKey }), 200)
  assert.equal((await app.call('DELETE', path)).status, 428)
  ok(await app.call('DELETE', path, { ifMatch: await etagOf(app, path) }), 204)
  assert.equal((await app.call('GET', path)).status, 404)
  assert.equal((await app.call('GET', path, { apiKey })).status, 401)
})

test('a key with a past or distant expiry, with a status or beyond the limit is refused', async () => {
  const { extId } = await aRobot(app)
  const create = (body: object) => app.call('POST', keysOf(extId), { body: { keyType: 'API_KEY', ...body } })
  assert.equal((await create({ name: 'past', expiryTime: '2020-01-01T00:00:00Z' })).status, 400)
  assert.equal((await create({ name: 'far', expiryTime: '2050-01-01T00:00:00Z' })).status, 400)
  assert.equal((await create({ name: 'revoked', status: 'REVOKED' })).status, 400)
  assert.equal((await create({ name: 'short', assignedTo: 'ab' })).status, 400)
  for (let i = 0; i < 5; i++) ok(await create({ name: `object ${i}`, keyType: 'OBJECT_KEY' }), 201)
  assert.equal(verdict(await create({ name: 'object 6', keyType: 'OBJECT_KEY' })), '422 PLAT-10014')
  for (let i = 6; i < 25; i++) ok(await create({ name: `key ${i}` }), 201)
  assert.equal(verdict(await create({ name: 'one more' })), '422 PLAT-10014')
  const inactive = await aUser(app, undefined, { status: 'INACTIVE' })
  assert.equal(
    verdict(await app.call('POST', keysOf(inactive.extId), { body: { name: 'k', keyType: 'API_KEY' } })),
    '409 PLAT-10009',
  )
})

test('users read and revoke their own keys without a policy, but no others', async () => {
  const { extId, keyExtId, apiKey } = await aRobot(app)
  const other = await aRobot(app)
  assert.equal(ok(await app.call('GET', keysOf(extId), { apiKey }), 200).total, 1)
  assert.equal((await app.call('GET', keysOf(other.extId), { apiKey })).status, 404)
  assert.equal((await app.call('POST', keysOf(extId), { apiKey, body: { name: 'k', keyType: 'API_KEY' } })).status, 403)
  assert.equal(
    (await app.call('POST', `${keysOf(other.extId)}/${other.keyExtId}/$actions/revoke`, { apiKey })).status,
    404,
  )
  ok(await app.call('POST', `${keysOf(extId)}/${keyExtId}/$actions/revoke`, { apiKey }), 200)
})

test('an API key of a new service account works after a policy is created and no longer after its revocation', async () => {
  const { extId, keyExtId, apiKey } = await aRobot(app)
  assert.equal((await app.call('GET', categories, { apiKey })).status, 403)
  await grant(app, 'Category Viewer', extId)
  ok(await app.call('GET', categories, { apiKey }), 200)
  ok(await app.call('POST', `${keysOf(extId)}/${keyExtId}/$actions/revoke`), 200)
  assert.equal((await app.call('GET', categories, { apiKey })).status, 401)
})

test('an audit record names the API key that was used', async () => {
  const { extId, keyExtId, apiKey } = await aRobot(app)
  await app.call('POST', categories, { apiKey, body: { key: 'a', value: 'b' } })
  const records = await app.store.find(AuditRecord, { newestFirst: true, limit: 1 })
  assert.deepEqual(
    [records[0]?.identity, records[0]?.credential, records[0]?.status],
    [extId, `apiKey ${keyExtId}`, 403],
  )
})

test('repeating a key creation after a crash with the same request id returns the same working key', async () => {
  const requestId = crypto.randomUUID()
  const first = await startApp()
  const robot = await aRobot(first)
  const body = { name: 'after the crash', keyType: 'API_KEY' }
  const created = ok(await first.call('POST', keysOf(robot.extId), { body, requestId }), 201)
  const { cpSync, mkdtempSync, rmSync } = await import('node:fs')
  const folder = join(mkdtempSync(join(tmpdir(), 'hyperplane-test-')), 'copy')
  cpSync(first.folder, folder, { recursive: true, filter: (path) => !/lock/i.test(path) })
  await first.close()
  const second = await startApp({ folder })
  try {
    const again = ok(await second.call('POST', keysOf(robot.extId), { body, requestId }), 201)
    assert.equal(again.replayed, true)
    assert.equal(again.data.keyDetails.apiKey, created.data.keyDetails.apiKey)
    ok(await second.call('GET', keysOf(robot.extId), { apiKey: again.data.keyDetails.apiKey }), 200)
  } finally {
    await second.close()
    rmSync(folder, { recursive: true, force: true })
  }
})
