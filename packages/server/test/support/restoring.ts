/** A manager with a backup, and fresh instances that restore it. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Bucket, type ClusterDoor, digestOf, type S3Service } from '../../src/drivers/simulated/place-doors.ts'
import { demoBucket, demoClusterLogin } from '../../src/seeds/demo/backups.ts'
import { inBucket, nativeCluster, ownManager, pointsAt } from './backups.ts'
import { type CallResult, startApp, type TestApp, type TestSettings } from './start-app.ts'

const sources = '/platform/v4.3/management/restore-sources'

/** A restore point, its location and its key. */
export interface Backup {
  /** As restore sources name it. */
  readonly location: object
  /** Data of the manager that wrote it. */
  readonly folder: string
  readonly backupKey: string
  readonly restorePointExtId: string
}

/** The newest restore point of `app` there; default: the bucket of the demo. */
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
 * An empty instance whose world has the bucket and the cluster with their backups. It has the backup key by default.
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

/** The body of a restore that changes only the fields in `more`. */
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

/** Polls the restore until it ends, in the old or the new store: no listener survives the exchange of stores. */
export async function endOf(app: TestApp, started: CallResult): Promise<any> {
  assert.equal(started.status, 202, JSON.stringify(started.errors))
  for (;;) {
    const read = await app.call('GET', `/platform/v4.3/config/tasks/${started.data.extId}`)
    assert.equal(read.status, 200, JSON.stringify(read.errors))
    if (!['QUEUED', 'RUNNING', 'CANCELING'].includes(read.data.status)) return read.data
    // Polling in every turn of the event loop would slow down the restore.
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
