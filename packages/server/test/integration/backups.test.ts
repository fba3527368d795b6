/**
 * Backups to a real S3 service, found, read and restored by an instance that never saw this one.
 * Source: behaviour platform.md 7, 8, 9; 14, statements 25, 28, 29, 34, 35.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { BackupFault } from '../../src/archive/format.ts'
import { placeOf } from '../../src/archive/places.ts'
import { readRestorePoint } from '../../src/archive/read.ts'
import { findRestorePoints } from '../../src/archive/reader.ts'
import { bucketTarget, inBucket, made, ownManager, pass, pointsAt } from '../support/backups.ts'
import { checkInvariants } from '../support/invariants.ts'
import { assertKept, assertUnknown, type Keepsakes, leaveKeepsakes } from '../support/keepsakes.ts'
import { backupOf, endOf, restoreBody } from '../support/restoring.ts'
import { startApp, type TestApp } from '../support/start-app.ts'
import { accessKeyId, bucket, type S3Server, secretAccessKey, startS3Server } from './s3-server.ts'

// Without what stands between the service and its drivers: a test stops the S3 server amid a call of theirs.
const config = { allowAddress: ['127.0.0.0/8'], control: 'off' } as const
const sources = '/platform/v4.3/management/restore-sources'
const credentials = { accessKeyId, secretAccessKey }
let server: S3Server
let app: TestApp
let keepsakes: Keepsakes
before(async () => {
  server = await startS3Server()
  app = await startApp({ config })
  keepsakes = await leaveKeepsakes(app)
})
after(async () => {
  await app?.close()
  await server.remove()
})

/** `null`: as restore sources name it. */
const location = (backupPolicy?: null): object =>
  inBucket(
    {
      bucketName: bucket,
      credentials,
      connectionConfig: {
        ipAddressOrHostname: { ipv4: { value: '127.0.0.1' } },
        port: server.port,
        certificate: server.certificate,
      },
    },
    backupPolicy,
  )

const extIds = (rows: readonly { readonly extId: string }[]): string[] => rows.map(({ extId }) => extId)

const objects = (): string[] =>
  readdirSync(join(server.folder, bucket), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

test('a target is created, and a fresh instance lists its restore point and reads every row with the backup key', async () => {
  await made(app, location())
  const fresh = await startApp({ config: { ...config, seed: 'empty' } })
  try {
    const { points, warnings } = await pointsAt(fresh, location())
    assert.deepEqual([points.length, warnings], [1, []])
    const at = {
      store: fresh.drivers.objectStore,
      place: placeOf('RestoreSource', { extId: 'x', location: location() as never }, { open: () => undefined }),
    }
    const [manifest] = (await findRestorePoints(at)).manifests
    assert.equal(manifest?.restorePointExtId, points[0]?.extId)
    const backupKey = Buffer.from(readFileSync(join(app.folder, 'backup.key'), 'utf8').trim(), 'base64')
    const names: unknown[] = []
    for await (const { row } of readRestorePoint(at, manifest!, backupKey))
      if ('document' in row && row.kind === 'Vm') names.push(row.document['name'])
    assert.equal(names.length, (await app.call('GET', '/vmm/v4.2/ahv/config/vms')).total)
    assert.ok(names.includes('web-01'))

    const another = Buffer.from(readFileSync(join(fresh.folder, 'backup.key'), 'utf8').trim(), 'base64')
    await assert.rejects(
      async () => {
        for await (const _ of readRestorePoint(at, manifest!, another)) assert.fail('a row without the key')
      },
      (error: unknown) => error instanceof BackupFault && error.fault === 'keyMismatch',
    )
  } finally {
    await fresh.close()
  }
})

test('a fresh instance becomes this manager: source, restorable managers, restore points, restore', async () => {
  const { backupKey, restorePointExtId } = await backupOf(app, location())
  const fresh = await startApp({ config: { ...config, seed: 'empty', backupKey }, startAt: app.clock.now() })
  try {
    await assertUnknown(fresh, keepsakes)
    const source = await fresh.call('POST', sources, { body: { location: location(null) } })
    assert.equal(source.status, 201, JSON.stringify(source.errors))
    const managersPath = `${sources}/${source.data.extId}/restorable-domain-managers`
    const managers = (await fresh.call('GET', managersPath)).data
    assert.deepEqual(extIds(managers), [ownManager])
    const pointsPath = `${managersPath}/${managers[0].extId}/restore-points`
    const points = (await fresh.call('GET', pointsPath)).data
    assert.deepEqual(extIds(points), [restorePointExtId])
    const pointPath = `${pointsPath}/${points[0].extId}`
    const { domainManager } = (await fresh.call('GET', pointPath)).data
    const asked = { body: restoreBody(domainManager), requestId: randomUUID() }
    const task = await endOf(fresh, await fresh.call('POST', `${pointPath}/$actions/restore`, asked))
    assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
    await assertKept(fresh, keepsakes)
    await checkInvariants(fresh)
  } finally {
    await fresh.close()
  }
})

test('the objects contain no name and no password', () => {
  const all = objects()
    .map((file) => readFileSync(file).toString('latin1'))
    .join('\n')
  for (const text of ['web-01', 'viewer', 'Admin.Passw0rd!', secretAccessKey]) assert.ok(!all.includes(text), text)
})

test('a service that ends while a backup is written leaves the older restore point; the next run is complete', async () => {
  const { points } = await pointsAt(app, location())
  const { put } = app.drivers.objectStore
  let puts = 0
  ;(app.drivers.objectStore as { put: typeof put }).put = async (place, key, content) => {
    if (++puts === 2) await server.stop()
    return put(place, key, content)
  }
  await pass(app, 61)
  ;(app.drivers.objectStore as { put: typeof put }).put = put
  await server.start()
  assert.ok(puts >= 2)
  assert.deepEqual((await pointsAt(app, location())).points, points)
  await pass(app, 61)
  const after = await pointsAt(app, location())
  assert.deepEqual([after.points.length, after.warnings], [2, []])
  assert.equal((await bucketTarget(app)).lastSyncTime, after.points[0]?.creationTime)
})

test('the error names the part that was modified', async () => {
  const [first] = (await pointsAt(app, location())).points
  const part = objects().find((file) => file.includes(first!.extId) && file.endsWith('part-00002')) as string
  const bytes = readFileSync(part)
  bytes[50] = (bytes[50] as number) ^ 1
  writeFileSync(part, bytes)
  const at = {
    store: app.drivers.objectStore,
    place: placeOf('RestoreSource', { extId: 'x', location: location() as never }, { open: () => undefined }),
  }
  const [manifest] = (await findRestorePoints(at)).manifests
  const backupKey = Buffer.from(readFileSync(join(app.folder, 'backup.key'), 'utf8').trim(), 'base64')
  await assert.rejects(async () => {
    for await (const _ of readRestorePoint(at, manifest!, backupKey));
  }, /part-00002/)
})
