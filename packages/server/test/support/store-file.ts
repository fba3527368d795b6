/** Reads the store file of an app beside the running service. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'

interface Opened {
  readonly database: DatabaseSync
  readonly statements: Map<string, StatementSync>
  readonly inode: number
}

/** By folder. Opening takes longer than most questions, because SQLite reads the schema of all tables. */
const opened = new Map<string, Opened>()

export function storeFile(folder: string): {
  readonly database: DatabaseSync
  all(sql: string): Record<string, any>[]
} {
  const { database, statements } = openedFile(folder)
  return {
    database,
    all(sql) {
      let statement = statements.get(sql)
      if (statement === undefined) statements.set(sql, (statement = database.prepare(sql)))
      return statement.all()
    },
  }
}

/** To be called before the app closes its own connections, of which the last one removes the log of the store. */
export function closeStoreFile(folder: string): void {
  opened.get(folder)?.database.close()
  opened.delete(folder)
}

function openedFile(folder: string): Opened {
  const file = join(folder, 'world.sqlite')
  const { ino: inode } = statSync(file)
  const known = opened.get(folder)
  if (known?.inode === inode) return known
  // A reset or a restore has replaced the file.
  closeStoreFile(folder)
  const fresh = { database: new DatabaseSync(file, { readOnly: true }), statements: new Map(), inode }
  opened.set(folder, fresh)
  return fresh
}
