/** Restore sources and the backups that lie there, over the interface. Source: behaviour platform.md 14, statements 35 and 36; 9. */

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { RestoreSource } from '@hyperplane/contract/platform/restore-source'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { demoBucket, demoClusterLogin } from '../../../src/seeds/demo/backups.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

const sources = '/platform/v4.3/management/restore-sources'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const address = (value: string) => ({ ipv4: { value } })

const bucketLocation = (provider: object = {}) => ({
  $objectType: 'platform.v4.management.ObjectStoreLocation',
  providerConfig: {
    $objectType: 'platform.v4.management.GenericS3Config',
    bucketName: demoBucket.bucket,
    connectionConfig: { ipAddressOrHostname: address(demoBucket.address) },
    credentials: { accessKeyId: demoBucket.accessKeyId, secretAccessKey: demoBucket.secretAccessKey },
    ...provider,
  },
})
const clusterLocation = (extId: string) => ({
  $objectType: 'platform.v4.management.ClusterLocation',
  config: { $objectType: 'platform.v4.management.ClusterReference', extId },
})

const create = async (location: object, on = app) => {
  const created = await on.call('POST', sources, { body: { location } })
  assert.equal(created.status, 201, JSON.stringify(created.errors))
  return created
}
const managersOf = (source: string, query = '', on = app) =>
  on.call('GET', `${sources}/${source}/restorable-domain-managers${query}`)
const pointsOf = (source: string, query = '', on = app) =>
  on.call('GET', `${sources}/${source}/restorable-domain-managers/${seedId('manager/dr-site')}/restore-points${query}`)

test('a bucket lists its managers and their restore points, newest first', async () => {
  const { data: source, etag, location } = await create(bucketLocation())
  assert.equal(location, `${sources}/${source.extId}`)
  assert.ok(etag)
  const managers = await managersOf(source.extId)
  assert.deepEqual(
    managers.data.map((each: any) => each.config.name),
    ['dr-site'],
  )
  assert.equal(managers.data[0].network.externalAddress.ipv4.value, '10.46.1.9')
  const points = await pointsOf(source.extId)
  assert.equal(points.total, 3)
  const times = points.data.map((each: any) => each.creationTime)
  assert.deepEqual(times, [...times].sort().reverse())
  assert.ok(points.data.every((each: any) => each.domainManager === undefined))
})

test('restore points are filtered, ordered and selected; one alone shows its manager', async () => {
  const { data: source } = await create(bucketLocation())
  const newest = (await pointsOf(source.extId)).data[0]
  const later = await pointsOf(
    source.extId,
    `?$filter=${encodeURIComponent(`creationTime lt ${newest.creationTime}`)}&$orderby=creationTime`,
  )
  assert.equal(later.total, 2)
  assert.ok(later.data[0].creationTime < later.data[1].creationTime)
  const selected = await pointsOf(source.extId, '?$select=domainManager&$limit=1')
  assert.equal(selected.data[0].domainManager.config.name, 'dr-site')
  assert.equal(selected.data[0].creationTime, undefined)
  const path = `${sources}/${source.extId}/restorable-domain-managers/${seedId('manager/dr-site')}/restore-points`
  const single = await app.call('GET', `${path}/${newest.extId}`)
  assert.equal(single.data.domainManager.extId, seedId('manager/dr-site'))
  assert.equal((await app.call('GET', `${path}/${crypto.randomUUID()}`)).status, 404)
})

test('an unknown manager, or source, is not found', async () => {
  const { data: source } = await create(bucketLocation())
  assert.equal(
    (
      await app.call(
        'GET',
        `${sources}/${source.extId}/restorable-domain-managers/${crypto.randomUUID()}/restore-points`,
      )
    ).status,
    404,
  )
  assert.equal((await managersOf(crypto.randomUUID())).status, 404)
  const filter = (id: string) => managersOf(source.extId, `?$filter=${encodeURIComponent(`extId eq ${id}`)}`)
  assert.equal((await filter(`'${seedId('manager/dr-site')}'`)).total, 1)
  assert.equal((await filter(seedId('manager/dr-site'))).total, 1)
  assert.equal((await filter(crypto.randomUUID())).total, 0)
})

