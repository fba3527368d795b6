/**
 * Speeds up tests whose worlds have the same seed, which fills them equally. The first world of a process is seeded; the others
 * start from a copy of its baseline, as after a reset.
 */
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { baselineOf } from '../../src/worlds/files.ts'
import { fillingMark } from '../../src/worlds/seeding-mark.ts'

/** Folders with a baseline each, by the seed of their world. */
const baselines = new Map<string, string>()
let parent: string | undefined

/** Does nothing if there is no baseline for `like`: the seed fills the world then. */
export function begin(like: string, folder: string): void {
  const from = baselines.get(like)
  if (from === undefined) return
  copyBaseline(from, folder)
  // As after an interrupted reset: the mark says that the missing store is about to be created.
  writeFileSync(fillingMark(folder), '')
}

export function keepBeginning(like: string, folder: string): void {
  if (baselines.has(like) || !existsSync(baselineOf(folder).store)) return
  parent ??= temporary()
  const to = join(parent, String(baselines.size))
  mkdirSync(to)
  copyBaseline(folder, to)
  baselines.set(like, to)
}

/** Copies the baseline and the keys that seal its secrets; files are not shared, because a test may damage its own. */
function copyBaseline(from: string, to: string): void {
  const { store, files } = baselineOf(from)
  for (const file of [store, join(from, 'master.key'), join(from, 'backup.key')])
    copyFileSync(file, join(to, basename(file)))
  // File times are times of the world.
  if (existsSync(files)) cpSync(files, baselineOf(to).files, { recursive: true, preserveTimestamps: true })
}

function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-beginnings-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}
