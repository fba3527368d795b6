import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { boolean, integer, resource, text } from '@hyperplane/contract'
import { pathOf } from '../../core/standard.ts'
import { equals } from '../../odata/index.ts'
import { tablesOf } from '../tables.ts'
import { missummed } from './kept-sums.ts'
import { connect } from './schema.ts'
import { openSqliteStore } from './sqlite-store.ts'

const fields = { cluster: text(), host: text(), bytes: integer(), isPinned: boolean() }
const indexed = ['cluster', 'host', 'bytes', 'isPinned']
const Plain = resource('internal.v1.test.Held', { fields, indexed })
const Held = resource('internal.v1.test.Held', {
  fields,
  indexed,
  summed: { by: ['cluster', 'host', 'isPinned'], of: ['bytes'] },
})
const query = { where: { cluster: 'one' }, by: ['host'], of: ['bytes'] }

let folder: string
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'hyperplane-kept-sums-'))
})
after(() => rmSync(folder, { recursive: true }))

const opened = (name: string, kind: typeof Held) =>
  openSqliteStore({
    file: join(folder, name),
    tables: tablesOf([kind], []),
    seal: (plain) => plain,
    durable: false,
  })
const held = (extId: string, host: string, bytes: number) => ({ extId, cluster: 'one', host, bytes, isPinned: false })

function isExact(name: string): void {
  const database = connect(join(folder, name), { readOnly: true })
  assert.deepEqual(missummed(database, tablesOf([Held], [])), [])
  database.close()
}

test('kept sums follow every write, and what is rolled back leaves them', async (t) => {
  const store = opened('writes.sqlite', Held)
  t.after(() => store.close())
  await store.transaction(async (transaction) => {
    for (const [index, host] of ['a', 'a', 'b', 'c'].entries())
      await transaction.insert(Held, held(String(index), host, 10 ** index), { pending: index === 2 })
    await transaction.update(Held, '0', { bytes: 5 })
    await transaction.update(Held, '1', { host: 'b' })
    await transaction.remove(Held, '3')
  })
  const failing = store.transaction(async (transaction) => {
    await transaction.insert(Held, held('4', 'a', 7))
    throw new Error('rolled back')
  })
  await assert.rejects(failing, /rolled back/)
  assert.deepEqual(await store.sums(Held, query), [
    { by: ['a'], sums: [5] },
    { by: ['b'], sums: [110] },
  ])
  await store.transaction((transaction) => transaction.removeWhere(Held, equals(pathOf(Held, 'host'), 'b')))
  assert.deepEqual(await store.sums(Held, query), [{ by: ['a'], sums: [5] }])
  isExact('writes.sqlite')
})

test('a file from before the kind was summed is summed when it is opened', async (t) => {
  const former = opened('former.sqlite', Plain)
  await former.transaction(async (transaction) => {
    for (const index of [1, 2]) await transaction.insert(Plain, held(String(index), 'a', index))
  })
  await former.close()
  const store = opened('former.sqlite', Held)
  t.after(() => store.close())
  assert.deepEqual(await store.sums(Held, query), [{ by: ['a'], sums: [3] }])
  isExact('former.sqlite')
})
