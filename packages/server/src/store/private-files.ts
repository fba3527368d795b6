/** Makes files private to their owner, whatever umask or earlier modes allow. */
import { chmodSync, closeSync, lstatSync, openSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Permissions of group and others: all, and write. */
const all = 0o077
const writing = 0o022

/** Removes permissions of group and others. Does nothing if the file is missing or belongs to another user. */
export function makePrivate(path: string, removed = all): void {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (stats === undefined || stats.isSymbolicLink() || (stats.mode & removed) === 0) return
  try {
    chmodSync(path, stats.mode & 0o777 & ~removed)
  } catch {
    // The file belongs to another user, who chose its mode.
  }
}

/**
 * Creates the file of a database before SQLite opens it: SQLite gives its companion files the mode of the file. An
 * existing file is not opened here, since closing it would drop the locks of other connections of this process.
 */
export function makePrivateDatabase(file: string): void {
  try {
    closeSync(openSync(file, 'ax', 0o600))
  } catch {
    // The file exists, or SQLite will report why it cannot be created.
  }
  for (const suffix of ['', '-wal', '-shm', '-journal']) makePrivate(`${file}${suffix}`)
}

function makeTreePrivate(folder: string): void {
  makePrivate(folder)
  for (const entry of entriesOf(folder)) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) makeTreePrivate(path)
    else makePrivate(path)
  }
}

/** Files that the service writes into a world's folder. Other files there, and the folder itself, keep their modes. */
const ownFile =
  /^(?:lock|(?:master|backup)\.key|(?:world|worlds|seed|control|restoring|replaced|trial)\.sqlite|seed\.yaml|client-auth)/

export function makeFilesPrivate(folder: string): void {
  for (const entry of entriesOf(folder))
    if (entry.isFile() && ownFile.test(entry.name)) makePrivate(join(folder, entry.name))
}

/** Makes the service's own folders in the folder of a world private, with their content; certificates stay readable. */
export function makeFoldersPrivate(folder: string): void {
  for (const name of ['world', 'seed-files', 'journal']) makeTreePrivate(join(folder, name))
  makePrivate(join(folder, 'tls'))
  for (const entry of entriesOf(join(folder, 'tls')))
    makePrivate(join(folder, 'tls', entry.name), entry.name.includes('key') ? all : writing)
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}
