/**
 * Sums of kinds that declare `summed`, maintained by triggers: a read costs the same with any number of rows. Files with other triggers are
 * summed again. Source: behaviour vmm.md 3.2.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { SumQuery } from '../store.ts'
import type { Table } from '../tables.ts'

interface Kept {
  readonly table: Table
  readonly name: string
  readonly by: readonly string[]
  readonly of: readonly string[]
}

export function keepSums(database: DatabaseSync, tables: ReadonlyMap<string, Table>): void {
  for (const table of tables.values()) {
    const kept = keptOf(table)
    if (kept === undefined) continue
    const triggers = triggersFor(kept)
    const present = database
      .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ? ORDER BY name")
      .all(table.name) as { name: string; sql: string }[]
    if (present.map(({ sql }) => sql).join() === triggers.join()) continue
    for (const { name } of present) database.exec(`DROP TRIGGER ${name}`)
    const columns = [...kept.by.map((name) => `${name} NOT NULL`), ...kept.of.map((name) => `${name} INTEGER NOT NULL`)]
    database.exec(`DROP TABLE IF EXISTS ${kept.name};
      CREATE TABLE ${kept.name} (${columns.join(', ')}, total INTEGER NOT NULL, PRIMARY KEY (${kept.by.join(', ')})) WITHOUT ROWID;
      INSERT INTO ${kept.name} ${resummed(kept)}`)
    for (const trigger of triggers) database.exec(trigger)
  }
}

/** From the rows themselves unless the kind keeps these sums. */
export function sourceOfSums(table: Table, { where, by, of }: SumQuery): string {
  const kept = keptOf(table)
  const { summed } = table.resource
  if (kept === undefined || summed === undefined) return table.name
  const isKept = [...Object.keys(where), ...by].every((path) => summed.by.includes(path))
  return isKept && of.every((path) => summed.of.includes(path)) ? kept.name : table.name
}

/** Kinds whose kept sums differ from their rows. */
export const missummed = (database: DatabaseSync, tables: ReadonlyMap<string, Table>): readonly string[] =>
  [...tables.values()].flatMap((table) => {
    const kept = keptOf(table)
    if (kept === undefined) return []
    const stored = `SELECT ${[...kept.by, ...kept.of, 'total'].join(', ')} FROM ${kept.name}`
    const wrong = `SELECT * FROM (${stored} EXCEPT ${resummed(kept)}) UNION ALL SELECT * FROM (${resummed(kept)} EXCEPT ${stored})`
    return database.prepare(wrong).all().length === 0 ? [] : [`${table.resource.kind}: sums`]
  })

function keptOf(table: Table): Kept | undefined {
  const { summed } = table.resource
  if (summed === undefined) return undefined
  const columns = (paths: readonly string[]): string[] => paths.map((path) => table.columnOf.get(path) as string)
  return { table, name: `${table.name}__sums`, by: columns(summed.by), of: columns(summed.of) }
}

const resummed = ({ table, by, of }: Kept): string =>
  `SELECT ${[...by, ...of.map((name) => `SUM(${name})`)].join(', ')}, COUNT(*) FROM ${table.name} GROUP BY ${by.join(', ')}`

function triggersFor({ table, name, by, of }: Kept): readonly string[] {
  const isRow = by.map((column) => `${column} = OLD.${column}`).join(' AND ')
  const subtract = `UPDATE ${name} SET ${of.map((column) => `${column} = ${column} - OLD.${column}`).join(', ')}, total = total - 1 WHERE ${isRow};
  DELETE FROM ${name} WHERE ${isRow} AND total = 0;`
  const add = `INSERT INTO ${name} VALUES (${[...by, ...of].map((column) => `NEW.${column}`).join(', ')}, 1)
  ON CONFLICT (${by.join(', ')}) DO UPDATE SET ${of.map((column) => `${column} = ${column} + excluded.${column}`).join(', ')}, total = total + 1;`
  const trigger = (when: string, does: string): string =>
    `CREATE TRIGGER ${name}_${when.slice(0, 6).toLowerCase()} AFTER ${when} ON ${table.name} BEGIN\n  ${does}\nEND`
  return [
    trigger('DELETE', subtract),
    trigger('INSERT', add),
    trigger(`UPDATE OF ${[...by, ...of].join(', ')}`, `${subtract}\n  ${add}`),
  ]
}
