import { hash } from 'node:crypto'
import { Call, callOperations } from '@hyperplane/contract/control/call'
import { type Table, tablesOf } from '../../../store/tables.ts'
import { packing } from '../packed-calls.ts'

/** Fields with a column of their own: those that filters name most often. Other fields are read from the document. */
const indexedPaths: ReadonlySet<string> = new Set([
  'caller/extId',
  'caller/name',
  'durationMicros',
  'method',
  'operation',
  'parentTaskExtId',
  'path',
  'requestId',
  'sequence',
  'status',
  'target/extId',
  'target/kind',
  'taskExtId',
  'time',
])

function callTable(): Table {
  const { derived: _, ...stored } = Call
  const operations = Object.values(callOperations).map((declared) => ({ ...declared, resource: Call }))
  // `tablesOf` reads only the resource and the field lists of operations, which exist before the namespace is built.
  const table = tablesOf([stored], operations as never).get(Call.kind) as Table
  return {
    ...table,
    columns: table.columns.filter(({ path }) => indexedPaths.has(path)),
    columnOf: new Map([...table.columnOf].filter(([path]) => indexedPaths.has(path))),
  }
}

/** The table as the query compiler sees it; in the database it is a view. */
export const journalTable = callTable()

export const callColumns = journalTable.columns.filter(({ path }) => path !== 'sequence')

const columnTypes = callColumns.map(({ name, affinity }) => `${name} ${affinity}`).join(', ')
const columnNames = callColumns.map(({ name }) => name).join(', ')

/** A separate table, because documents are long. No indexes: rows are ordered by number, and scanning 100,000 takes milliseconds. */
export const journalTables = `
  CREATE TABLE record (sequence INTEGER PRIMARY KEY, size INTEGER NOT NULL, document TEXT NOT NULL);
  CREATE TABLE found (sequence INTEGER PRIMARY KEY, ${columnTypes});
  CREATE VIEW ${journalTable.name} AS
    SELECT found.sequence AS sequence, found.sequence AS c_sequence, '' AS ext_id, 1 AS version, 1 AS published,
      document, ${columnNames}
    FROM found LEFT JOIN record ON record.sequence = found.sequence;
  CREATE TABLE state (first INTEGER NOT NULL, unpacked INTEGER NOT NULL, last INTEGER NOT NULL, size INTEGER NOT NULL,
    dropped INTEGER NOT NULL, missed INTEGER NOT NULL);
  INSERT INTO state VALUES (1, 0, 0, 0, 0, 0);`

/** A journal with other columns or another packing is replaced by an empty one. */
export const journalForm = hash('sha256', journalTables + packing, 'buffer').readInt32LE(0)

export const insertFound = `INSERT INTO found (sequence, ${columnNames}) VALUES (?${', ?'.repeat(callColumns.length)})`
export const insertRecord = 'INSERT INTO record VALUES (?, ?, ?)'
export const updateState = 'UPDATE state SET first = ?, unpacked = ?, last = ?, size = ?, dropped = ?, missed = ?'
