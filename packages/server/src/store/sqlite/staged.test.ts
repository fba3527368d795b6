import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { resource, text } from '@hyperplane/contract'
import type { Store } from '../store.ts'
import { tablesOf } from '../tables.ts'
import { openSqliteStore } from './sqlite-store.ts'

const Thing = resource('internal.v1.test.Thing', { fields: { name: text() } })

const folder = mkdtempSync(join(tmpdir(), 'hyperplane-staged-'))
after(() => rmSync(folder, { recursive: true }))

let files = 0
function aStore(): { store: Store; commits: () => number } {
  const store = openSqliteStore({
    file: join(folder, `${files++}.sqlite`),
    tables: tablesOf([Thing], []),
    seal: (plain) => plain,
    durable: false,
  })
  let commits = 0
  store.watch([Thing], () => commits++)
  return { store, commits: () => commits }
}
const aThing = (name: string) => ({ extId: crypto.randomUUID(), name })

test('consecutive staged work shares a commit; each sees the ones before, readers see all after it', async () => {
  const { store, commits } = aStore()
  const seen: number[] = []
  const durable: Promise<void>[] = []
  for (let index = 0; index < 10; index++) {
    const staged = store.stage(async (transaction) => {
      seen.push(await transaction.count(Thing))
      await transaction.insert(Thing, aThing(`thing ${index}`))
    })
    durable.push(staged.durable)
    await staged.applied
    assert.equal(await store.count(Thing), 0)
  }
  await Promise.all(durable)
  assert.deepEqual(seen, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  assert.equal(await store.count(Thing), 10)
  assert.equal(commits(), 1)
  await store.close()
})

test('staged work that throws is rolled back alone, and needs no commit', async () => {
  const { store } = aStore()
  const kept = store.stage((transaction) => transaction.insert(Thing, aThing('kept')))
  const refused = store.stage(async (transaction) => {
    await transaction.insert(Thing, aThing('refused'))
    throw new Error('refused')
  })
  await assert.rejects(refused.applied, /refused/)
  await Promise.all([kept.durable, refused.durable])
  assert.deepEqual(
    (await store.find(Thing)).map(({ name }) => name),
    ['kept'],
  )
  await store.close()
})

test('staged work does not delay a commit that somebody waits for', async () => {
  const { store } = aStore()
  let ends = false
  let staged = 0
  const stager = (async () => {
    while (!ends) {
      await store.stage((transaction) => transaction.insert(Thing, aThing(`staged ${staged}`))).applied
      staged++
    }
  })()
  for (let turn = 0; turn < 5; turn++) {
    const before = staged
    await store.transaction((transaction) => transaction.insert(Thing, aThing('waited for')))
    assert.ok(staged - before <= 32, `${staged - before} were staged while one waited`)
  }
  ends = true
  await stager
  await store.close()
})

test('the store yields to the event loop between commits, however many writes are queued', async () => {
  const { store, commits } = aStore()
  let turns = 0
  let ends = false
  const look = (): void => {
    turns++
    if (!ends) setImmediate(look)
  }
  setImmediate(look)
  const goOn = async (): Promise<void> => {
    for (let index = 0; index < 10; index++)
      await store.stage((transaction) => transaction.insert(Thing, aThing('one of many'))).applied
  }
  await Promise.all(Array.from({ length: 40 }, goOn))
  ends = true
  assert.ok(commits() > 5 && turns >= commits(), `${turns} turns, ${commits()} commits`)
  await store.close()
})

test('a failed commit rejects all of its transactions', async () => {
  const { store } = aStore()
  const first = store.stage((transaction) => transaction.insert(Thing, aThing('first')))
  const second = store.stage((transaction) => transaction.insert(Thing, aThing('second')))
  await second.applied
  await store.close()
  await assert.rejects(first.durable)
  await assert.rejects(second.durable)
})
