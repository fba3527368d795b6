/** Helpers for backup targets, restore sources and the files of simulated buckets. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { seedId } from '../../src/core/ids/named-id.ts'
import { type Bucket, type ClusterDoor, digestOf, type PlaceFault } from '../../src/drivers/simulated/place-doors.ts'
import { demoBucket } from '../../src/seeds/demo/backups.ts'
import type { CallResult, TestApp } from './start-app.ts'

export const ownManager = seedId('manager')
export const nativeCluster = seedId('cluster/hp-native-01')
export const targets = `/platform/v4.3/management/domain-managers/${ownManager}/backup-targets`
const sources = '/platform/v4.3/management/restore-sources'
const types = 'platform.v4.management.'

export const credentials = { accessKeyId: demoBucket.accessKeyId, secretAccessKey: demoBucket.secretAccessKey }

/** The demo's bucket; fields of `providerConfig` may be others. `null`: no policy. */
export const inBucket = (more: object = {}, backupPolicy: object | null = { rpoInMinutes: 60 }): object => ({
  $objectType: `${types}ObjectStoreLocation`,
  providerConfig: {
    $objectType: `${types}GenericS3Config`,
    bucketName: demoBucket.bucket,
    connectionConfig: { ipAddressOrHostname: { fqdn: { value: demoBucket.endpoint } } },
    credentials,
    ...more,
  },
  ...(backupPolicy === null ? {} : { backupPolicy }),
})

export const onCluster = (extId: string, more: object = {}): object => ({
  $objectType: `${types}ClusterLocation`,
  config: { $objectType: `${types}ClusterReference`, extId },
  ...more,
})

export const createTarget = (app: TestApp, location: object): Promise<CallResult> =>
  app.call('POST', targets, { body: { location }, requestId: randomUUID() })

/** Creates it. @returns the task */
export async function made(app: TestApp, location: object): Promise<any> {
  const task = await app.task(await createTarget(app, location))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return task
}

export const listTargets = async (app: TestApp): Promise<readonly any[]> => (await app.call('GET', targets)).data

/** The only target in the bucket. */
export const bucketTarget = async (app: TestApp): Promise<any> =>
  (await listTargets(app)).find(({ location }) => 'providerConfig' in location)

/** Restore points of this manager that an instance finds there, newest first, and its other findings. */
export async function pointsAt(
  app: TestApp,
  location: any,
): Promise<{ points: readonly { extId: string; creationTime: string }[]; warnings: readonly string[] }> {
  const { backupPolicy: _, ...place } = location
  const source = await app.call('POST', sources, { body: { location: place } })
  assert.equal(source.status, 201, JSON.stringify(source.errors))
  const path = `${sources}/${source.data.extId}/restorable-domain-managers/${ownManager}/restore-points`
  const found = await app.call('GET', path)
  const { etag } = await app.call('GET', `${sources}/${source.data.extId}`)
  await app.call('DELETE', `${sources}/${source.data.extId}`, { ifMatch: etag as string })
  if (found.status === 404) return { points: [], warnings: found.warnings }
  assert.equal(found.status, 200, JSON.stringify(found.errors))
  const points = found.data.map(({ extId, creationTime }: any) => ({ extId, creationTime }))
  return { points, warnings: found.warnings }
}

/** Files of the simulated bucket, or of the cluster's folder, below this manager. */
export function filesAt(app: TestApp, ...place: string[]): string[] {
  const folder = join(app.folder, 'world', ...place)
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
}
export const bucketFiles = (app: TestApp): string[] =>
  filesAt(app, 'buckets', demoBucket.bucket, 'hyperplane-backups', ownManager)

/** Sets the fault of the bucket, or removes it. */
export async function setBucketFault(app: TestApp, fault?: PlaceFault, faultAfterUploads = 0): Promise<void> {
  const buckets = app.world.collection<Bucket>('objectStore.buckets')
  const { fault: _, faultAfterUploads: __, ...well } = buckets.get(demoBucket.bucket) as Bucket
  await buckets.put(demoBucket.bucket, fault === undefined ? well : { ...well, fault, faultAfterUploads })
}

/** The bucket opens for these keys alone: access key id -> secret. */
export async function setBucketKeys(app: TestApp, secrets: Readonly<Record<string, string>>): Promise<void> {
  const buckets = app.world.collection<Bucket>('objectStore.buckets')
  const keys = Object.fromEntries(Object.entries(secrets).map(([id, secret]) => [id, digestOf(secret)]))
  await buckets.put(demoBucket.bucket, { ...(buckets.get(demoBucket.bucket) as Bucket), keys })
}

export async function setClusterFault(app: TestApp, fault?: PlaceFault): Promise<void> {
  const doors = app.world.collection<ClusterDoor>('objectStore.clusters')
  const { fault: _, ...well } = doors.get(nativeCluster) as ClusterDoor
  await doors.put(nativeCluster, fault === undefined ? well : { ...well, fault })
}

/** Advances the world's time and waits for the work that it starts. */
export async function pass(app: TestApp, minutes: number): Promise<void> {
  await app.clock.advance(minutes * 60_000)
  await app.runner.idle()
}
