/** A page as text and parameters: it can be read on this thread or on another one. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'

export interface Statement {
  readonly text: string
  readonly parameters: readonly SQLInputValue[]
}

export interface PageQuery {
  /** Answers `document`, from `offset` on, at most `limit` of them. */
  readonly select: Statement
  /** Answers `total`. Absent: nobody asks how many there are. */
  readonly count?: Statement
  readonly offset: number
  readonly limit: number
}

export interface FoundPage {
  readonly documents: readonly string[]
  /** All that match, in the same snapshot. */
  readonly total: number
}

/** Both statements in one read transaction: one snapshot. */
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
      limit === 0 || offset >= total ? [] : (prepare(select.text).all(...select.parameters) as { document: string }[])
    return { documents: rows.map(({ document }) => document), total: Math.min(total, Number.MAX_SAFE_INTEGER) }
  } finally {
    if (!inTransaction) database.exec('COMMIT')
  }
}
