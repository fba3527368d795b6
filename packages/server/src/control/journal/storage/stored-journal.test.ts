import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { TimeLimit } from '../../../store/sqlite/time-limit.ts'
import { CallPart } from '../packed-calls.ts'
import type { Bounds, PackedPart } from '../protocol.ts'
import { StoredJournal } from './stored-journal.ts'

const bounds: Bounds = { maximumCalls: 5, maximumSizeBytes: 64 * 1024 * 1024 }

function aJournal(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-stored-'))
  const open = () => new StoredJournal(folder, bounds, new TimeLimit())
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return { folder, open }
}

function partOf(count: number, bytes = 10): PackedPart {
  const part = new CallPart(new ArrayBuffer(count * (3 * bytes + 100)))
  for (let index = 0; index < count; index++)
    part.add({ began: 0, ended: 0, shared: '', own: `,"path":"${'x'.repeat(bytes)}"` })
  const { length, sizeBytes } = part
  return { buffer: part.bytes.buffer, length, count, sizeBytes }
}

test('calls that cannot be counted are removed from the log', (t) => {
  const { open } = aJournal(t)
  const journal = open()
  journal.append([partOf(2)], 0)
  const before = journal.state()
  const { exec } = DatabaseSync.prototype
  const failing = t.mock.method(DatabaseSync.prototype, 'exec', function (this: DatabaseSync, text: string) {
    if (text === 'COMMIT') throw new Error('the disk is full')
    exec.call(this, text)
  })
  assert.throws(() => journal.append([partOf(1)], 4), /full/)
  failing.mock.restore()
  assert.deepEqual(journal.state(), before)
  journal.append([partOf(1)], 0)
  journal.close()
  const again = open()
  again.indexAll()
  assert.equal(again.page({ limit: 10 }).total, 3)
  assert.equal(again.state().last, 3)
  again.close()
})

test('calls that a crash left uncounted are counted at the next start, and dropped if they exceed the bounds', (t) => {
  const { folder, open } = aJournal(t)
  const whole = open()
  whole.append([partOf(2)], 0)
  whole.close()
  const found = join(folder, 'found.sqlite')
  copyFileSync(found, `${found}.kept`)
  const later = open()
  for (let index = 0; index < 3; index++) later.append([partOf(2, 2 * 1024 * 1024)], 0)
  const { first, last, dropped, sizeBytes } = later.state()
  later.close()
  copyFileSync(`${found}.kept`, found)
  const again = open()
  assert.deepEqual(again.state(), { first, last, dropped, sizeBytes, missed: 0 })
  again.indexAll()
  assert.equal(again.page({ limit: 10 }).total, 5)
  again.close()
})

test('clearing a journal frees disk space', (t) => {
  const { folder, open } = aJournal(t)
  const journal = open()
  for (let index = 0; index < 3; index++) journal.append([partOf(2, 1024 * 1024)], 0)
  journal.indexAll()
  journal.append([partOf(1)], 0)
  journal.clear()
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.endsWith('.calls')),
    [],
  )
  journal.close()
  assert.ok(statSync(join(folder, 'found.sqlite')).size < 100_000)
})
