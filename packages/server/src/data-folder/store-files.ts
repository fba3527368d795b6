/** One rename swaps stores: a crash leaves either. Source: platform.md 9; decision a-restore-renames-a-file. */
import { existsSync, renameSync, rmSync, statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { loadingMark } from '../store/loading-mark.ts'
import type { Disk } from './disk.ts'

export interface StoreFiles {
  readonly first: string
  readonly second: string
  /** Copy of the first store, until the second one was opened successfully. */
  readonly kept: string
}

export const storeFiles = (folder: string): StoreFiles => ({
  first: join(folder, 'world.sqlite'),
  second: join(folder, 'restoring.sqlite'),
  kept: join(folder, 'replaced.sqlite'),
})

/** SQLite takes an empty file for a new database. A store that was being loaded when the process or the machine stopped counts for none. */
export const hasStore = (file: string): boolean =>
  (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0 && !existsSync(loadingMark(file))

const filesOf = (file: string): readonly string[] => [
  ...['', '-wal', '-shm', '-journal'].map((suffix) => file + suffix),
  // Last: without it, what is left of the others would count for a store.
  loadingMark(file),
]

export function removeStore(file: string): void {
  for (const each of filesOf(file)) rmSync(each, { force: true })
}

/** Removing a large file takes tens of milliseconds, which requests do not wait for. */
export async function removeStoreOffThread(file: string): Promise<void> {
  for (const each of filesOf(file)) if (existsSync(each)) await rm(each, { force: true })
}

/** The second store must be durable. @throws Error, and nothing changed, when a file is in use or cannot be copied */
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

export async function restorePrevious({ first, kept }: StoreFiles, disk: Disk): Promise<void> {
  // SQLite wrote these for the second store, and would replay them into the first.
  for (const suffix of ['-wal', '-shm']) rmSync(`${first}${suffix}`, { force: true })
  renameSync(kept, first)
  await disk.flushFolder(dirname(first))
}

/** SQLite would replay a remaining log into the file that gets its name. */
function requireClosed(file: string): void {
  const log = `${file}-wal`
  if (existsSync(log) && statSync(log).size > 0) throw new Error(`${file} is still in use`)
}
