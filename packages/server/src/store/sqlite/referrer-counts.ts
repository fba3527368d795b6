/**
 * Referrers by kind, counted by triggers: a read costs the same with any number. Two references of an entity count once. Files with other
 * triggers are recounted. Source: behaviour platform.md 1.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Table } from '../tables.ts'

export function keepReferrerCounts(database: DatabaseSync, tables: ReadonlyMap<string, Table>): void {
  // The file is opened without kinds (rotation of the key): nothing to count.
  if (tables.size === 0) return
  database.exec(`CREATE TABLE IF NOT EXISTS referrer_count (
    to_kind TEXT NOT NULL, to_id TEXT NOT NULL, from_kind TEXT NOT NULL, total INTEGER NOT NULL,
    published INTEGER NOT NULL, PRIMARY KEY (to_kind, to_id, from_kind)) WITHOUT ROWID`)
  const counted = [...tables.values()].filter(({ resource }) => resource.counted === true)
  const kinds = counted.map(({ resource }) => resource.kind).sort()
  const triggers = triggersFor(kinds)
  const present = database
    .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'reference' ORDER BY name")
    .all() as { name: string; sql: string }[]
  if (present.map(({ sql }) => sql).join() === triggers.join()) return
  for (const { name } of present) database.exec(`DROP TRIGGER ${name}`)
  database.exec(`DELETE FROM referrer_count; INSERT INTO referrer_count ${recount(kinds)}`)
  for (const trigger of triggers) database.exec(trigger)
}

export function miscounted(database: DatabaseSync, tables: ReadonlyMap<string, Table>): readonly string[] {
  const kinds = [...tables.values()].filter(({ resource }) => resource.counted === true)
  const counted = recount(kinds.map(({ resource }) => resource.kind))
  const kept = 'SELECT to_kind, to_id, from_kind, total, published FROM referrer_count'
  const wrong = `SELECT DISTINCT to_kind, to_id, from_kind FROM
    (SELECT * FROM (${kept} EXCEPT ${counted}) UNION ALL SELECT * FROM (${counted} EXCEPT ${kept}))`
  const rows = database.prepare(wrong).all() as { to_kind: string; to_id: string; from_kind: string }[]
  return rows.map(({ to_kind, to_id, from_kind }) => `${to_kind} ${to_id}: ${from_kind}`)
}

const recount = (kinds: readonly string[]): string =>
  `SELECT to_kind, to_id, from_kind, COUNT(DISTINCT from_id), COUNT(DISTINCT CASE WHEN published = 1 THEN from_id END)
    FROM reference WHERE to_kind IN (${listOf(kinds)}) GROUP BY to_kind, to_id, from_kind`

const listOf = (kinds: readonly string[]): string => kinds.map((kind) => `'${kind}'`).join(', ')

/** All references of one entity are published together. */
function triggersFor(kinds: readonly string[]): readonly string[] {
  if (kinds.length === 0) return []
  const isRow = (row: string): string =>
    `to_kind = ${row}.to_kind AND to_id = ${row}.to_id AND from_kind = ${row}.from_kind`
  /** The entity refers to this one at no other place. */
  const isOnly = (row: string, and = ''): string =>
    `NOT EXISTS (SELECT 1 FROM reference
  WHERE ${isRow(row)} AND from_id = ${row}.from_id AND path <> ${row}.path${and})`
  const isCounted = (row: string): string => `${row}.to_kind IN (${listOf(kinds)})`
  return [
    `CREATE TRIGGER referrer_count_delete AFTER DELETE ON reference WHEN ${isCounted('OLD')} AND ${isOnly('OLD')} BEGIN
  UPDATE referrer_count SET total = total - 1, published = published - OLD.published WHERE ${isRow('OLD')};
  DELETE FROM referrer_count WHERE ${isRow('OLD')} AND total = 0;
END`,
    `CREATE TRIGGER referrer_count_insert AFTER INSERT ON reference WHEN ${isCounted('NEW')} AND ${isOnly('NEW')} BEGIN
  INSERT INTO referrer_count VALUES (NEW.to_kind, NEW.to_id, NEW.from_kind, 1, NEW.published)
  ON CONFLICT (to_kind, to_id, from_kind)
  DO UPDATE SET total = total + 1, published = published + excluded.published;
END`,
    // Only the first published reference of an entity counts.
    `CREATE TRIGGER referrer_count_publish AFTER UPDATE OF published ON reference
WHEN NEW.published > OLD.published AND ${isCounted('NEW')} AND ${isOnly('NEW', ' AND published = 1')} BEGIN
  UPDATE referrer_count SET published = published + 1 WHERE ${isRow('NEW')};
END`,
  ]
}
