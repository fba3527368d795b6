import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { reasonOf, StartRefusal } from '../core/start-refusal.ts'
import { makeFilesPrivate, makePrivate, makePrivateDatabase } from '../store/private-files.ts'

export interface DataFolder {
  readonly path: string
  close(): void
}

export class FolderInUse extends StartRefusal {}

const keyBytes = 32
const sqliteBusy = 5

/**
 * An open transaction on the database `lock`, which the system ends even after a crash. Do not open `lock` elsewhere in this process: on
 * POSIX closing any handle releases all locks of a file. @param lockWaitMillis a killed process releases the lock a moment later
 * @throws StartRefusal when the folder cannot be written, FolderInUse when another instance uses it
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
    writeFileSync(probe, '', { mode: 0o600 })
    rmSync(probe, { force: true })
  } catch (error) {
    throw cannotWrite(error)
  }

  let lock: DatabaseSync | undefined
  try {
    makePrivateDatabase(join(path, 'lock'))
    lock = new DatabaseSync(join(path, 'lock'), { timeout: lockWaitMillis })
    // Nothing is written to this database, so it needs no journal.
    lock.exec('PRAGMA journal_mode = OFF')
    lock.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    lock?.close()
    if (error instanceof Error && 'errcode' in error && error.errcode === sqliteBusy) {
      throw new FolderInUse(
        `The data folder ${path} is in use by another instance: stop that one, or choose another folder with --data. Instances that are all started with --standby share one.`,
      )
    }
    throw cannotWrite(error)
  }
  // Files of earlier versions, copies and restored files may have other permissions.
  makeFilesPrivate(path)
  makePrivate(join(path, 'worlds'))
  makePrivate(join(path, 'cache'))
  return { path, close: () => lock.close() }
}

export interface MasterKey {
  readonly key: Buffer
  readonly path: string
}

export interface BackupKey {
  readonly key: Buffer
  readonly path?: string
  /** A new key is shown to the operator. */
  readonly isNew: boolean
}

export const masterKeyPath = ({ path }: Pick<DataFolder, 'path'>, file: string | undefined): string =>
  file ?? join(path, 'master.key')

const sealedByMasterKey = ['world.sqlite', 'seed.sqlite', 'control.sqlite', 'worlds.sqlite', 'worlds']

const needsItsMasterKey = (path: string): boolean =>
  sealedByMasterKey.some((name) => {
    const found = statSync(join(path, name), { throwIfNoEntry: false })
    return found?.isDirectory() === true ? readdirSync(join(path, name)).length > 0 : (found?.size ?? 0) > 0
  })

/** Generated only in a folder without stores. @throws StartRefusal when the key is missing, unreadable, or not 32 bytes in base64 */
export function readMasterKey(folder: DataFolder, file: string | undefined, mayGenerate: boolean): MasterKey {
  const mayGenerateHere = mayGenerate && !needsItsMasterKey(folder.path)
  const keyFile = {
    what: 'master key',
    option: '--master-key-file',
    folder,
    file,
    mayGenerate: mayGenerateHere,
  } as const
  const { key, path } = readKey(keyFile)
  return { key, path }
}

/** Generated if none is given; backups cannot be opened without it. @throws StartRefusal when a named file or its key is unusable */
export function readBackupKey(
  folder: Pick<DataFolder, 'path'>,
  given: { file?: string | undefined; text?: string | undefined },
): BackupKey {
  if (given.text !== undefined) {
    const key = keyIn(given.text)
    if (key !== undefined) return { key, isNew: false }
    throw new StartRefusal(
      `The backup key in HYPERPLANE_BACKUP_KEY is not ${keyBytes} bytes in base64: correct it, or name its file with --backup-key-file.`,
    )
  }
  return readKey({ what: 'backup key', option: '--backup-key-file', folder, file: given.file, mayGenerate: true })
}

interface KeyFile {
  readonly what: 'master key' | 'backup key'
  readonly option: string
  readonly folder: Pick<DataFolder, 'path'>
  readonly file: string | undefined
  readonly mayGenerate: boolean
}

function readKey({ what, option, folder, file, mayGenerate }: KeyFile): { key: Buffer; path: string; isNew: boolean } {
  const path = file ?? join(folder.path, `${what.replace(' ', '.')}`)
  let text: string
  try {
    text = readFileSync(path, 'utf8').trim()
  } catch (error) {
    const missing = reasonOf(error) === 'ENOENT'
    if (missing && file === undefined && mayGenerate) return { key: generateKey(what, path), path, isNew: true }
    throw new StartRefusal(
      missing
        ? `The ${what} ${path} is missing: put it back, or name the file that holds it with ${option}.`
        : `The ${what} ${path} cannot be read (${reasonOf(error)}): make it readable to this user.`,
      { cause: error },
    )
  }
  const key = keyIn(text)
  if (key === undefined) {
    throw new StartRefusal(
      `The ${what} ${path} is not ${keyBytes} bytes in base64: put the right one back, or name its file with ${option}.`,
    )
  }
  return { key, path, isNew: false }
}

function keyIn(text: string): Buffer | undefined {
  const key = Buffer.from(text, 'base64')
  // `Buffer.from` skips invalid characters: encode again to detect them.
  return key.length === keyBytes && key.toString('base64') === text ? key : undefined
}

export function wrongMasterKey(folder: DataFolder, masterKey: MasterKey): StartRefusal {
  return new StartRefusal(
    `The master key ${masterKey.path} is not the one that the data folder ${folder.path} was made with: put that one back, or name its file with --master-key-file.`,
  )
}

function generateKey(what: KeyFile['what'], path: string): Buffer {
  const key = randomBytes(keyBytes)
  // Write to a temporary name, then rename, durably: the first secret depends on the complete key.
  const unfinished = `${path}.new`
  try {
    rmSync(unfinished, { force: true })
    writeFileSync(unfinished, `${key.toString('base64')}\n`, { mode: 0o600, flush: true })
    renameSync(unfinished, path)
    syncFolderOf(path)
  } catch (error) {
    throw new StartRefusal(
      `The ${what} ${path} cannot be written (${reasonOf(error)}): free disk space, or correct the folder's permissions.`,
      { cause: error },
    )
  }
  return key
}

/** Makes a rename durable. Windows cannot open folders, and does not need this. */
export function syncFolderOf(path: string): void {
  if (process.platform === 'win32') return
  const handle = openSync(join(path, '..'), 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
