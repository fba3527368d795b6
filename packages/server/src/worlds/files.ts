/** The files of a world: its store, the files of its simulated infrastructure, and its baseline. */
import { constants, copyFileSync, linkSync, mkdirSync, readdirSync, statSync, utimesSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { reasonOf } from '../core/start-refusal.ts'
import type { Disk } from '../data-folder/disk.ts'

/** Folder of the files of the simulated infrastructure, such as objects in backup locations. */
export const filesOf = (folder: string): string => join(folder, 'world')

/** The baseline: a copy of the state after seeding, to which a reset returns. */
export const baselineOf = (folder: string) => ({
  store: join(folder, 'seed.sqlite'),
  files: join(folder, 'seed-files'),
})

/** Suffix of files that are being written; they are renamed when they are complete. */
const unfinished = '.uploading'

/**
 * Links all files of `from` below `to`. Sharing is safe because writers never change such a file in place: they write a new
 * one and rename it. Files that are removed meanwhile are left out.
 * @param link gives a file its second name
 * @returns the folders with new names in them, and the files that had to be copied
 */
export function shareFiles(from: string, to: string, link = linkSync): Links {
  const folders = new Set<string>()
  const copies: string[] = []
  const files = unlessMissing(() => readdirSync(from, { recursive: true, withFileTypes: true })) ?? []
  for (const file of files) {
    if (!file.isFile() || file.name.endsWith(unfinished)) continue
    const source = join(file.parentPath, file.name)
    const target = join(to, source.slice(from.length))
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
    for (let folder = dirname(target); folder.length >= dirname(to).length; folder = dirname(folder))
      folders.add(folder)
    if (unlessMissing(() => share(source, target, link)) === 'copied') copies.push(target)
  }
  return { folders: [...folders], copies }
}

export interface Links {
  readonly folders: readonly string[]
  readonly copies: readonly string[]
}

/** Resolves when all of them survive a power failure. */
export async function flushLinks(disk: Disk, { folders, copies }: Links): Promise<void> {
  await Promise.all(copies.map((file) => disk.flush(file)))
  await Promise.all(folders.map((folder) => disk.flushFolder(folder)))
}

function share(source: string, target: string, link: typeof linkSync): 'linked' | 'copied' {
  try {
    link(source, target)
    return 'linked'
  } catch (error) {
    if (reasonOf(error) === 'ENOENT') throw error
    // Some file systems have no hard links. The copy keeps the file time, which is a time of the world.
    const { atime, mtime } = statSync(source)
    copyFileSync(source, target, constants.COPYFILE_FICLONE)
    utimesSync(target, atime, mtime)
    return 'copied'
  }
}

function unlessMissing<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (reasonOf(error) === 'ENOENT') return undefined
    throw error
  }
}
