/** Expired records of the machinery are removed, and the rest stays consistent. Source: conventions 6, 21. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openSqliteStore } from '../../store/sqlite/sqlite-store.ts'
import { tablesOf } from '../../store/tables.ts'
import { createAudit } from '../access/audit.ts'
import type { Ids } from '../caller.ts'
import { AuditRecord, coreRecords, RememberedAnswer } from '../records.ts'
import { formatTime } from './clock.ts'
import { removeOldRecords } from './retention.ts'

const folder = mkdtempSync(join(tmpdir(), 'hyperplane-retention-'))
const store = openSqliteStore({
  file: join(folder, 'world.sqlite'),
  tables: tablesOf(coreRecords, []),
  seal: (plain) => plain,
  durable: false,
})
after(() => {
  store.close()
  rmSync(folder, { recursive: true, force: true })
})

const day = 24 * 3600 * 1000
const begin = Date.parse('2026-03-02T09:00:00Z')
let now = begin
const audit = createAudit(
  store,
  { now: () => now, iso: () => formatTime(now) } as never,
  { uuid: () => crypto.randomUUID() } as unknown as Ids,
)
const entry = { credential: 'basic', address: '192.0.2.1', operation: 'test.change', status: 200 }

test('a change that is rolled back leaves no gap in the chain of the audit trail', async () => {
  await audit.writeAlone(entry)
  const failed = store.transaction(async (transaction) => {
    await audit.write(transaction, entry)
    throw new Error('the disk is full')
  })
  await assert.rejects(failed)
  await audit.writeAlone(entry)
  const [first, second, ...others] = await store.find(AuditRecord)
  assert.equal(others.length, 0)
  assert.equal(second?.previous, first?.hash)
})

test('answers are forgotten when they expire, audit records after 400 days, however many they are', async () => {
  await store.transaction(async (transaction) => {
    for (let index = 0; index < 450; index++) {
      const expires = formatTime(begin + index)
      await transaction.insert(RememberedAnswer, {
        extId: String(index),
        fingerprint: '',
        status: 200,
        answer: '',
        expires,
      })
    }
  })
  now = begin + 400 * day + 1
  await audit.writeAlone(entry)
  await removeOldRecords(store, begin + 439)
  assert.equal(await store.count(RememberedAnswer), 10)
  assert.equal(await store.count(AuditRecord), 3)
  await removeOldRecords(store, now)
  assert.equal(await store.count(RememberedAnswer), 0)
  assert.equal(await store.count(AuditRecord), 1)
})
