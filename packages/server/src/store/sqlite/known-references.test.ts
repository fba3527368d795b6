import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { arrayOf, type Resource, referenceTo, resource, text, uuid } from '@hyperplane/contract'
import type { TypedFilter } from '../../odata/index.ts'
import type { Store } from '../store.ts'
import { tablesOf } from '../tables.ts'
import { openSqliteStore } from './sqlite-store.ts'

const Tag = resource('internal.v1.test.Tag', { fields: { name: text() }, counted: true })
const Former = resource('internal.v1.test.Box', { fields: { name: text(), tags: arrayOf(uuid()) } })
const Box = resource('internal.v1.test.Box', { fields: { name: text(), tags: arrayOf(referenceTo('Tag')) } })

const folder = mkdtempSync(join(tmpdir(), 'hyperplane-references-'))
after(() => rmSync(folder, { recursive: true }))

const open = (file: string, box: Resource<any, any> = Box): Store =>
  openSqliteStore({
    file: join(folder, file),
    tables: tablesOf([Tag, box], []),
    seal: (plain) => plain,
    durable: false,
  })

const carrying = (tag: string): TypedFilter => ({
  kind: 'quantified',
  quantifier: 'any',
  from: 0,
  names: ['tags'],
  body: {
    kind: 'compare',
    operator: 'eq',
    left: { kind: 'field', from: 1, names: [], type: 'uuid' },
    right: { kind: 'literal', value: tag },
  },
})
const aBox = (tag: string) => ({ extId: crypto.randomUUID(), name: 'a box', tags: [tag] })

test('a later version finds entities by a field that it declares as a reference, and forgets one that it does not', async () => {
  const tag = crypto.randomUUID()
  const former = open('later.sqlite', Former)
  for (const pending of [false, true])
    await former.transaction((transaction) => transaction.insert(Former, aBox(tag), { pending }))
  assert.equal(await former.count(Former, { filter: carrying(tag) }), 1)
  await former.close()
  for (let start = 0; start < 2; start++) {
    const store = open('later.sqlite')
    assert.equal(await store.count(Box, { filter: carrying(tag) }), 1)
    assert.deepEqual(await store.referrerCounts('Tag', tag), new Map([['Box', 2]]))
    assert.deepEqual(await store.referrerCounts('Tag', tag, { publishedOnly: true }), new Map([['Box', 1]]))
    await store.close()
  }
  const again = open('later.sqlite', Former)
  assert.equal((await again.referrerCounts('Tag', tag)).size, 0)
  assert.equal(await again.count(Former, { filter: carrying(tag) }), 1)
  await again.close()
})

test('rows are removed by a filter that looks them up by their references', async () => {
  const store = open('removed.sqlite')
  const [tag, other] = [crypto.randomUUID(), crypto.randomUUID()]
  await store.transaction(async (transaction) => {
    for (const each of [tag, tag, other]) await transaction.insert(Box, aBox(each))
  })
  assert.equal(await store.transaction((transaction) => transaction.removeWhere(Box, carrying(tag))), 2)
  assert.deepEqual([await store.count(Box), (await store.referrerCounts('Tag', tag)).size], [1, 0])
  await store.close()
})

test('counts that a reader took just before a commit are not kept after it', async () => {
  const store = open('commit.sqlite')
  const tag = crypto.randomUUID()
  await store.transaction(async (transaction) => {
    await transaction.insert(Box, aBox(tag))
    void Promise.resolve().then(() => store.referrerCounts('Tag', tag))
  })
  assert.deepEqual(await store.referrerCounts('Tag', tag), new Map([['Box', 1]]))
  await store.close()
})
