/** The next start deletes folders with a mark and no registry entry (unfinished); others hold complete worlds and stay. */
import { existsSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ApiError } from '../core/api-error.ts'
import { reasonOf } from '../core/start-refusal.ts'
import { syncFolderOf } from '../data-folder/folder.ts'

export const keyOf = (name: string): string => name.toLowerCase()

const mark = '.unlisted'
const removedPrefix = '.removed-'
export const spoolPrefix = '.incoming-'

export interface WorldFolders {
  of(name: string): string
  /** @throws ApiError 409 when a folder of an unknown world exists already */
  begin(name: string): string
  release(name: string): void
  settle(name: string): void
  /** The name is free when this returns; files are deleted afterwards. */
  remove(name: string): Promise<void>
  listed(): readonly string[]
  /** @returns unmarked folders that belong to no world, which are not touched */
  tidy(isWorld: (key: string) => boolean): readonly string[]
}

export function createWorldFolders(place: string): WorldFolders {
  let removals = 0
  const of = (name: string): string => join(place, keyOf(name))
  const setMark = (folder: string): void => {
    writeFileSync(join(folder, mark), '', { mode: 0o600, flush: true })
    syncFolderOf(join(folder, mark))
  }
  return {
    of,
    begin(name) {
      const folder = of(name)
      mkdirSync(place, { recursive: true, mode: 0o700 })
      try {
        mkdirSync(folder, { mode: 0o700 })
      } catch (error) {
        if (reasonOf(error) !== 'EEXIST') throw error
        const fault = `The folder ${folder} exists, but this service knows no world in it: move it away, or choose another name.`
        throw new ApiError('CONFLICT', { fault }, { cause: error })
      }
      try {
        setMark(folder)
        syncFolderOf(folder)
      } catch (error) {
        rmSync(folder, { recursive: true, force: true })
        throw error
      }
      return folder
    },
    release(name) {
      if (existsSync(of(name))) setMark(of(name))
    },
    settle: (name) => rmSync(join(of(name), mark), { force: true }),
    async remove(name) {
      const folder = of(name)
      if (!existsSync(folder)) return
      // A rename is atomic: a crash must not leave a folder with half of its files.
      const removed = join(place, `${removedPrefix}${++removals}-${keyOf(name)}`)
      renameSync(folder, removed)
      await rm(removed, { recursive: true, force: true })
    },
    listed() {
      if (!existsSync(place)) return []
      const found = readdirSync(place).filter((entry) => !isRemnant(entry) && !existsSync(join(place, entry, mark)))
      return found.map((entry) => join(place, entry)).filter((folder) => !isEmpty(folder))
    },
    tidy(isWorld) {
      if (!existsSync(place)) return []
      const unknown: string[] = []
      for (const entry of readdirSync(place)) {
        const folder = join(place, entry)
        if (isWorld(entry)) rmSync(join(folder, mark), { force: true })
        else if (isRemnant(entry) || existsSync(join(folder, mark))) rmSync(folder, { recursive: true, force: true })
        else if (!removeEmpty(folder)) unknown.push(folder)
      }
      return unknown
    },
  }
}

function isEmpty(folder: string): boolean {
  return statSync(folder).isDirectory() && readdirSync(folder).length === 0
}

function removeEmpty(folder: string): boolean {
  try {
    rmdirSync(folder)
    return true
  } catch {
    return false
  }
}

/** No world name starts with a dot, as these prefixes do. */
const isRemnant = (entry: string): boolean => [removedPrefix, spoolPrefix].some((prefix) => entry.startsWith(prefix))
