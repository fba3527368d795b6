import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { optional, referenceTo, resource, text } from '@hyperplane/contract'
import type { Store } from '../store.ts'
import { tablesOf } from '../tables.ts'
import { openSqliteStore } from './sqlite-store.ts'

const Rack = resource('internal.v1.test.Rack', { fields: { name: text() }, indexed: ['name'] })
const Shelf = resource('internal.v1.test.Shelf', {
  fields: { name: text(), rackExtId: optional(referenceTo('Rack')) },
  indexed: ['name'],
})

function opened(t: { after(work: () => Promise<void>): void }): { store: Store; file: string } {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-results-'))
  const file = join(folder, 'store.sqlite')
  const store = openSqliteStore({ file, tables: tablesOf([Rack, Shelf], []), seal: (plain) => plain, durable: false })
  t.after(async () => {
    await store.close()
    rmSync(folder, { recursive: true })
  })
  return { store, file }
}

const namesOf = async (store: Store): Promise<string[]> =>
  (await store.findWhere(Rack, { name: 'a' })).map(({ name }) => name)
const add = (store: Store, kind: typeof Rack | typeof Shelf, extId: string): Promise<unknown> =>
  store.transaction((transaction) => transaction.insert(kind, { extId, name: 'a' }))

test('a repeated query is answered from memory until a commit changes its kind', async (t) => {
  const { store, file } = opened(t)
  await add(store, Rack, '1')
  for (const _ of [1, 2]) assert.deepEqual(await namesOf(store), ['a'])
  const other = new DatabaseSync(file)
  const name = tablesOf([Rack], []).values().next().value?.name
  other.exec(`DELETE FROM ${name}`)
  other.close()
  await add(store, Shelf, '2')
  assert.deepEqual(await namesOf(store), ['a'])
  await add(store, Rack, '3')
  assert.deepEqual(await namesOf(store), ['a'])
  await store.transaction((transaction) => transaction.remove(Rack, '3'))
  assert.deepEqual(await namesOf(store), [])
})

test('a query by reference sees each change of the rows that refer', async (t) => {
  const { store } = opened(t)
  await add(store, Rack, '1')
  await add(store, Shelf, '2')
  const found = async (): Promise<number> =>
    (await store.find(Shelf, { refersTo: { kind: 'Rack', extId: '1' } })).length
  for (const _ of [1, 2, 3]) assert.equal(await found(), 0)
  await store.transaction((transaction) => transaction.update(Shelf, '2', { rackExtId: '1' }))
  for (const _ of [1, 2]) assert.equal(await found(), 1)
  await store.transaction((transaction) => transaction.update(Shelf, '2', { rackExtId: undefined }))
  assert.equal(await found(), 0)
})
