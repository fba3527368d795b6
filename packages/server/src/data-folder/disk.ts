/** A power failure may lose unflushed data: a file needs `flush`, a new name `flushFolder`. */
import { constants } from 'node:fs'
import { copyFile, open } from 'node:fs/promises'

export interface Disk {
  /** Clones if the file system can. Nobody may write to `from`. */
  copy(from: string, to: string): Promise<void>
  flush(file: string): Promise<void>
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

const unflushedDisk: Disk = { copy, flush: async () => undefined, flushFolder: async () => undefined }

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
