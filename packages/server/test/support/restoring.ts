/** A manager with a backup at some place, and fresh instances that find it there. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Bucket, type ClusterDoor, digestOf, type S3Service } from '../../src/drivers/simulated/place-doors.ts'
import { demoBucket, demoClusterLogin } from '../../src/seeds/demo/backups.ts'
import { inBucket, nativeCluster, ownManager, pointsAt } from './backups.ts'
import { type CallResult, startApp, type TestApp, type TestSettings } from './start-app.ts'

const sources = '/platform/v4.3/management/restore-sources'

/** A restore point, where it lies, and the key that opens it. */
export interface Backup {
  /** As restore sources name it. */
  readonly location: object
  /** Data of the manager that wrote it. */
  readonly folder: string
  readonly backupKey: string
  readonly restorePointExtId: string
}

/** The newest of those that `app` wrote there: in the bucket of the demo, unless told otherwise. */
export async function backupOf(app: TestApp, location: object = inBucket({}, null)): Promise<Backup> {
  const { points } = await pointsAt(app, location)
  return {
    location,
    folder: app.folder,
    backupKey: readFileSync(join(app.folder, 'backup.key'), 'utf8').trim(),
    restorePointExtId: points[0]?.extId as string,
  }
}

/** The demo's cluster as an instance names it that does not manage it. */
export const remoteCluster: object = {
  $objectType: 'platform.v4.management.ClusterLocation',
  config: {
    $objectType: 'platform.v4.management.RemoteClusterSpec',
    address: { ipv4: { value: demoClusterLogin.address } },
    credentials: {
      authentication: { username: demoClusterLogin.username, password: demoClusterLogin.password },
    },
  },
}

/**
 * An empty instance in whose world the bucket and the cluster are, with the backups that lie there. It knows the backup key
 * unless told otherwise.
 */
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
  const { address, username, password } = demoClusterLogin
  const doors = app.world.collection<ClusterDoor>('objectStore.clusters')
  await doors.put(nativeCluster, { address, username, password: digestOf(password) })
  for (const place of ['buckets', join('clusters', nativeCluster, 'backups')])
    cpSync(join(backup.folder, 'world', place), join(app.folder, 'world', place), { recursive: true })
  return app
}

/** The manager as its restore point shows it, and the path of the restore. */
export async function foundIn(
  app: TestApp,
  { location, restorePointExtId }: Backup,
): Promise<{ readonly manager: any; readonly path: string }> {
  const source = await app.call('POST', sources, { body: { location } })
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
    // Asked at each turn, it would take the processor from the restore.
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