test('a cluster shows its newest restore point, by reference and by address', async () => {
  const byReference = await create(clusterLocation(seedId('cluster/hp-native-01')))
  const [manager] = (await managersOf(byReference.data.extId)).data
  assert.equal(manager.extId, seedId('manager'))
  const points = await app.call(
    'GET',
    `${sources}/${byReference.data.extId}/restorable-domain-managers/${manager.extId}/restore-points`,
  )
  assert.equal(points.total, 1)
  const remote = (password: string) => ({
    $objectType: 'platform.v4.management.ClusterLocation',
    config: {
      $objectType: 'platform.v4.management.RemoteClusterSpec',
      address: address(demoClusterLogin.address),
      credentials: { authentication: { username: demoClusterLogin.username, password } },
    },
  })
  const byAddress = await create(remote(demoClusterLogin.password))
  assert.equal((await managersOf(byAddress.data.extId)).total, 1)
  const wrong = await managersOf((await create(remote('wrong password'))).data.extId)
  assert.deepEqual([wrong.status, wrong.errors[0]?.code], [400, 'DM-30022'])
})

test('creating a restore source contacts nothing, and reading an unusable location fails', async () => {
  const credentials = { accessKeyId: demoBucket.accessKeyId, secretAccessKey: 'wrong' }
  const refusals: [object, string][] = [
    [bucketLocation({ credentials }), 'DM-30022'],
    [bucketLocation({ credentials: undefined }), 'DM-30022'],
    [bucketLocation({ bucketName: 'no-such-bucket' }), 'DM-30023'],
    [bucketLocation({ connectionConfig: { ipAddressOrHostname: address('127.0.0.1') } }), 'DM-30021'],
    [clusterLocation(crypto.randomUUID()), 'DM-30021'],
  ]
  for (const [location, code] of refusals) {
    const { data } = await create(location)
    const read = await managersOf(data.extId)
    assert.deepEqual([read.status, read.errors[0]?.code], [400, code])
    assert.doesNotMatch(JSON.stringify(read.errors), /wrong/)
    await app.store.transaction((store) => store.remove(RestoreSource, data.extId))
  }
})

test('an invalid location is refused at creation', async () => {
  const status = async (location: object) => (await app.call('POST', sources, { body: { location } })).status
  assert.equal(await status(bucketLocation({ bucketName: 'Upper_Case' })), 400)
  assert.equal(await status(bucketLocation({ connectionConfig: undefined })), 400)
  assert.equal(await status({}), 400)
})

test('a backup policy in the body is ignored with a warning', async () => {
  const created = await app.call('POST', sources, {
    body: { location: { ...bucketLocation(), backupPolicy: { rpoInMinutes: 60 } } },
  })
  assert.equal(created.status, 201)
  assert.equal(created.warnings.length, 1)
  assert.equal(created.data.location.backupPolicy, undefined)
})

test('credentials are stored encrypted and never returned', async () => {
  const { data } = await create(bucketLocation())
  const url = (await app.listen().catch(() => undefined))?.url
  const row = await app.store.get(RestoreSource, data.extId)
  assert.doesNotMatch(JSON.stringify(row), new RegExp(demoBucket.secretAccessKey))
  if (url === undefined) return
  const authorization = `Basic ${Buffer.from('admin:Admin.Passw0rd!').toString('base64')}`
  const response = await fetch(`${url}/api${sources}/${data.extId}`, { headers: { authorization } })
  const text = await response.text()
  assert.equal(response.status, 200)
  assert.doesNotMatch(text, /credentials|accessKeyId|sealed/)
})

test('a delete needs the ETag and leaves the files at the location', async () => {
  const { data, etag } = await create(bucketLocation())
  const path = `${sources}/${data.extId}`
  assert.equal((await app.call('DELETE', path)).status, 428)
  assert.equal((await app.call('DELETE', path, { ifMatch: '"stale"' })).status, 412)
  assert.equal((await app.call('DELETE', path, { ifMatch: etag as string })).status, 204)
  assert.equal((await app.call('GET', path)).status, 404)
  assert.equal((await pointsOf((await create(bucketLocation())).data.extId)).total, 3)
})

