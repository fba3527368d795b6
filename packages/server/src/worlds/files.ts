/** What a world is on disk: its store, the files of its infrastructure, and what it began with, kept to begin again. */
import { constants, copyFileSync, linkSync, mkdirSync, readdirSync, statSync, utimesSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { reasonOf } from '../core/start-refusal.ts'
import type { Disk } from '../data-folder/disk.ts'

/** Below it, files of the simulated infrastructure: objects at the places of backups. */
export const filesOf = (folder: string): string => join(folder, 'world')

/** What a world begins with, kept to begin again. */
export const baselineOf = (folder: string) => ({
  store: join(folder, 'seed.sqlite'),
  files: join(folder, 'seed-files'),
})

/** Being written: it gets its name when it is whole. */
const unfinished = '.uploading'

/**
 * The same files below another folder. At once, since nothing is copied: whoever writes such a file makes a new one and gives
 * it the name, so two folders may share it. What vanishes meanwhile is as gone as if it had vanished before.
 * @param link how a file gets its second name
 * @returns the folders with new names in them, and the copies that had to be made
 */
export function shareFiles(from: string, to: string, link = linkSync): Links {
  const folders = new Set<string>()
  const copies: string[] = []
  const files = ifThere(() => readdirSync(from, { recursive: true, withFileTypes: true })) ?? []
  for (const file of files) {
    if (!file.isFile() || file.name.endsWith(unfinished)) continue
    const source = join(file.parentPath, file.name)
    const target = join(to, source.slice(from.length))
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
    for (let folder = dirname(target); folder.length >= dirname(to).length; folder = dirname(folder))
      folders.add(folder)
    if (ifThere(() => share(source, target, link)) === 'copied') copies.push(target)
  }
  return { folders: [...folders], copies }
}

export interface Links {
  readonly folders: readonly string[]
  readonly copies: readonly string[]
}

/** Resolves when a power failure would no longer take any of them. */
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
    // Not every file system has a second name for a file. Its time is that of the world.
    const { atime, mtime } = statSync(source)
    copyFileSync(source, target, constants.COPYFILE_FICLONE)
    utimesSync(target, atime, mtime)
    return 'copied'
  }
}

function ifThere<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (reasonOf(error) === 'ENOENT') return undefined
    throw error
  }
}
