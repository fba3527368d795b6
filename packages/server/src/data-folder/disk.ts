/**
 * Durable copies of files. The system keeps a new copy in memory first, and a power failure may lose any part of it: a file counts
 * as written after `flush`, and a new name after `flushFolder`.
 */
import { constants } from 'node:fs'
import { copyFile, open } from 'node:fs/promises'

export interface Disk {
  /** Nobody may write to `from` meanwhile. Clones the file where the file system can; otherwise copies it in another thread. */
  copy(from: string, to: string): Promise<void>
  /** Resolves when the content of the file survives a power failure. */
  flush(file: string): Promise<void>
  /** Resolves when the names in the folder survive a power failure. */
  flushFolder(folder: string): Promise<void>
}

const copy = (from: string, to: string): Promise<void> => copyFile(from, to, constants.COPYFILE_FICLONE)

const realDisk: Disk = {
  copy,
  // Windows flushes only handles with write access.
  flush: (file) => sync(file, 'r+'),
  // Windows cannot open folders, and does not need this.
  flushFolder: async (folder) => (process.platform === 'win32' ? undefined : sync(folder, 'r')),
}

/** Does not flush, for tests. */
const unflushedDisk: Disk = { copy, flush: async () => undefined, flushFolder: async () => undefined }

/** @param durable false: nothing has to survive a power failure */
export const diskOf = ({ disk, durable }: { readonly disk?: Disk; readonly durable?: boolean }): Disk =>
  disk ?? (durable === false ? unflushedDisk : realDisk)

async function sync(path: string, flags: string): Promise<void> {
  const handle = await open(path, flags)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
