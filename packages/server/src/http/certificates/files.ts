import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { reasonOf, StartRefusal } from '../../core/start-refusal.ts'

export function readKey(path: string): string {
  // A copied folder may have lost the mode. Some file systems have no modes, so failure is accepted.
  if ((statSync(path).mode & 0o077) !== 0) {
    try {
      chmodSync(path, 0o600)
    } catch {}
  }
  return readFileSync(path, 'utf8')
}

/** Renames complete files. A crash between key and certificate leaves a mismatch, which the next start replaces. */
export function writePair(certPath: string, cert: string, keyPath: string, key: string): void {
  write(keyPath, key, 0o600)
  write(certPath, cert, 0o644)
}

/** @throws StartRefusal */
export function write(path: string, content: string, mode: 0o600 | 0o644): void {
  const temporary = `${path}.new`
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    rmSync(temporary, { force: true })
    writeFileSync(temporary, content, { mode, flush: true })
    renameSync(temporary, path)
  } catch (error) {
    throw new StartRefusal(
      `${path} cannot be written (${reasonOf(error)}): correct the permissions of the folder ${dirname(path)}.`,
      { cause: error },
    )
  }
}
