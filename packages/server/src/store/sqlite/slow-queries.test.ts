import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { arrayOf, integer, resource, text } from '@hyperplane/contract'
import { checkFilter, parseFilter, type TypedFilter } from '../../odata/index.ts'
import { QueryStopped, type Store } from '../store.ts'
import { tablesOf } from '../tables.ts'
import { openSqliteStore, type QueryTime } from './sqlite-store.ts'

const Thing = resource('internal.v1.test.Thing', {
  fields: { name: text(), parts: arrayOf(integer()) },
  indexed: ['name'],
})

const folder = mkdtempSync(join(tmpdir(), 'hyperplane-queries-'))
const opened: Store[] = []
after(async () => {
  for (const store of opened) await store.close()
  rmSync(folder, { recursive: true })
})

let files = 0
async function aStore(queryTime: QueryTime, { things = 3, parts = 1 } = {}): Promise<Store> {
  const store = openSqliteStore({
    file: join(folder, `${files++}.sqlite`),
    tables: tablesOf([Thing], []),
    seal: (plain) => plain,
    durable: false,
    queryTime,
  })
  opened.push(store)
  await store.transaction(async (transaction) => {
    for (let n = 0; n < things; n++) await transaction.insert(Thing, aThing(n, parts))
  })
  return store
}
const aThing = (n: number, parts = 1) => ({
  extId: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  name: `thing ${n}`,
  parts: Array.from({ length: parts }, (_, part) => part),
})

const filter = (expression: string): TypedFilter =>
  checkFilter(parseFilter(expression), { fields: ['name', 'parts'], schema: Thing.schema })

/** Compares each pair of parts of each thing: 20 things of 2,000 parts take more than half a minute. */
const allPairs = filter('parts/all(a: parts/all(b: a ne -1 and b ne -1))')
const long = { things: 20, parts: 2000 }

/** Every query that visits a row exceeds the limit of the main thread. */
const alwaysSlow: QueryTime = { mainThread: 0, ownThread: 60_000 }

const isStopped = (why: string) => (error: unknown) => error instanceof QueryStopped && error.why === why

test('a query above the time limit is stopped, also within one row, and the next one works', async () => {
  const store = await aStore({ mainThread: 5, ownThread: 50 }, { things: 1, parts: 20_000 })
  await assert.rejects(store.page(Thing, { filter: allPairs, limit: 50 }), isStopped('too long'))
  assert.equal((await store.page(Thing, { filter: filter("name eq 'thing 0'"), limit: 50 })).total, 1)
  await assert.rejects(store.find(Thing, { filter: allPairs, isBounded: true }), isStopped('too long'))
})

test('other queries are answered while a slow query runs', async () => {
  const store = await aStore({ mainThread: 500, ownThread: 1000 }, long)
  let isOver = false
  const slow = store.page(Thing, { filter: allPairs, limit: 50 }).finally(() => (isOver = true))
  slow.catch(() => undefined)
  for (let n = 0; n < 20; n++) {
    assert.equal((await store.get(Thing, aThing(n).extId))?.name, `thing ${n}`)
    assert.equal((await store.page(Thing, { filter: filter(`name eq 'thing ${n}'`), limit: 50 })).total, 1)
    await store.transaction((transaction) => transaction.touch(Thing, aThing(n).extId))
  }
  assert.equal(isOver, false)
  await assert.rejects(slow, isStopped('too long'))
})

test('the thread returns the same result as the main thread: page, total, order', async () => {
  const asked = { filter: filter("name ne 'thing 7'"), offset: 5, limit: 4, newestFirst: true }
  const options = { things: 12 }
  const among = await aStore({ mainThread: 60_000, ownThread: 60_000 }, options)
  const alone = await aStore(alwaysSlow, options)
  assert.deepEqual(await alone.page(Thing, asked), await among.page(Thing, asked))
  assert.deepEqual(
    (await alone.page(Thing, asked)).entities.map(({ name }) => name),
    ['thing 5', 'thing 4', 'thing 3', 'thing 2'],
  )
})

test('the thread sees rows that were committed before its query, and no pending ones', async () => {
  const store = await aStore(alwaysSlow)
  for (let n = 3; n < 13; n++) {
    await store.transaction((transaction) => transaction.insert(Thing, aThing(n)))
    assert.equal((await store.page(Thing, { filter: filter("name ne ''"), limit: 50 })).total, n + 1)
  }
  await store.transaction((transaction) => transaction.insert(Thing, aThing(13), { pending: true }))
  assert.equal((await store.page(Thing, { filter: filter("name ne ''"), limit: 50 })).total, 13)
})

test('more than 64 waiting queries are refused at once, and so is a query that waited too long', async () => {
  const store = await aStore({ mainThread: 0, ownThread: 300 }, long)
  const slow = store.page(Thing, { filter: allPairs, limit: 50 })
  const others = Array.from({ length: 65 }, () => store.page(Thing, { filter: filter("name ne ''"), limit: 1 }))
  const ends = await Promise.allSettled([slow, ...others])
  assert.deepEqual(
    ends.map((end) => (end.status === 'rejected' ? (end.reason as QueryStopped).why : 'answered')),
    ['too long', ...Array.from({ length: 65 }, () => 'busy')],
  )
  assert.equal((await store.page(Thing, { limit: 1, filter: filter("name ne ''") })).total, 20)
})

test('queries of transactions and of the service itself are never stopped', async () => {
  const store = await aStore({ mainThread: 0, ownThread: 0 })
  assert.equal((await store.find(Thing, { filter: filter("name ne ''") })).length, 3)
  assert.equal(await store.count(Thing, { filter: filter("name ne ''") }), 3)
  const inside = await store.transaction((transaction) =>
    transaction.page(Thing, { filter: filter("name ne ''"), limit: 2 }),
  )
  assert.equal(inside.total, 3)
  await assert.rejects(store.page(Thing, { filter: filter("name ne ''"), limit: 2 }), isStopped('too long'))
})

test('closing the store stops running queries', async () => {
  const store = await aStore({ mainThread: 5, ownThread: 60_000 }, long)
  const slow = assert.rejects(store.page(Thing, { filter: allPairs, limit: 50 }), isStopped('closing'))
  const waiting = assert.rejects(store.page(Thing, { filter: allPairs, limit: 50 }), isStopped('closing'))
  await store.close()
  await Promise.all([slow, waiting])
  opened.splice(opened.indexOf(store), 1)
})
