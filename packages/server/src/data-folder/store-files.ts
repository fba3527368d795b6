/**
 * A second store file takes the place of the first, by one rename: whole or not at all, whenever the process dies. Both are
 * closed. Source: behaviour platform.md 9 (switch); decision a-restore-renames-a-file.
 */
import { existsSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Disk } from './disk.ts'

export interface StoreFiles {
  readonly first: string
  readonly second: string
  /** The first, until the second has been seen to open. */
  readonly kept: string
}

export const storeFiles = (folder: string): StoreFiles => ({
  first: join(folder, 'world.sqlite'),
  second: join(folder, 'restoring.sqlite'),
  kept: join(folder, 'replaced.sqlite'),
})

/** SQLite takes an empty file for a new database, so that is no store either. */
export const hasStore = (file: string): boolean => (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0

/** A store file, with what SQLite keeps beside it. */
export function removeStore(file: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${file}${suffix}`, { force: true })
}

/**
 * The second is on the disk already.
 * @throws Error, and everything is as before, when a file is still in use, or the first cannot be kept
 */
export async function swapStoreFiles({ first, second, kept }: StoreFiles, disk: Disk): Promise<void> {
  for (const file of [first, second]) requireClosed(file)
  if (existsSync(first)) {
    await disk.copy(first, kept)
    await disk.flush(kept)
    await disk.flushFolder(dirname(kept))
  }
  renameSync(second, first)
  await disk.flushFolder(dirname(first))
}

/** The first store is what it was before. */
export async function restorePrevious({ first, kept }: StoreFiles, disk: Disk): Promise<void> {
  // What the second wrote beside itself; its file gives way in one step.
  for (const suffix of ['-wal', '-shm']) rmSync(`${first}${suffix}`, { force: true })
  renameSync(kept, first)
  await disk.flushFolder(dirname(first))
}

/** A log that is left beside a file would be read into the one that gets its name. */
function requireClosed(file: string): void {
  const log = `${file}-wal`
  if (existsSync(log) && statSync(log).size > 0) throw new Error(`${file} is still in use`)
}
