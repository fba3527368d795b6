/** Simulates a full disk for the stores of an app: SQLite refuses to grow a file. */
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'

export interface FullDisk {
  fill(): void
  free(): void
  /** Fails this number of commits; then there is room again. */
  refuse(commits: number): void
}

/** @param isMeant selects files by path: stores, and the files that SQLite keeps beside them */
export function fullDisk(t: TestContext, isMeant: (file: string) => boolean): FullDisk {
  let isFull = false
  let refusals = 0
  const { exec } = DatabaseSync.prototype
  t.mock.method(DatabaseSync.prototype, 'exec', function (this: DatabaseSync, text: string) {
    if (text === 'BEGIN IMMEDIATE' && isMeant(this.location() ?? '')) bound(this)
    if (text === 'COMMIT' && refusals > 0 && isMeant(this.location() ?? '')) {
      refusals--
      exec.call(this, 'ROLLBACK')
      throw Object.assign(new Error('database or disk is full'), { code: 'ERR_SQLITE_ERROR', errcode: 13 })
    }
    return exec.call(this, text)
  })
  function bound(database: DatabaseSync): void {
    const { pages } = database.prepare('SELECT page_count AS pages FROM pragma_page_count').get() as { pages: number }
    exec.call(database, `PRAGMA max_page_count = ${isFull ? pages : 1_073_741_823}`)
  }
  return {
    fill: () => void (isFull = true),
    refuse: (commits) => void (refusals = commits),
    free: () => void (isFull = false),
  }
}
