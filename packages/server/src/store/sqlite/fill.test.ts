import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { resource, text } from '@hyperplane/contract'
import { pathOf } from '../../core/standard.ts'
import { equals } from '../../odata/index.ts'
import { loadingMark } from '../loading-mark.ts'
import { tablesOf } from '../tables.ts'
import { openSqliteStore } from './sqlite-store.ts'

const MiB = 1024 ** 2
const Thing = resource('internal.v1.test.Thing', { fields: { name: text() } })

const folder = mkdtempSync(join(tmpdir(), 'hyperplane-fill-'))
after(() => rmSync(folder, { recursive: true }))

let files = 0
function aStore(durable: boolean) {
  const file = join(folder, `${files++}.sqlite`)
  const options = { file, tables: tablesOf([Thing], []), seal: (plain: string) => plain, durable }
  return { store: openSqliteStore(options), reopened: () => openSqliteStore(options), file }
}
const logBytes = (file: string): number => statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0
const long = 'x'.repeat(8000)

test('a bulk load is one transaction, and leaves its rows in the file itself, with an empty write-ahead log', async () => {
  const { store, file } = aStore(true)
  await store.bulkLoad(async (transaction) => {
    for (let index = 0; index < 2000; index++)
      await transaction.insert(Thing, { extId: crypto.randomUUID(), name: `${index} ${long}` })
  })
  assert.equal(logBytes(file), 0)
  assert.ok(statSync(file).size > 15 * MiB)
  assert.equal(await store.count(Thing), 2000)
  await store.close()
})

test('a failed bulk load leaves nothing, and later writes work', async () => {
  const { store, reopened, file } = aStore(true)
  const filled = store.bulkLoad(async (transaction) => {
    await transaction.insert(Thing, { extId: crypto.randomUUID(), name: 'first' })
    // Meanwhile readers share the writer's connection, and what they read must not be kept.
    assert.equal((await store.find(Thing)).length, 1)
    throw new Error('enough')
  })
  await assert.rejects(filled, /enough/)
  // The next start sees the mark, and loads the seed again.
  assert.ok(existsSync(loadingMark(file)))
  assert.equal(await store.count(Thing), 0)
  assert.deepEqual(await store.find(Thing), [])
  await store.transaction((transaction) => transaction.insert(Thing, { extId: crypto.randomUUID(), name: 'later' }))
  await store.close()
  const again = reopened()
  assert.equal(await again.count(Thing), 1)
  await again.close()
})

test('a copy of a store with a long log is complete, including writes during the checkpoint', async () => {
  const { store, file } = aStore(false)
  const write = (count: number) =>
    store.transaction(async (transaction) => {
      for (let index = 0; index < count; index++)
        await transaction.insert(Thing, { extId: crypto.randomUUID(), name: long })
    })
  await write(1200)
  assert.ok(logBytes(file) > 8 * MiB)
  const target = join(folder, 'copy.sqlite')
  const copied = store.copyTo(target)
  await write(1)
  await copied
  await store.close()
  const copy = openSqliteStore({ file: target, tables: tablesOf([Thing], []), seal: (plain) => plain, durable: false })
  assert.equal(await copy.count(Thing), 1201)
  await copy.close()
})

test('rows that are found in parts come once and in order, also while one of them changes', async () => {
  const { store } = aStore(false)
  const ids = Array.from({ length: 120 }, () => crypto.randomUUID())
  await store.transaction(async (transaction) => {
    for (const [index, extId] of ids.entries()) await transaction.insert(Thing, { extId, name: `${index % 2}` })
  })
  const found: string[] = []
  const even = equals(pathOf(Thing, 'name'), '0')
  for await (const part of store.findInParts(Thing, { filter: even })) {
    found.push(...part.map(({ extId }) => extId))
    await store.transaction((transaction) => transaction.touch(Thing, ids[0] as string))
  }
  assert.deepEqual(
    found,
    ids.filter((_, index) => index % 2 === 0),
  )
  await store.close()
})

test('a store can be copied right after its load, also when it had been opened before', async () => {
  const { store: before, reopened, file } = aStore(true)
  await before.close()
  const store = reopened()
  await store.bulkLoad((transaction) => transaction.insert(Thing, { extId: crypto.randomUUID(), name: 'first' }))
  await store.copyTo(`${file}-copy`)
  await store.close()
})
