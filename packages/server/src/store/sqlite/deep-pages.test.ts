import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { resource, text } from '@hyperplane/contract'
import type { Store } from '../store.ts'
import { tablesOf } from '../tables.ts'
import { openSqliteStore } from './sqlite-store.ts'

const Rack = resource('internal.v1.test.Rack', { fields: { name: text() } })
const tables = tablesOf([Rack], [])
const index = `${tables.values().next().value?.name}__published`
const open = (file: string): Store => openSqliteStore({ file, tables, seal: (plain) => plain, durable: false })

const stepsOf = (file: string): string[] => {
  const database = new DatabaseSync(file)
  const table = index.replace('__published', '')
  const page = `SELECT document FROM ${table} WHERE published = 1 ORDER BY sequence LIMIT 50 OFFSET 9000`
  const steps = database.prepare(`EXPLAIN QUERY PLAN ${page}`).all()
  database.close()
  return steps.map(({ detail }) => String(detail))
}

test('a page finds its first row in an index, also in a file of an earlier version', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-pages-'))
  const file = join(folder, 'store.sqlite')
  try {
    await open(file).close()
    assert.ok(stepsOf(file).some((step) => step.endsWith(index)))
    const earlier = new DatabaseSync(file)
    earlier.exec(`DROP INDEX ${index}; UPDATE meta SET value = 'earlier' WHERE name = 'tables'`)
    earlier.close()
    assert.ok(!stepsOf(file).some((step) => step.endsWith(index)))
    await open(file).close()
    assert.ok(stepsOf(file).some((step) => step.endsWith(index)))
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('pages of a list with pending and removed rows have every published row once', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-pages-'))
  const store = open(join(folder, 'store.sqlite'))
  try {
    await store.transaction(async (transaction) => {
      for (let at = 0; at < 30; at++) {
        const entity = { extId: String(at), name: `rack ${at}` }
        await transaction.insert(Rack, entity, at % 7 === 3 ? { pending: true } : {})
      }
    })
    await store.transaction((transaction) => transaction.remove(Rack, '4'))
    const found: string[] = []
    for (let offset = 0; offset < 30; offset += 10) {
      const { entities, total } = await store.page(Rack, { limit: 10, offset })
      assert.equal(total, 25)
      found.push(...entities.map(({ extId }) => extId))
    }
    const expected = Array.from({ length: 30 }, (_, at) => at).filter((at) => at % 7 !== 3 && at !== 4)
    assert.deepEqual(found, expected.map(String))
  } finally {
    await store.close()
    rmSync(folder, { recursive: true })
  }
})
