/** Stored counts of referrers equal a recount after any writes. Source: behaviour platform.md 1 (associations, limits). */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { arrayOf, object, optional, type Resource, referenceTo, resource, text } from '@hyperplane/contract'
import { drawsFrom } from '../../core/ids/draws.ts'
import type { TypedFilter } from '../../odata/index.ts'
import { type Store, TooManyReferrers, type Transaction } from '../store.ts'
import { tablesOf } from '../tables.ts'
import { openSqliteStore } from './sqlite-store.ts'

const Tag = resource('internal.v1.test.Tag', { fields: { name: text() }, counted: true })
const Plain = resource('internal.v1.test.Plain', { fields: { name: text() } })
const fields = {
  name: text(),
  tags: arrayOf(referenceTo('Tag')),
  main: object('', { tag: optional(referenceTo('Tag')) }),
  plain: referenceTo('Plain'),
}
const Box = resource('internal.v1.test.Box', { fields, indexed: ['name'] })
const Crate = resource('internal.v1.test.Crate', { fields, indexed: ['name'] })
const carriers = [Box, Crate]

const folder = mkdtempSync(join(tmpdir(), 'hyperplane-counts-'))
after(() => rmSync(folder, { recursive: true }))

function open(file: string, { tag = Tag as Resource<any, any>, maximum = 100_000 } = {}): Store {
  return openSqliteStore({
    file: join(folder, file),
    tables: tablesOf([tag, Plain, ...carriers], []),
    seal: (plain) => plain,
    durable: false,
    ...(tag === Tag ? { maximumReferrers: { Tag: maximum } } : {}),
  })
}

function inFile<T>(file: string, look: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(join(folder, file))
  try {
    return look(database)
  } finally {
    database.close()
  }
}

