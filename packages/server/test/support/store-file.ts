/** Reads the tables of an app's store, on the store's own connection: another one would read the schema of all tables anew. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { TestApp } from './start-app.ts'

type Opened = Pick<TestApp, 'store'>

const prepared = new WeakMap<DatabaseSync, Map<string, StatementSync>>()

export const databaseOf = ({ store }: Opened): DatabaseSync =>
  (store as unknown as { readonly database: DatabaseSync }).database

export function rowsOf(app: Opened, sql: string): Record<string, any>[] {
  const database = databaseOf(app)
  const statements = prepared.get(database) ?? new Map<string, StatementSync>()
  prepared.set(database, statements)
  const statement = statements.get(sql) ?? database.prepare(sql)
  statements.set(sql, statement)
  return statement.all()
}
