/**
 * The service is killed between two objects of a scheduled backup: the older restore point stays whole and is the only one
 * that is there, the next start brings the run to its end, and the one after that works. Source: behaviour platform.md 8;
 * 14, statement 28.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { BackupTarget } from '@hyperplane/contract/platform/backup-target'
import type { BackupPlace } from '../../src/archive/format.ts'
import { readRestorePoint } from '../../src/archive/read.ts'
import { findRestorePoints } from '../../src/archive/reader.ts'
import { createFolderStore } from '../../src/drivers/folder/object-store.ts'
import { demoBucket } from '../../src/seeds/demo/backups.ts'
import { bucketFiles, bucketTarget, inBucket, made, ownManager, pass, pointsAt } from '../support/backups.ts'
import { checkInvariants } from '../support/invariants.ts'
import { beginning, startApp } from '../support/start-app.ts'
import { Victims } from './victims.ts'

const victims = new Victims()
const parent = mkdtempSync(join(tmpdir(), 'hyperplane-killed-backup-'))
/** A world whose target in a bucket has one restore point. */
const prepared = join(parent, 'prepared')
before(async () => {
  const app = await startApp({ folder: prepared })
  await made(app, inBucket())
  await app.close()
})
after(async () => {
  await victims.end()
  rmSync(parent, { recursive: true, force: true })
})

/** The run is due; the clock goes, so that the schedule sees it at once. */
const runIsDue = beginning + 62 * 60_000
const config = { clock: 1000 }

/** What lies in the simulated bucket, seen by nobody's service. */
const placeIn = (folder: string): BackupPlace => ({
  store: createFolderStore(join(folder, 'world', 'buckets', demoBucket.bucket)),
  place: { kind: 'cluster', clusterExtId: '' },
})

/** Ids of the restore points that are there, each read to its end. */
async function wholePoints(folder: string): Promise<string[]> {
  const at = placeIn(folder)
  const { manifests, warnings } = await findRestorePoints(at, ownManager)
  assert.deepEqual(warnings, [])
  const backupKey = Buffer.from(readFileSync(join(folder, 'backup.key'), 'utf8').trim(), 'base64')
  for (const manifest of manifests) {
    let rows = 0
    for await (const _ of readRestorePoint(at, manifest, backupKey)) rows++
    assert.ok(rows > 0)
  }
  return manifests.map(({ restorePointExtId }) => restorePointExtId)
}

const foldersOf = (files: readonly string[]): Set<string> =>
  new Set(files.map((file) => file.split('/').at(-2) as string))

let folder: string
let older: readonly string[]
beforeEach(async () => {
  folder = join(parent, randomUUID())
  cpSync(prepared, folder, { recursive: true })
  older = await wholePoints(folder)
  assert.equal(older.length, 1)
})

for (const name of ['part-00001', 'part-00002', 'manifest.json', 'COMPLETE']) {
  test(`killed before ${name}: the older restore point stays intact, the next start completes the backup, and the next backup works`, async () => {
    await victims.mustDie({ folder, startAt: runIsDue, config, kill: { phase: 'beforeObject', name } })
    assert.deepEqual(await wholePoints(folder), older)

    const app = await startApp({ folder, startAt: runIsDue + 60_000 })
    try {
      await app.runner.idle()
      const { points, warnings } = await pointsAt(app, inBucket())
      assert.deepEqual([points.length, points[1]?.extId, warnings], [2, older[0], []])
      assert.deepEqual(foldersOf(bucketFiles(app)), new Set(points.map(({ extId }) => extId)), 'nothing is left over')
      assert.equal((await bucketTarget(app)).lastSyncTime, points[0]?.creationTime)
      // The killed service went by a fast clock: nobody knows when it began.
      const { nextRunTime } = (await app.store.get(BackupTarget, (await bucketTarget(app)).extId))!
      await pass(app, (Date.parse(nextRunTime!) - app.clock.now()) / 60_000 + 1)
      assert.equal((await pointsAt(app, inBucket())).points.length, 3)
      await checkInvariants(app)
    } finally {
      await app.close()
    }
    assert.equal((await wholePoints(folder)).length, 3)
  })
}
