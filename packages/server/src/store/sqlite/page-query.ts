/** SQL text and parameters, so that any thread can read the page. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'

export interface Statement {
  readonly text: string
  readonly parameters: readonly SQLInputValue[]
}

export interface PageQuery {
  /** The statements read no other kind, so that a cached page is valid until a commit changes this one. */
  readonly kind: string
  readonly select: Statement
  readonly count?: Statement
  readonly offset: number
  readonly limit: number
}

export interface FoundPage {
  readonly documents: readonly string[]
  readonly total: number
}

/** With `count`, one read transaction, so that both see one snapshot. */
export function readPage(
  database: Pick<DatabaseSync, 'exec' | 'isTransaction'>,
  prepare: (text: string) => StatementSync,
  { select, count, offset, limit }: PageQuery,
): FoundPage {
  const isSnapshot = count !== undefined && !database.isTransaction
  if (isSnapshot) database.exec('BEGIN')
  try {
    const total =
      count === undefined
        ? Number.POSITIVE_INFINITY
        : (prepare(count.text).get(...count.parameters) as { total: number }).total
    const rows =
      limit === 0 || offset >= total ? [] : (prepare(select.text).all(...select.parameters) as { document: string }[])
    return { documents: rows.map(({ document }) => document), total: Math.min(total, Number.MAX_SAFE_INTEGER) }
  } finally {
    if (isSnapshot) database.exec('COMMIT')
  }
}
