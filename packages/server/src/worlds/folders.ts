/**
 * The folders of worlds. One that is being made or removed bears a mark: without a row in the registry it is nobody's, and
 * goes. Any other folder holds a whole world, also where the registry does not know it: it is never removed unasked.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ApiError } from '../core/api-error.ts'
import { reasonOf } from '../core/start-refusal.ts'
import { syncFolderOf } from '../data-folder/folder.ts'

/** How names are compared. */
export const keyOf = (name: string): string => name.toLowerCase()

const mark = '.unlisted'
const removedPrefix = '.removed-'
/** Of what is on its way to become a world's. */
export const spoolPrefix = '.incoming-'

export interface WorldFolders {
  of(name: string): string
  /** Makes the folder of a world to be, with the mark. @throws ApiError 409 where a folder lies there that is no known world's */
  begin(name: string): string
  /** Before the registry forgets the world: marked. */
  release(name: string): void
  /** The registry knows it: no mark. */
  settle(name: string): void
  /** Gone when this returns; what it held goes after that. */
  remove(name: string): Promise<void>
  /** Folders that are nobody's half-made or half-removed world. */
  listed(): readonly string[]
  /**
   * At the start: takes away what is marked and belongs to no world.
   * @returns the folders that no world is known of, which are left as they are
   */
  tidy(isWorld: (key: string) => boolean): readonly string[]
}

export function createWorldFolders(place: string): WorldFolders {
  let removals = 0
  const of = (name: string): string => join(place, keyOf(name))
  const put = (folder: string): void => {
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
        const fault = `The folder ${folder} holds what this service knows no world of: move it away, or choose another name.`
        throw new ApiError('CONFLICT', { fault }, { cause: error })
      }
      try {
        put(folder)
        syncFolderOf(folder)
      } catch (error) {
        rmSync(folder, { recursive: true, force: true })
        throw error
      }
      return folder
    },
    release(name) {
      if (existsSync(of(name))) put(of(name))
    },
    settle: (name) => rmSync(join(of(name), mark), { force: true }),
    async remove(name) {
      const folder = of(name)
      if (!existsSync(folder)) return
      // One step: a folder that is half removed is nobody's.
      const removed = join(place, `${removedPrefix}${++removals}-${keyOf(name)}`)
      renameSync(folder, removed)
      await rm(removed, { recursive: true, force: true })
    },
    listed() {
      if (!existsSync(place)) return []
      const found = readdirSync(place).filter((entry) => !isLeft(entry) && !existsSync(join(place, entry, mark)))
      return found.map((entry) => join(place, entry)).filter((folder) => !isEmpty(folder))
    },
    tidy(isWorld) {
      if (!existsSync(place)) return []
      const unknown: string[] = []
      for (const entry of readdirSync(place)) {
        const folder = join(place, entry)
        if (isWorld(entry)) rmSync(join(folder, mark), { force: true })
        else if (isLeft(entry) || existsSync(join(folder, mark))) rmSync(folder, { recursive: true, force: true })
        else if (!removeEmpty(folder)) unknown.push(folder)
      }
      return unknown
    },
  }
}

function isEmpty(folder: string): boolean {
  return statSync(folder).isDirectory() && readdirSync(folder).length === 0
}

/** One that got no mark yet. @returns whether it was empty */
function removeEmpty(folder: string): boolean {
  try {
    rmdirSync(folder)
    return true
  } catch {
    return false
  }
}

/** Names that no world can have. */
const isLeft = (entry: string): boolean => [removedPrefix, spoolPrefix].some((prefix) => entry.startsWith(prefix))
