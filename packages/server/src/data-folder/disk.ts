/** A power failure may lose unflushed data: a file needs `flush`, a new name `flushFolder`. */
import { constants } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { flushFile, flushFolder } from '../store/flush.ts'

export interface Disk {
  /** Clones if the file system can. Nobody may write to `from`. */
  copy(from: string, to: string): Promise<void>
  flush(file: string): Promise<void>
  flushFolder(folder: string): Promise<void>
}

const copy = (from: string, to: string): Promise<void> => copyFile(from, to, constants.COPYFILE_FICLONE)

const realDisk: Disk = { copy, flush: flushFile, flushFolder }

const unflushedDisk: Disk = { copy, flush: async () => undefined, flushFolder: async () => undefined }

export const diskOf = ({ disk, durable }: { readonly disk?: Disk; readonly durable?: boolean }): Disk =>
  disk ?? (durable === false ? unflushedDisk : realDisk)