test('an API key is refused, whatever its owner may do', async () => {
  const iam = '/iam/v4.1.b2'
  const robot = await app.call('POST', `${iam}/authn/users`, {
    body: { userType: 'SERVICE_ACCOUNT', username: 'restore-robot' },
    requestId: crypto.randomUUID(),
  })
  const [role] = (
    await app.call('GET', `${iam}/authz/roles?$filter=${encodeURIComponent("displayName eq 'Platform Admin'")}`)
  ).data
  const policy = await app.call('POST', `${iam}/authz/authorization-policies`, {
    body: {
      displayName: 'restore-robot',
      role: role.extId,
      identities: [{ identityFilter: { user: { uuid: { anyof: [robot.data.extId] } } } }],
      entities: [{ entityFilter: { '*': { '*': { eq: '*' } } } }],
    },
    requestId: crypto.randomUUID(),
  })
  assert.equal(policy.status, 201, JSON.stringify(policy.errors))
  const key = await app.call('POST', `${iam}/authn/users/${robot.data.extId}/keys`, {
    body: { name: 'restore', keyType: 'API_KEY' },
    requestId: crypto.randomUUID(),
  })
  const { apiKey } = key.data.keyDetails
  assert.equal((await app.call('GET', '/platform/v4.3/config/categories', { apiKey })).status, 200, 'the key works')
  const { data: source, etag } = await create(bucketLocation())
  const path = `${sources}/${source.extId}`
  assert.equal((await app.call('POST', sources, { body: { location: bucketLocation() }, apiKey })).status, 403)
  assert.equal((await app.call('GET', path, { apiKey })).status, 403)
  assert.equal((await app.call('GET', `${path}/restorable-domain-managers`, { apiKey })).status, 403)
  assert.equal((await app.call('DELETE', path, { apiKey, ifMatch: etag as string })).status, 403)
})

/** The clock and the files are moved here: an app of one's own. */
async function alone(work: (own: TestApp) => Promise<void>): Promise<void> {
  const own = await startApp()
  try {
    await work(own)
  } finally {
    await own.close()
  }
}

const hour = 3600 * 1000

test('a restore source is removed 24 h after its creation or last use', () =>
  alone(async (own) => {
    const idle = await create(bucketLocation(), own)
    const used = await create(bucketLocation(), own)
    await own.clock.advance(20 * hour)
    assert.equal((await managersOf(used.data.extId, '', own)).status, 200)
    await own.clock.advance(5 * hour)
    assert.equal((await own.call('GET', `${sources}/${idle.data.extId}`)).status, 404)
    assert.equal((await managersOf(idle.data.extId, '', own)).status, 404)
    assert.equal((await own.call('GET', `${sources}/${used.data.extId}`)).status, 200)
  }))

test('a restore source beyond 20 is refused until another one expires', () =>
  alone(async (own) => {
    for (let index = 0; index < 20; index++) await create(bucketLocation(), own)
    const refused = await own.call('POST', sources, { body: { location: bucketLocation() } })
    assert.deepEqual([refused.status, refused.errors[0]?.code], [422, 'PLAT-10014'])
    await own.clock.advance(24 * hour)
    await create(bucketLocation(), own)
  }))

test('damaged, cut and newer restore points are left out with a warning, others are listed; answers are kept 30 s', () =>
  alone(async (own) => {
    const { data: source } = await create(bucketLocation(), own)
    assert.equal((await pointsOf(source.extId, '', own)).total, 3)
    const folder = (name: string) =>
      join(
        own.folder,
        'world',
        'buckets',
        demoBucket.bucket,
        'hyperplane-backups',
        seedId('manager/dr-site'),
        seedId(`restore-point/${name}`),
      )
    const manifest = join(folder('dr-site-1'), 'manifest.json')
    const newer = readFileSync(manifest, 'utf8').replace('"formatVersion": 1', '"formatVersion": 2')
    writeFileSync(manifest, newer)
    writeFileSync(join(folder('dr-site-1'), 'COMPLETE'), createHash('sha256').update(newer).digest('hex'))
    assert.equal((await pointsOf(source.extId, '', own)).total, 3, 'remembered')
    await own.clock.advance(31_000)
    const withoutNewer = await pointsOf(source.extId, '', own)
    assert.equal(withoutNewer.total, 2)
    assert.match(withoutNewer.warnings[0] as string, /newer/)

    writeFileSync(join(folder('dr-site-2'), 'manifest.json'), '{')
    await own.clock.advance(31_000)
    const withoutDamaged = await pointsOf(source.extId, '', own)
    assert.deepEqual([withoutDamaged.total, withoutDamaged.warnings.length], [1, 2])

    rmSync(join(folder('dr-site-3'), 'part-00001'))
    await own.clock.advance(31_000)
    assert.deepEqual((await managersOf(source.extId, '', own)).data, [])

    rmSync(join(folder('dr-site-3'), 'COMPLETE'))
    await own.clock.advance(31_000)
    assert.equal(
      (await managersOf(source.extId, '', own)).warnings.length,
      2,
      'without COMPLETE it never was a restore point',
    )
  }))
