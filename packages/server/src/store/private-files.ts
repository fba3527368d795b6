/** Files that are their owner's alone, whatever the process's umask is and whatever modes an earlier process left. */
import { chmodSync, closeSync, lstatSync, openSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Rights of the group and of others: all, and those of writing. */
const all = 0o077
const writing = 0o022

/** Takes the rights of all but the owner, or some of them. Nothing happens where the file is missing, or is somebody else's to change. */
export function makePrivate(path: string, removed = all): void {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (stats === undefined || stats.isSymbolicLink() || (stats.mode & removed) === 0) return
  try {
    chmodSync(path, stats.mode & 0o777 & ~removed)
  } catch {
    // The owner of the file chose its mode; what this process writes there follows it.
  }
}

/**
 * The file of a database, before SQLite opens it: what SQLite keeps beside a file gets the mode of the file. An existing one is
 * not opened here, since closing it would drop the locks of other connections of this process.
 */
export function makePrivateDatabase(file: string): void {
  try {
    closeSync(openSync(file, 'ax', 0o600))
  } catch {
    // It is there already; or SQLite will say why it cannot be made.
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

/** Names of the files that the service writes into a world's folder. Other files there, and the folder, keep their modes. */
const ownFile =
  /^(?:lock|(?:master|backup)\.key|(?:world|worlds|seed|control|restoring|replaced|trial)\.sqlite|seed\.yaml|client-auth)/

export function makeFilesPrivate(folder: string): void {
  for (const entry of entriesOf(folder))
    if (entry.isFile() && ownFile.test(entry.name)) makePrivate(join(folder, entry.name))
}

/** Folders that the service makes in the folder of a world, with all that they hold; certificates may be read by everybody. */
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
