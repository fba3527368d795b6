/** The operator's command that test-restores a backup. Source: behaviour platform.md 8 (verification). */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { AddressTally } from '@hyperplane/contract/networking/address-lease'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { seedId } from '../../src/core/ids/named-id.ts'
import { demoBucket } from '../../src/seeds/demo/backups.ts'
import { inBucket, made, ownManager } from '../support/backups.ts'
import { compiledSources } from '../support/compiled.ts'
import { type Backup, backupOf } from '../support/restoring.ts'
import { startApp, type TestApp } from '../support/start-app.ts'

const parent = mkdtempSync(join(tmpdir(), 'hyperplane-checking-'))
after(() => rmSync(parent, { recursive: true, force: true }))
const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
/** The folder in which the command creates its temporary store. */
const scratch = join(parent, 'scratch')
mkdirSync(scratch)

/** Changes rows of a manager directly in its store, and backs the manager up to a folder. */
async function backedUp(name: string, change: (app: TestApp) => Promise<unknown> = async () => undefined) {
  const folder = join(parent, name)
  const app = await startApp({ folder, unchecked: 'some backups are of rows that disagree' })
  await change(app)
  await made(app, inBucket())
  const backup = await backupOf(app)
  await app.close()
  return { backup, from: join(folder, 'world', 'buckets', demoBucket.bucket), data: folder }
}

let good: { backup: Backup; from: string; data: string }
before(async () => {
  good = await backedUp('good')
})

/** Runs the command in a process of its own; no temporary file may remain. */
function check(...argv: string[]): { code: number | null; out: string; error: string } {
  return checkWith({ HYPERPLANE_BACKUP_KEY: good.backup.backupKey }, ...argv)
}

function checkWith(env: object, ...argv: string[]): { code: number | null; out: string; error: string } {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', main, 'check-backup', ...argv],
    { env: { ...process.env, ...compiledSources, TMPDIR: scratch, ...env }, cwd: parent, encoding: 'utf8' },
  )
  assert.deepEqual(readdirSync(scratch), [])
  return { code: status, out: stdout, error: stderr }
}

test('the newest backup is test-restored, and the command lists its checks', () => {
  const { code, out, error } = check('--from', good.from)
  assert.deepEqual([code, error], [0, ''])
  assert.match(out, new RegExp(`^Restore point ${good.backup.restorePointExtId} of the manager "PC_10.44.1.9"`))
  for (const looked of ['Every reference leads', 'Every secret opens', 'Every address', 'Hosts carry exactly'])
    assert.ok(out.includes(`looked at: ${looked}`), looked)
  assert.match(out, /It can be restored\.\n$/)
})

test('reads the key from the data folder, even while its service runs, and does not change the folder', async () => {
  const app = await startApp({ folder: good.data })
  try {
    const { code, out } = checkWith({}, '--from', good.from, '--data', good.data)
    assert.equal(code, 0, out)
  } finally {
    await app.close()
  }
})

test('names a damaged part and exits with 1', () => {
  const copy = join(parent, 'damaged')
  cpSync(good.from, copy, { recursive: true })
  const part = join(copy, 'hyperplane-backups', ownManager, good.backup.restorePointExtId, 'part-00001')
  const content = readFileSync(part)
  content[50] = (content[50] as number) ^ 1
  writeFileSync(part, content)
  const { code, out } = check('--from', copy, '--point', good.backup.restorePointExtId)
  assert.equal(code, 1)
  assert.match(
    out,
    /broken: its part part-00001 is damaged: its SHA-256 is another\.\nIt cannot be restored as it is\.\n$/,
  )
})

test('reports a restore point without a manifest, although an older one is intact', () => {
  const copy = join(parent, 'torn')
  cpSync(good.from, copy, { recursive: true })
  const folder = join(copy, 'hyperplane-backups', ownManager)
  cpSync(join(folder, good.backup.restorePointExtId), join(folder, randomUUID()), { recursive: true })
  const { code, out } = check('--from', copy)
  assert.equal(code, 1)
  assert.match(out, /broken: The restore point .* was left out: its manifest\.json lacks/)
  assert.match(out, /It can be restored\.\n$/)
})

test('reports all broken invariants as sentences', async () => {
  const { backup, from } = await backedUp('disagreeing', (app) =>
    app.store.transaction(async (store) => {
      const vm = (await store.find(Vm)).find(({ host }) => host !== undefined)!
      await store.update(Vm, vm.extId, { memorySizeBytes: 1024 ** 3 })
      await store.update(AddressTally, seedId('subnet/vlan-100-app'), { reserved: 4711 })
    }),
  )
  const { code, out } = checkWith({ HYPERPLANE_BACKUP_KEY: backup.backupKey }, '--from', from)
  assert.equal(code, 1)
  assert.match(out, /broken: the subnet "vlan-100-app" counts \d+ assigned and 4711 reserved addresses, and leases /)
  assert.match(out, /broken: the host \S+ holds \d+ bytes and \d+ vCPUs instead of 1073741824 and \d+ for the VM "/)
})

test('reports a dangling reference', async () => {
  const { backup, from } = await backedUp('dangling', (app) =>
    app.store.transaction(async (store) => {
      const [vm] = await store.find(Vm)
      await store.update(Vm, vm!.extId, { categories: [{ extId: randomUUID() }] })
    }),
  )
  const { code, out } = checkWith({ HYPERPLANE_BACKUP_KEY: backup.backupKey }, '--from', from)
  assert.equal(code, 1)
  assert.match(out, /broken: categories\/extId of Vm \S+ names Category \S+, which is not there\./)
})

test('exits with 2 when the check is impossible: wrong key, missing location, unknown restore point, no --from', () => {
  const other = checkWith({ HYPERPLANE_BACKUP_KEY: randomBytes(32).toString('base64') }, '--from', good.from)
  assert.deepEqual([other.code, other.out], [2, ''])
  assert.match(other.error, /no complete restore point of this backup key .* of other backup keys/)
  const place = check('--from', join(parent, 'nowhere'))
  assert.deepEqual([place.code, place.out], [2, ''])
  assert.match(place.error, /nowhere cannot be read/)
  const point = check('--from', good.from, '--point', randomUUID())
  assert.equal(point.code, 2)
  assert.match(point.error, new RegExp(good.backup.restorePointExtId))
  assert.deepEqual([check().code, check('--from').code, check('--from', good.from, '--wrong').code], [2, 2, 2])
})
