/** Backups while time is moved by hand. Source: behaviour platform.md 7 (schedule); 14, statement 26. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Category } from '@hyperplane/contract/platform/category'
import type { BackupPlace } from '../../../src/archive/format.ts'
import { placeOf } from '../../../src/archive/places.ts'
import { readRestorePoint } from '../../../src/archive/read.ts'
import { findRestorePoints } from '../../../src/archive/reader.ts'
import { parseTime } from '../../../src/core/time/clock.ts'
import {
  bucketTarget,
  credentials,
  inBucket,
  listTargets,
  made,
  nativeCluster,
  onCluster,
  ownManager,
  pointsAt,
  targets,
} from '../../support/backups.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

async function alone(work: (app: TestApp) => Promise<void>): Promise<void> {
  const app = await startApp()
  try {
    await work(app)
  } finally {
    await app.close()
  }
}

/** Of the runs on targets, with the world times at which they began and ended, the oldest first. */
async function runsOf(app: TestApp): Promise<readonly any[]> {
  const filter = encodeURIComponent("operation eq 'kBackupDomainManager'")
  const path = `/platform/v4.3/config/tasks?$filter=${filter}&$orderby=createdTime&$limit=100`
  return (await app.call('GET', path)).data
}

async function withoutClusterTarget(app: TestApp): Promise<void> {
  const { etag } = await app.call('GET', `${targets}/${nativeCluster}`)
  const options = { ifMatch: etag as string, requestId: randomUUID() }
  assert.equal((await app.task(await app.call('DELETE', `${targets}/${nativeCluster}`, options))).status, 'SUCCEEDED')
}

/** Keys of the categories in each restore point of the bucket, the oldest first. */
async function categoriesIn(app: TestApp): Promise<readonly { time: string; keys: ReadonlySet<unknown> }[]> {
  const row = await bucketTarget(app)
  const location = { ...row.location, providerConfig: { ...row.location.providerConfig, credentials } }
  const place = placeOf('BackupTarget', { extId: row.extId, location }, { open: () => undefined })
  const at: BackupPlace = { store: app.drivers.objectStore, place }
  const backupKey = Buffer.from(readFileSync(join(app.folder, 'backup.key'), 'utf8').trim(), 'base64')
  const found = []
  for (const manifest of (await findRestorePoints(at, ownManager)).manifests.toReversed()) {
    const keys = new Set<unknown>()
    for await (const { row } of readRestorePoint(at, manifest, backupKey))
      if ('document' in row && row.kind === 'Category') keys.add(row.document['key'])
    found.push({ time: manifest.creationTime, keys })
  }
  return found
}

test('a jump over many intervals of a bucket makes every backup at its time, each with the state of that time', () =>
  alone(async (app) => {
    await withoutClusterTarget(app)
    await made(app, inBucket())
    const began = app.clock.now()
    // Something happens on the way: before it the backups do not know it, after it they do.
    app.clock.setTimer(2.5 * hour, () => {
      const category = { extId: randomUUID(), key: 'OnTheWay', value: 'x', type: 'USER' } as const
      void app.store.transaction((store) => store.insert(Category, category))
    })
    await app.clock.advance(6 * hour + 10 * minute)
    assert.equal(app.runner.size(), 0, 'nothing is left to be done')
    const found = await categoriesIn(app)
    assert.deepEqual(
      found.map(({ time }) => ((parseTime(time) ?? 0) - began) / hour),
      [0, 1, 2, 3, 4, 5, 6],
    )
    assert.deepEqual(
      found.map(({ keys }) => keys.has('OnTheWay')),
      [false, false, false, true, true, true, true],
    )
    assert.equal((await bucketTarget(app)).lastSyncTime, found.at(-1)?.time)
    const runs = await runsOf(app)
    assert.deepEqual(
      runs.map(({ status, createdTime, completedTime }) => [status, createdTime === completedTime]),
      Array.from({ length: 6 }, () => ['SUCCEEDED', true]),
    )
  }))

test('when time jumps over many runs on a cluster only the last one takes place, even after 90 days', () =>
  alone(async (app) => {
    const [{ lastSyncTime }] = (await listTargets(app)) as [any]
    await app.clock.advance(90 * day)
    const [target] = await listTargets(app)
    const { points } = await pointsAt(app, onCluster(nativeCluster))
    assert.deepEqual([points.length, points[0]?.creationTime], [1, target.lastSyncTime])
    const sinceLast = app.clock.now() - (parseTime(target.lastSyncTime) ?? 0)
    assert.ok(sinceLast < 31 * minute, `${sinceLast / minute} minutes`)
    assert.ok(target.lastSyncTime > lastSyncTime)
    assert.equal((await runsOf(app)).length, 1)
  }))

test('a restore point on a cluster holds the state of its backup, not later changes', () =>
  alone(async (app) => {
    const began = app.clock.now()
    let seen: unknown
    app.clock.setTimer(5 * hour + 40 * minute, () => {
      void app.clock.track(async () => {
        seen = (await listTargets(app))[0].lastSyncTime
      })
    })
    await app.clock.advance(9 * hour)
    const sinceBeginning = (parseTime(seen as string) ?? 0) - began
    assert.ok(
      sinceBeginning > 5 * hour && sinceBeginning < 5 * hour + 40 * minute,
      `${sinceBeginning / minute} minutes`,
    )
    const [target] = await listTargets(app)
    assert.ok((parseTime(target.lastSyncTime) ?? 0) - began > 8.5 * hour)
    assert.ok((await runsOf(app)).length < 17, 'and not one for each half an hour')
  }))
