/** As SQL text and parameters, so that any thread can read the page. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'

export interface Statement {
  readonly text: string
  readonly parameters: readonly SQLInputValue[]
}

export interface PageQuery {
  readonly select: Statement
  readonly count?: Statement
  readonly offset: number
  readonly limit: number
}

export interface DocumentRow {
  readonly extId: string
  readonly document: string
}

export interface FoundPage {
  readonly rows: readonly DocumentRow[]
  readonly total: number
}

/** One read transaction, so that both see one snapshot. */
export function readPage(
  database: Pick<DatabaseSync, 'exec' | 'isTransaction'>,
  prepare: (text: string) => StatementSync,
  { select, count, offset, limit }: PageQuery,
): FoundPage {
  const inTransaction = database.isTransaction
  if (!inTransaction) database.exec('BEGIN')
  try {
    const total =
      count === undefined
        ? Number.POSITIVE_INFINITY
        : (prepare(count.text).get(...count.parameters) as { total: number }).total
    const rows =
      limit === 0 || offset >= total ? [] : (prepare(select.text).all(...select.parameters) as unknown as DocumentRow[])
    return { rows, total: Math.min(total, Number.MAX_SAFE_INTEGER) }
  } finally {
    if (!inTransaction) database.exec('COMMIT')
  }
}
