/** A manager with a backup in a bucket, and fresh instances that find it there. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { demoBucket } from '../../src/domains/platform/seed-backups.ts'
import { type Bucket, digestOf, type S3Service } from '../../src/drivers/simulated/place-doors.ts'
import { inBucket, ownManager, pointsAt } from './backups.ts'
import { type CallResult, startApp, type TestApp, type TestSettings } from './start-app.ts'

const sources = '/platform/v4.3/management/restore-sources'

/** What lies in the bucket of the demo, and the key that opens it. */
export interface Backup {
  readonly folder: string
  readonly backupKey: string
  readonly restorePointExtId: string
}

/** The newest of those that `app` wrote there. */
export async function backupOf(app: TestApp): Promise<Backup> {
  const { points } = await pointsAt(app, inBucket())
  return {
    folder: app.folder,
    backupKey: readFileSync(join(app.folder, 'backup.key'), 'utf8').trim(),
    restorePointExtId: points[0]?.extId as string,
  }
}

/** An empty instance in whose world the bucket is, with all that lies in it. It knows the backup key unless told otherwise. */
export async function freshBeside(backup: Backup, settings: TestSettings = {}): Promise<TestApp> {
  const app = await startApp({
    ...settings,
    config: { seed: 'empty', backupKey: backup.backupKey, ...settings.config },
  })
  const { bucket, endpoint, accessKeyId, secretAccessKey } = demoBucket
  const services = app.world.collection<S3Service>('objectStore.services')
  await services.put('demo', { addresses: [endpoint], certificate: 'public' })
  const buckets = app.world.collection<Bucket>('objectStore.buckets')
  await buckets.put(bucket, { service: 'demo', keys: { [accessKeyId]: digestOf(secretAccessKey) } })
  cpSync(join(backup.folder, 'world', 'buckets'), join(app.folder, 'world', 'buckets'), { recursive: true })
  return app
}

/** The manager as its restore point shows it, and the path of the restore. */
export async function foundIn(
  app: TestApp,
  { restorePointExtId }: Backup,
): Promise<{ readonly manager: any; readonly path: string }> {
  const source = await app.call('POST', sources, { body: { location: inBucket({}, null) } })
  assert.equal(source.status, 201, JSON.stringify(source.errors))
  const point = `${sources}/${source.data.extId}/restorable-domain-managers/${ownManager}/restore-points/${restorePointExtId}`
  const found = await app.call('GET', point)
  assert.equal(found.status, 200, JSON.stringify(found.errors))
  return { manager: found.data.domainManager, path: `${point}/$actions/restore` }
}

/** What a client sends who changes nothing but what `more` says. */
export function restoreBody({ config, network }: any, more: { config?: object; network?: object } = {}): object {
  const { name, size, buildInfo } = config
  const { externalAddress, nameServers, ntpServers, externalNetworks } = network
  return {
    domainManager: {
      config: { name, size, buildInfo, ...more.config },
      network: { externalAddress, nameServers, ntpServers, externalNetworks, ...more.network },
    },
  }
}

export async function startRestore(
  app: TestApp,
  backup: Backup,
  more?: Parameters<typeof restoreBody>[1],
): Promise<CallResult> {
  const { manager, path } = await foundIn(app, backup)
  return app.call('POST', path, { body: restoreBody(manager, more), requestId: randomUUID() })
}

/** The restore as it has ended, in whichever store. It is asked for by reads: nobody outlives the exchange to tell of it. */
export async function endOf(app: TestApp, started: CallResult): Promise<any> {
  assert.equal(started.status, 202, JSON.stringify(started.errors))
  for (;;) {
    const read = await app.call('GET', `/platform/v4.3/config/tasks/${started.data.extId}`)
    assert.equal(read.status, 200, JSON.stringify(read.errors))
    if (!['QUEUED', 'RUNNING', 'CANCELING'].includes(read.data.status)) return read.data
    await new Promise((resolve) => setImmediate(resolve))
  }
}
