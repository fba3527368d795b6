/** Restores a manager into an empty data folder, without a service. Source: behaviour platform.md 9. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { newDataKey } from '../../src/archive/cipher.ts'
import { type Line, packParts } from '../../src/archive/pack.ts'
import { entityLine } from '../../src/archive/rows.ts'
import { writeRestorePoint } from '../../src/archive/writer.ts'
import { folderPlace, type OfflinePlace } from '../../src/commands/backup-location.ts'
import { restoreOffline } from '../../src/commands/restore.ts'
import { createFolderStore } from '../../src/drivers/folder/object-store.ts'
import type { ObjectStore } from '../../src/drivers/object-store.ts'
import { demoBucket } from '../../src/seeds/demo/backups.ts'
import { bucketTarget, inBucket, made, ownManager } from '../support/backups.ts'
import { compiledSources } from '../support/compiled.ts'
import { checkInvariants } from '../support/invariants.ts'
import { type Backup, backupOf } from '../support/restoring.ts'
import { startApp } from '../support/start-app.ts'

const parent = mkdtempSync(join(tmpdir(), 'hyperplane-offline-'))
after(() => rmSync(parent, { recursive: true, force: true }))
const original = join(parent, 'original')
const place = join(original, 'world', 'buckets', demoBucket.bucket)
const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

let backup: Backup
before(async () => {
  const app = await startApp({ folder: original })
  await app.call('POST', '/platform/v4.3/config/categories', { body: { key: 'Kept', value: 'offline' } })
  await made(app, inBucket())
  backup = await backupOf(app)
  await app.close()
})

let folders = 0
const emptyFolder = (): string => join(parent, `data-${folders++}`)
const configOf = (data: string, backupKey: string | undefined = backup.backupKey) => ({
  data,
  backupKey,
  backupKeyFile: undefined,
  masterKeyFile: undefined,
})
const restore = (data: string, changes: Partial<Parameters<typeof restoreOffline>[0]> = {}): Promise<string> =>
  restoreOffline({ config: configOf(data), from: folderPlace(place), point: backup.restorePointExtId, ...changes })

test('the restored folder starts as the manager of the restore point', async () => {
  const data = emptyFolder()
  const asked = ['restore', '--from', place, '--point', backup.restorePointExtId, '--data', data]
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', main, ...asked],
    { env: { ...process.env, ...compiledSources, HYPERPLANE_BACKUP_KEY: backup.backupKey }, cwd: parent },
  )
  assert.match(stdout, /The manager "PC_10\.44\.1\.9" .* as of 2026-/)
  assert.ok(!existsSync(join(data, 'restoring.sqlite')))

  const app = await startApp({ folder: data, config: { backupKey: backup.backupKey } })
  try {
    assert.deepEqual(app.banner, [])
    const kept = await app.call(
      'GET',
      `/platform/v4.3/config/categories?$filter=${encodeURIComponent("key eq 'Kept'")}`,
    )
    assert.equal(kept.total, 1)
    assert.ok((await app.call('GET', '/vmm/v4.2/ahv/config/vms')).total! > 0)
    // This backup was the target's first one, so the target did not exist yet.
    assert.equal(await bucketTarget(app), undefined)
    await checkInvariants(app)
  } finally {
    await app.close()
  }
})

test('refuses a folder that contains data, and does not change it', async () => {
  const data = emptyFolder()
  await restore(data)
  const before = readFileSync(join(data, 'world.sqlite'))
  await assert.rejects(restore(data), /holds data already/)
  assert.deepEqual(readFileSync(join(data, 'world.sqlite')), before)
})

test('creates nothing without the right backup key', async () => {
  const data = emptyFolder()
  await assert.rejects(restore(data, { config: configOf(data, randomBytes(32).toString('base64')) }), /backup key/)
  assert.ok(!existsSync(join(data, 'world.sqlite')))
  const config = { ...configOf(data), backupKey: undefined }
  await assert.rejects(restore(data, { config }), /The backup key is missing/)
  assert.ok(!existsSync(join(data, 'backup.key')), 'a new key would open nothing')
})

test('names a damaged part and creates nothing', async () => {
  const [data, copy] = [emptyFolder(), emptyFolder()]
  cpSync(place, copy, { recursive: true })
  const part = join(copy, 'hyperplane-backups', ownManager, backup.restorePointExtId, 'part-00001')
  const content = readFileSync(part)
  content[50] = (content[50] as number) ^ 1
  writeFileSync(part, content)
  await assert.rejects(restore(data, { from: folderPlace(copy) }), /part-00001/)
  for (const name of ['world.sqlite', 'restoring.sqlite']) assert.ok(!existsSync(join(data, name)), name)
})

test('an older version refuses the backup; for an unknown restore point the existing ones are listed', async () => {
  const config = configOf(emptyFolder())
  const asked = { config, from: folderPlace(place), point: backup.restorePointExtId }
  await assert.rejects(restoreOffline(asked, '0.0.9'), /newer than this product/)
  await assert.rejects(restore(config.data, { point: 'none' }), new RegExp(backup.restorePointExtId))
})

/** Writes a backup that contains these rows. */
async function written(
  ...rows: readonly { kind: string; document: object }[]
): Promise<{ from: OfflinePlace; point: string }> {
  const [folder, point, dataKey] = [emptyFolder(), randomUUID(), newDataKey()]
  const store: ObjectStore = {
    ...createFolderStore(folder),
    async put(_place, key, content) {
      mkdirSync(dirname(join(folder, key)), { recursive: true })
      writeFileSync(join(folder, key), content)
    },
  }
  const manager = { extId: randomUUID(), isOwn: true, config: { name: 'm', size: 'SMALL', buildInfo: {} }, network: {} }
  const lines = [{ kind: 'DomainManager', document: manager }, ...rows].map(({ kind, document }): Line => {
    const pieces = entityLine(kind, 1, false, JSON.stringify({ extId: randomUUID(), ...document }))
    return { section: 'manager', kind, pieces }
  })
  await writeRestorePoint(
    { store, place: { kind: 'cluster', clusterExtId: '' } },
    {
      restorePointExtId: point,
      creationTime: '2026-03-02T09:00:00.000000Z',
      productVersion: '0.0.1',
      domainManager: manager as never,
      backupKey: Buffer.from(backup.backupKey, 'base64'),
      dataKey,
      parts: packParts(lines, dataKey, point),
    },
  )
  return { from: folderPlace(folder), point }
}

test('refuses a backup without an active Super Admin', async () => {
  const data = emptyFolder()
  await assert.rejects(restore(data, await written()), /it has no active Super Admin/)
  assert.ok(!existsSync(join(data, 'restoring.sqlite')))
})

test('names rows that cannot be restored: of an unknown kind, or with a duplicate unique value', async () => {
  const strange = await written({ kind: 'Teapot', document: {} })
  await assert.rejects(restore(emptyFolder(), strange), /part-00001 holds a row of Teapot/)
  const category = { kind: 'Category', document: { tenantId: randomUUID(), key: 'a', value: 'b' } }
  const twice = await written(category, category)
  await assert.rejects(restore(emptyFolder(), twice), /a row that cannot be taken over \(Category /)
})
