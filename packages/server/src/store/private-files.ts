import { chmodSync, closeSync, lstatSync, openSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

const all = 0o077
const writing = 0o022

export function makePrivate(path: string, removed = all): void {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (stats === undefined || stats.isSymbolicLink() || (stats.mode & removed) === 0) return
  try {
    chmodSync(path, stats.mode & 0o777 & ~removed)
  } catch {
    // Another user chose its mode.
  }
}

/** Before SQLite, which copies the mode to companion files. Existing files stay closed: closing one drops locks of other connections. */
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

/** Other files in a world's folder, and the folder itself, keep their modes. */
const ownFile =
  /^(?:lock|(?:master|backup)\.key|(?:world|worlds|seed|control|restoring|replaced|trial)\.sqlite|seed\.yaml|client-auth)/

export function makeFilesPrivate(folder: string): void {
  for (const entry of entriesOf(folder))
    if (entry.isFile() && ownFile.test(entry.name)) makePrivate(join(folder, entry.name))
}

/** Certificates stay readable. */
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
