/** A store file copied while it is in use, by the one connection that writes to it. */
import { constants, copyFileSync, rmSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'

/** `target` must not exist. Costs no more than reading and writing the bytes, and nothing at all where files can be cloned. */
export function copyDatabase(database: DatabaseSync, target: string): void {
  // With everything in the main file, that file is all there is: nobody else writes.
  const moved = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number }
  const file = database.location()
  try {
    if (moved.busy === 0 && file !== null)
      copyFileSync(file, target, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
    // Somebody reads an older state for long (a backup): what they hold on to stays in the log.
    else database.prepare('VACUUM INTO ?').run(target)
  } catch (error) {
    rmSync(target, { force: true })
    throw error
  }
}
