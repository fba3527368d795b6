import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { boolean, integer, resource, text } from '@hyperplane/contract'
import { tablesOf } from '../tables.ts'
import { openSqliteStore } from './sqlite-store.ts'

const Held = resource('internal.v1.test.Held', {
  fields: { cluster: text(), host: text(), bytes: integer(), isPinned: boolean() },
  indexed: ['cluster', 'host', 'bytes', 'isPinned'],
})

test('sums groups the rows that match, also within the transaction that wrote them; no row, no group', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-sums-'))
  const store = openSqliteStore({
    file: join(folder, 'store.sqlite'),
    tables: tablesOf([Held], []),
    seal: (plain) => plain,
    durable: false,
  })
  t.after(async () => {
    await store.close()
    rmSync(folder, { recursive: true })
  })
  const query = { where: { cluster: 'one' }, by: ['host', 'isPinned'], of: ['bytes'] }
  const expected = [
    { by: ['a', 0], sums: [7] },
    { by: ['a', 1], sums: [1] },
    { by: ['b', 0], sums: [2 ** 50] },
  ]
  await store.transaction(async (transaction) => {
    const rows = [
      ['one', 'a', 3, false],
      ['one', 'a', 4, false],
      ['one', 'a', 1, true],
      ['one', 'b', 2 ** 50, false],
      ['two', 'a', 9, false],
    ] as const
    for (const [index, [cluster, host, bytes, isPinned]] of rows.entries())
      await transaction.insert(Held, { extId: String(index), cluster, host, bytes, isPinned })
    assert.deepEqual(await transaction.sums(Held, query), expected)
  })
  assert.deepEqual(await store.sums(Held, query), expected)
  assert.deepEqual(await store.sums(Held, { ...query, where: { cluster: 'none' } }), [])
})
