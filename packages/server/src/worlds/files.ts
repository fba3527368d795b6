import { constants, copyFileSync, linkSync, mkdirSync, readdirSync, statSync, utimesSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { reasonOf } from '../core/start-refusal.ts'
import type { Disk } from '../data-folder/disk.ts'

/** Files of the simulated infrastructure, such as objects in backup locations. */
export const filesOf = (folder: string): string => join(folder, 'world')

/** A copy of the state after seeding, to which a reset returns. */
export const baselineOf = (folder: string) => ({
  store: join(folder, 'seed.sqlite'),
  files: join(folder, 'seed-files'),
})

const unfinished = '.uploading'

/** Links, not copies: writers never change a file in place. Skips files removed meanwhile. @returns changed folders, copied files */
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
