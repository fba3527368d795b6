import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { boolean, integer, optional, resource, text } from '@hyperplane/contract'
import { tablesOf } from '../tables.ts'
import { openSqliteStore } from './sqlite-store.ts'

const Thing = resource('internal.v1.test.Thing', {
  fields: { name: text(), size: optional(integer()), isLarge: optional(boolean()), note: optional(text()) },
  indexed: ['name', 'size', 'isLarge'],
  unique: [{ fields: ['name'], ignoreCase: true }],
})

const folder = mkdtempSync(join(tmpdir(), 'hyperplane-writer-'))
after(() => rmSync(folder, { recursive: true }))

test('queries find the updated values of changed, cleared and unchanged fields, and no old ones', async () => {
  const file = join(folder, 'updates.sqlite')
  const store = openSqliteStore({ file, tables: tablesOf([Thing], []), seal: (plain) => plain, durable: false })
  const extId = crypto.randomUUID()
  const found = async (where: Record<string, string | number | boolean | null>): Promise<number> =>
    (await store.findWhere(Thing, where)).length
  await store.transaction((at) => at.insert(Thing, { extId, name: 'a', size: 1, isLarge: false, note: 'n' }))

  await store.transaction((at) => at.update(Thing, extId, { note: 'other' }))
  assert.deepEqual(
    [await found({ name: 'a', size: 1, isLarge: false }), (await store.row(Thing, extId))?.version],
    [1, 2],
  )
  await store.transaction((at) => at.update(Thing, extId, { size: 2, isLarge: true }))
  assert.deepEqual([await found({ size: 1 }), await found({ name: 'a', size: 2, isLarge: true })], [0, 1])
  await store.transaction((at) => at.replace(Thing, { extId, name: 'B' }))
  assert.deepEqual([await found({ name: 'a' }), await found({ name: 'B', size: null, isLarge: null })], [0, 1])
  await store.transaction((at) => at.insert(Thing, { extId: crypto.randomUUID(), name: 'A' }))
  await assert.rejects(
    store.transaction((at) => at.observe(Thing, extId, { name: 'a' })),
    /unique values of Thing: name/,
  )
  await assert.rejects(
    store.transaction((at) => at.replace(Thing, { extId: crypto.randomUUID(), name: 'c' })),
    /no row/,
  )
  await store.close()

  const database = new DatabaseSync(file, { readOnly: true })
  assert.deepEqual({ ...database.prepare('PRAGMA integrity_check').get() }, { integrity_check: 'ok' })
  database.close()
})

test('has() finds a row once it is published', async () => {
  const file = join(folder, 'has.sqlite')
  const store = openSqliteStore({ file, tables: tablesOf([Thing], []), seal: (plain) => plain, durable: false })
  const extId = crypto.randomUUID()
  const seen = [await store.has(Thing, extId)]
  await store.transaction(async (at) => {
    await at.insert(Thing, { extId, name: 'pending' }, { pending: true })
    seen.push(await at.has(Thing, extId))
    await at.publish(Thing, extId)
    seen.push(await at.has(Thing, extId))
  })
  assert.deepEqual([...seen, await store.has(Thing, extId)], [false, false, true, true])
  await store.close()
})
