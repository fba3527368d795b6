/**
 * Worlds of tests that begin alike: what a preset draws is the same each time. The first one of a process is filled by its seed;
 * with what the service keeps of that to begin again, the others begin as after a reset.
 */
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { baselineOf } from '../../src/worlds/files.ts'
import { fillingMark } from '../../src/worlds/seeding-mark.ts'

/** Folders with a beginning each, by what it follows from. */
const kept = new Map<string, string>()
let parent: string | undefined

/** Where nothing was kept, nothing happens, and the seed fills the world. */
export function begin(like: string, folder: string): void {
  const from = kept.get(like)
  if (from === undefined) return
  copyBeginning(from, folder)
  // As a reset leaves it that was cut short: a store is missing because it is about to be made.
  writeFileSync(fillingMark(folder), '')
}

export function keepBeginning(like: string, folder: string): void {
  if (kept.has(like) || !existsSync(baselineOf(folder).store)) return
  parent ??= temporary()
  const to = join(parent, String(kept.size))
  mkdirSync(to)
  copyBeginning(folder, to)
  kept.set(like, to)
}

/** With the keys that its secrets are sealed with. Copied: a test may damage its own. */
function copyBeginning(from: string, to: string): void {
  const { store, files } = baselineOf(from)
  for (const file of [store, join(from, 'master.key'), join(from, 'backup.key')])
    copyFileSync(file, join(to, basename(file)))
  // The times of the files are those of the world.
  if (existsSync(files)) cpSync(files, baselineOf(to).files, { recursive: true, preserveTimestamps: true })
}

function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-beginnings-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}
