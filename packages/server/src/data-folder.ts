import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { reasonOf, StartRefusal } from './start-refusal.ts'

/** A data folder that this process alone may use until `close`. */
export interface DataFolder {
  readonly path: string
  close(): void
}

const masterKeyBytes = 32
const sqliteBusy = 5

/**
 * Makes the folder if need be (readable by its owner only) and takes its lock.
 *
 * The lock is an open transaction on the empty database `lock`: the system drops it with the process however that ends, so there
 * is no process id to judge (ids are reused, and equal in containers). Do not open `lock` by other means in this process: on
 * POSIX, closing any handle of a file gives up the locks that the process holds on it.
 *
 * @param lockWaitMillis how long to wait for another instance's end: a killed process lets go a moment after the kill
 * @throws StartRefusal when the folder cannot be written, or another instance uses it
 */
export function openDataFolder(path: string, lockWaitMillis = 2_000): DataFolder {
  const cannotWrite = (error: unknown) =>
    new StartRefusal(
      `The data folder ${path} cannot be written (${reasonOf(error)}): correct its permissions, or choose another with --data.`,
      { cause: error },
    )
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    const probe = join(path, '.probe')
    writeFileSync(probe, '')
    rmSync(probe, { force: true })
  } catch (error) {
    throw cannotWrite(error)
  }

  let lock: DatabaseSync | undefined
  try {
    lock = new DatabaseSync(join(path, 'lock'), { timeout: lockWaitMillis })
    // Nothing is ever written to it, so there is nothing to roll back.
    lock.exec('PRAGMA journal_mode = OFF')
    lock.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    lock?.close()
    if (error instanceof Error && 'errcode' in error && error.errcode === sqliteBusy) {
      throw new StartRefusal(
        `The data folder ${path} is in use by another instance: stop that one, or choose another folder with --data.`,
      )
    }
    throw cannotWrite(error)
  }
  return { path, close: () => lock.close() }
}

export interface MasterKey {
  readonly key: Buffer
  readonly path: string
}

/**
 * The key that protects the stored secrets: from `file`, else `master.key` in the folder. That one is made if it is missing and
 * `mayMake` holds: not where a store exists already, whose secrets a new key could never open.
 * @throws StartRefusal when the key is missing, unreadable, or not 32 bytes in base64
 */
export function readMasterKey(folder: DataFolder, file: string | undefined, mayMake: boolean): MasterKey {
  const path = file ?? join(folder.path, 'master.key')
  let text: string
  try {
    text = readFileSync(path, 'utf8').trim()
  } catch (error) {
    const missing = reasonOf(error) === 'ENOENT'
    if (missing && file === undefined && mayMake) return makeMasterKey(path)
    throw new StartRefusal(
      missing
        ? `The master key ${path} is missing: put it back, or name the file that holds it with --master-key-file.`
        : `The master key ${path} cannot be read (${reasonOf(error)}): make it readable to this user.`,
      { cause: error },
    )
  }
  const key = Buffer.from(text, 'base64')
  // Buffer.from skips what is not base64; the way back shows whether it did.
  if (key.length !== masterKeyBytes || key.toString('base64') !== text) {
    throw new StartRefusal(
      `The master key ${path} is not ${masterKeyBytes} bytes in base64: put the right one back, or name its file with --master-key-file.`,
    )
  }
  return { key, path }
}

/** For a master key that is well formed but not the one the store was made with. */
export function wrongMasterKey(folder: DataFolder, masterKey: MasterKey): StartRefusal {
  return new StartRefusal(
    `The master key ${masterKey.path} is not the one that the data folder ${folder.path} was made with: put that one back, or name its file with --master-key-file.`,
  )
}

function makeMasterKey(path: string): MasterKey {
  const key = randomBytes(masterKeyBytes)
  // Whole or not at all, and on the disk before the first secret depends on it.
  const unfinished = `${path}.new`
  try {
    rmSync(unfinished, { force: true })
    writeFileSync(unfinished, `${key.toString('base64')}\n`, { mode: 0o600, flush: true })
    renameSync(unfinished, path)
    syncFolderOf(path)
  } catch (error) {
    throw new StartRefusal(
      `The master key ${path} cannot be written (${reasonOf(error)}): free disk space, or correct the folder's permissions.`,
      { cause: error },
    )
  }
  return { key, path }
}

/** Makes a rename survive a power failure. Windows neither needs it nor opens folders. */
function syncFolderOf(path: string): void {
  if (process.platform === 'win32') return
  const handle = openSync(join(path, '..'), 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
