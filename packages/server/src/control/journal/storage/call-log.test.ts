import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { CallPart, callsIn } from '../packed-calls.ts'
import type { PackedPart } from '../protocol.ts'
import { CallLog } from './call-log.ts'

function aFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-log-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function partOf(...names: readonly string[]): PackedPart {
  const part = new CallPart(new ArrayBuffer(5 * 1024 * 1024))
  for (const name of names) part.add({ began: 0, ended: 0, shared: '', own: `,"name":"${name}"` })
  const { bytes, length, count, sizeBytes } = part
  return { buffer: bytes.buffer, length, count, sizeBytes }
}

function namesAfter(log: CallLog, number: number): string[] {
  const names: string[] = []
  for (const parts of log.after(number))
    for (const { content } of parts) for (const call of callsIn(content)) names.push(JSON.parse(call.document(1)).name)
  return names
}

test('an undone append leaves no trace', (t) => {
  const folder = aFolder(t)
  const log = new CallLog(folder)
  log.append([partOf('one')], 1)
  const takeBack = log.append([partOf('two-that-is-long')], 2)
  const taken = log.sizeOf(2)
  takeBack()
  assert.equal(log.last, 1)
  log.append([partOf('two')], 2)
  assert.deepEqual(namesAfter(log, 0), ['one', 'two'])
  assert.ok(log.sizeOf(2) < taken)
  log.close()
  assert.deepEqual(namesAfter(new CallLog(folder), 0), ['one', 'two'])
})

test('a failed write leaves the log unchanged', (t) => {
  const folder = aFolder(t)
  const log = new CallLog(folder)
  log.append([partOf('x'.repeat(4 * 1024 * 1024))], 1)
  const next = join(folder, '0000000000000002.calls')
  mkdirSync(next)
  assert.throws(() => log.append([partOf('two')], 2), { code: 'EISDIR' })
  assert.deepEqual([log.last, namesAfter(log, 1)], [1, []])
  rmSync(next, { recursive: true })
  log.append([partOf('two', 'three')], 2)
  assert.deepEqual(namesAfter(log, 1), ['two', 'three'])
  log.close()
})

test('the deletion of a file that failed is repeated', (t) => {
  const folder = aFolder(t)
  const log = new CallLog(folder)
  log.append([partOf('one')], 1)
  const first = join(folder, '0000000000000001.calls')
  rmSync(first)
  mkdirSync(first)
  log.removeFilesUpTo(1)
  assert.equal(log.last, 1)
  rmSync(first, { recursive: true })
  log.removeFilesUpTo(1)
  assert.equal(log.last, undefined)
})

test('a file is deleted with the last of its calls', (t) => {
  const folder = aFolder(t)
  const log = new CallLog(folder)
  for (const first of [1, 3, 5]) log.append([partOf('x'.repeat(4 * 1024 * 1024), 'y')], first)
  log.removeFilesUpTo(3)
  assert.deepEqual(readdirSync(folder), ['0000000000000003.calls', '0000000000000005.calls'])
  log.removeFilesUpTo(6)
  assert.deepEqual([readdirSync(folder), log.last], [[], undefined])
  log.append([partOf('z')], 7)
  assert.deepEqual(namesAfter(log, 6), ['z'])
  assert.throws(() => log.sizeOf(6), /call 6 is missing/)
  log.close()
})
