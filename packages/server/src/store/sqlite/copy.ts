import { constants } from 'node:fs'
import { copyFile, rm } from 'node:fs/promises'
import type { DatabaseSync } from 'node:sqlite'

import { makePrivateDatabase } from '../private-files.ts'

/** Through the only writing connection, without writes meanwhile. `target` must not exist. @param beside runs at the copied moment */
export async function copyDatabase(database: DatabaseSync, target: string, beside?: () => void): Promise<void> {
  // After a full checkpoint the main file is complete, because there is no other writer.
  const moved = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number }
  const file = database.location()
  beside?.()
  try {
    if (moved.busy === 0 && file !== null)
      await copyFile(file, target, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
    // A long read (a backup) keeps frames in the log: SQLite copies the pages.
    else {
      makePrivateDatabase(target)
      database.prepare('VACUUM INTO ?').run(target)
    }
  } catch (error) {
    await rm(target, { force: true })
    throw error
  }
}
