import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { storeTables } from '../../domains/tables.ts'
import { createStoreFile } from './new-store.ts'
import { connect, migrate } from './schema.ts'

const tables = storeTables()
const folder = mkdtempSync(join(tmpdir(), 'hyperplane-new-store-'))
after(() => rmSync(folder, { recursive: true }))

const schemaOf = (file: string): unknown[] => {
  const database = new DatabaseSync(file, { readOnly: true })
  const objects = 'SELECT type, name, sql FROM sqlite_schema ORDER BY type, name'
  const rows = [...database.prepare(objects).all(), ...database.prepare('SELECT * FROM meta ORDER BY name').all()]
  database.close()
  return rows.map((row) => ({ ...row }))
}

test('a new file has the tables that a migration would make, and other work runs meanwhile', async () => {
  const [stepped, migrated] = [join(folder, 'stepped.sqlite'), join(folder, 'migrated.sqlite')]
  writeFileSync(`${stepped}.new`, 'left by a crash')
  let turns = 0
  const count = (): void => {
    turns++
    next = setImmediate(count)
  }
  let next = setImmediate(count)
  await createStoreFile(stepped, tables)
  clearImmediate(next)
  const database = connect(migrated, { durable: false })
  migrate(database, tables)
  database.close()
  assert.deepEqual(schemaOf(stepped), schemaOf(migrated))
  assert.ok(turns > 3, String(turns))
  assert.ok(!existsSync(`${stepped}.new`))
})