function assertExact(file: string): void {
  const [kept, counted] = inFile(file, (database) => [
    database.prepare('SELECT * FROM referrer_count ORDER BY 1, 2, 3').all(),
    database
      .prepare(
        `SELECT to_kind, to_id, from_kind, COUNT(DISTINCT from_id) AS total,
           COUNT(DISTINCT CASE WHEN published = 1 THEN from_id END) AS published
         FROM reference WHERE to_kind = 'Tag' GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
      )
      .all(),
  ])
  assert.deepEqual(kept, counted)
}

type Draw = () => number
const oneOf = <T>(draw: Draw, items: readonly T[]): T => items[Math.floor(draw() * items.length)] as T
const names = ['a', 'b', 'c', 'd', 'e', 'f']
const isNamed = (name: string): TypedFilter => ({
  kind: 'compare',
  operator: 'eq',
  left: { kind: 'field', from: 0, names: ['name'], type: 'text' },
  right: { kind: 'literal', value: name },
})
const drawn = (draw: Draw, tags: readonly string[]) => ({
  name: oneOf(draw, names),
  // Sometimes one twice, or at both places.
  tags: Array.from({ length: Math.floor(draw() * 4) }, () => oneOf(draw, tags)),
  main: draw() < 0.5 ? {} : { tag: oneOf(draw, tags) },
  plain: oneOf(draw, tags),
})

async function write(store: Transaction, draw: Draw, tags: readonly string[], made: string[]): Promise<void> {
  const kind = oneOf(draw, carriers)
  const extId = oneOf(draw, made)
  const chance = draw()
  if (chance < 0.4 || extId === undefined || (await store.pending(kind, extId)) === undefined) {
    const entity = { extId: crypto.randomUUID(), ...drawn(draw, tags) }
    made.push(entity.extId)
    await store.insert(kind, entity, { pending: draw() < 0.5 })
  } else if (chance < 0.6) await store.replace(kind, { extId, ...drawn(draw, tags) })
  else if (chance < 0.7) await store.update(kind, extId, { main: drawn(draw, tags).main })
  else if (chance < 0.75) await store.observe(kind, extId, { name: oneOf(draw, names) })
  else if (chance < 0.85) await store.publish(kind, extId)
  else if (chance < 0.98) await store.remove(kind, extId)
  else await store.removeWhere(kind, isNamed(oneOf(draw, names)))
}

for (const seed of ['one', 'two', 'three']) {
  test(`after 1,500 random writes, a third of them rolled back, the counts equal a recount (draws "${seed}")`, async () => {
    const file = `${seed}.sqlite`
    const store = open(file)
    const draw: Draw = drawsFrom(seed)
    const tags = Array.from({ length: 4 }, () => crypto.randomUUID())
    const made: string[] = []
    const takenBack = new Error('taken back')
    for (let round = 0; round < 300; round++) {
      const work = async (transaction: Transaction): Promise<void> => {
        for (let count = 0; count < 5; count++) await write(transaction, draw, tags, made)
        if (round % 3 === 0) throw takenBack
      }
      await store.transaction(work).catch((error) => assert.equal(error, takenBack))
      if (round % 10 === 0) assertExact(file)
    }
    assertExact(file)
    const extId = tags[0] as string
    const seen = await store.referrerCounts('Tag', extId, { publishedOnly: true })
    for (const kind of carriers)
      assert.equal(seen.get(kind.kind), await store.count(kind, { refersTo: { kind: 'Tag', extId } }))
    const all = await store.referrerCounts('Tag', extId)
    assert.ok(
      [...all].some(([kind, count]) => count > (seen.get(kind) ?? 0)),
      'pending ones count for a delete',
    )

    await store.transaction(async (transaction) => {
      for (const kind of carriers) for (const id of made) await transaction.remove(kind, id)
    })
    assert.equal((await store.referrerCounts('Tag', extId)).size, 0)
    assert.deepEqual(
      inFile(file, (database) => database.prepare('SELECT * FROM referrer_count').all()),
      [],
    )
    await store.close()
  })
}

async function aTaggedFile(file: string, tag?: Resource<any, any>): Promise<string> {
  const store = open(file, tag === undefined ? {} : { tag })
  const extId = crypto.randomUUID()
  await store.transaction(async (transaction) => {
    for (const pending of [false, false, true])
      await transaction.insert(Box, { ...aBox(extId), main: { tag: extId } }, { pending })
  })
  await store.close()
  return extId
}
const aBox = (tag: string) => ({
  extId: crypto.randomUUID(),
  name: 'a',
  tags: [tag],
  main: {},
  plain: crypto.randomUUID(),
})

async function opensExact(file: string, tag: string): Promise<void> {
  const store = open(file)
  assertExact(file)
  assert.deepEqual(await store.referrerCounts('Tag', tag), new Map([['Box', 3]]))
  assert.deepEqual(await store.referrerCounts('Tag', tag, { publishedOnly: true }), new Map([['Box', 2]]))
  await store.transaction((transaction) => transaction.insert(Box, aBox(tag)))
  assertExact(file)
  await store.close()
}

test('a file from before there were counts gets them when it is opened', async () => {
  const tag = await aTaggedFile('older.sqlite')
  inFile('older.sqlite', (database) => {
    for (const event of ['insert', 'delete', 'publish']) database.exec(`DROP TRIGGER referrer_count_${event}`)
    database.exec('DROP TABLE referrer_count')
  })
  await opensExact('older.sqlite', tag)
})

test('a kind that was not counted before is counted when the file is opened', async () => {
  const tag = await aTaggedFile('uncounted.sqlite', resource('internal.v1.test.Tag', { fields: { name: text() } }))
  await opensExact('uncounted.sqlite', tag)
})

test('stored counts are reused, and maintained by every writer of references', async () => {
  const tag = await aTaggedFile('kept.sqlite')
  inFile('kept.sqlite', (database) => {
    const refer = database.prepare('INSERT OR IGNORE INTO reference VALUES (?, ?, ?, ?, ?, 1)')
    for (let turn = 0; turn < 2; turn++) refer.run('Tag', tag, 'Crate', 'a crate', 'tags')
  })
  const store = open('kept.sqlite')
  assertExact('kept.sqlite')
  assert.deepEqual(
    [...(await store.referrerCounts('Tag', tag))],
    [
      ['Box', 3],
      ['Crate', 1],
    ],
  )
  await store.close()
})

test('opening the file without its kinds leaves the counts as they are', async () => {
  const tag = await aTaggedFile('unknown.sqlite')
  const file = join(folder, 'unknown.sqlite')
  await openSqliteStore({ file, tables: new Map(), seal: (plain) => plain, durable: false }).close()
  assert.equal(
    inFile(
      'unknown.sqlite',
      (database) => database.prepare('SELECT published FROM referrer_count').get()?.['published'],
    ),
    2,
  )
  await opensExact('unknown.sqlite', tag)
})

test('the limit follows the counts: a removal makes room, a rollback uses none', async () => {
  const store = open('limit.sqlite', { maximum: 2 })
  const tag = crypto.randomUUID()
  const insert = (entity: ReturnType<typeof aBox>) =>
    store.transaction((transaction) => transaction.insert(Box, entity))
  const tooMany = (error: unknown): boolean => error instanceof TooManyReferrers && error.found === 3
  const first = aBox(tag)
  await insert(first)
  const takenBack = store.transaction(async (transaction) => {
    await transaction.insert(Box, aBox(tag))
    throw new Error('taken back')
  })
  await assert.rejects(takenBack, /taken back/)
  await insert(aBox(tag))
  await assert.rejects(insert(aBox(tag)), tooMany)
  await store.transaction((transaction) => transaction.replace(Box, { ...first, main: { tag } }))
  await store.transaction((transaction) => transaction.remove(Box, first.extId))
  await insert(aBox(tag))
  await assert.rejects(insert(aBox(tag)), tooMany)
  assertExact('limit.sqlite')
  await store.close()
})
