/** A store file copied while it is in use, by the one connection that writes to it. */
import { constants } from 'node:fs'
import { copyFile, rm } from 'node:fs/promises'
import type { DatabaseSync } from 'node:sqlite'

import { makePrivateDatabase } from '../private-files.ts'

/**
 * `target` must not exist. Costs no more than reading and writing the bytes, apart from this thread, and nothing at all where
 * files can be cloned. Nobody may write through the connection until it has ended.
 * @param beside is done in the moment that is copied
 */
export async function copyDatabase(database: DatabaseSync, target: string, beside?: () => void): Promise<void> {
  // With everything in the main file, that file is all there is: nobody else writes.
  const moved = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number }
  const file = database.location()
  beside?.()
  try {
    if (moved.busy === 0 && file !== null)
      await copyFile(file, target, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
    // Somebody reads an older state for long (a backup): what they hold on to stays in the log.
    else {
      makePrivateDatabase(target)
      database.prepare('VACUUM INTO ?').run(target)
    }
  } catch (error) {
    await rm(target, { force: true })
    throw error
  }
}
