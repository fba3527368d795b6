/**
 * How what is copied comes to rest on the disk. A copy is in the memory of the system first, where a power failure takes it, and
 * may take half of it: nothing counts on one that was not flushed, and neither does a name before its folder was.
 */
import { constants } from 'node:fs'
import { copyFile, open } from 'node:fs/promises'

export interface Disk {
  /** Of a file that nobody writes to meanwhile. Costs nothing where files can be cloned, else time, but not of this thread. */
  copy(from: string, to: string): Promise<void>
  /** Resolves when a power failure would no longer take what is in this file. */
  flush(file: string): Promise<void>
  /** The same of the names in this folder. */
  flushFolder(folder: string): Promise<void>
}

const copy = (from: string, to: string): Promise<void> => copyFile(from, to, constants.COPYFILE_FICLONE)

const realDisk: Disk = {
  copy,
  // Windows flushes only what may be written to.
  flush: (file) => sync(file, 'r+'),
  // It neither needs this nor opens folders.
  flushFolder: async (folder) => (process.platform === 'win32' ? undefined : sync(folder, 'r')),
}

/** Waits for no disk. */
const hastyDisk: Disk = { copy, flush: async () => undefined, flushFolder: async () => undefined }

/** @param durable false: a power failure may take everything, so nothing is flushed */
export const diskOf = ({ disk, durable }: { readonly disk?: Disk; readonly durable?: boolean }): Disk =>
  disk ?? (durable === false ? hastyDisk : realDisk)

async function sync(path: string, flags: string): Promise<void> {
  const handle = await open(path, flags)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
