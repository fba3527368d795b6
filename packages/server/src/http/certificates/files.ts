/** Keys and certificates in the folder `tls` of the data folder. */
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { reasonOf, StartRefusal } from '../../core/start-refusal.ts'

/** @throws the fault of the file system */
export function readKey(path: string): string {
  // Copied folders lose modes. A file system that has none cannot be helped.
  if ((statSync(path).mode & 0o077) !== 0) {
    try {
      chmodSync(path, 0o600)
    } catch {}
  }
  return readFileSync(path, 'utf8')
}

/**
 * Whole files: a crash leaves what was there or what is wanted. The key is written first: a crash between the two leaves a
 * pair that does not match, which is replaced when it is next looked at.
 */
export function writePair(certPath: string, cert: string, keyPath: string, key: string): void {
  write(keyPath, key, 0o600)
  write(certPath, cert, 0o644)
}

/** @throws StartRefusal when it cannot be written */
export function write(path: string, content: string, mode: 0o600 | 0o644): void {
  const unfinished = `${path}.new`
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    rmSync(unfinished, { force: true })
    writeFileSync(unfinished, content, { mode, flush: true })
    renameSync(unfinished, path)
  } catch (error) {
    throw new StartRefusal(
      `${path} cannot be written (${reasonOf(error)}): correct the permissions of the folder ${dirname(path)}.`,
      { cause: error },
    )
  }
}
