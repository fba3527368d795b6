/** Beside this mark a missing store is created; without the mark, it was lost. */
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { syncFolderOf } from '../data-folder/folder.ts'
import { storeFiles } from '../data-folder/store-files.ts'
import { StoreRefusal } from '../store/store.ts'

export const fillingMark = (folder: string): string => join(folder, '.filling')

export const isBeingSeeded = (folder: string): boolean => existsSync(fillingMark(folder))

export function markBeingSeeded(folder: string): void {
  writeFileSync(fillingMark(folder), '', { mode: 0o600, flush: true })
  syncFolderOf(fillingMark(folder))
}

export const markSeeded = (folder: string): void => rmSync(fillingMark(folder), { force: true })

const filesOfService = ['master.key', 'worlds.sqlite', 'control.sqlite', 'seed.sqlite', 'restoring.sqlite', 'world']

/** True: a missing store was lost. */
export function wasUsed(folder: string): boolean {
  const { first } = storeFiles(folder)
  if ([first, `${first}-wal`, ...filesOfService.map((name) => join(folder, name))].some(existsSync)) return true
  const worlds = join(folder, 'worlds')
  return existsSync(worlds) && readdirSync(worlds).length > 0
}

/** @param isDefault only this world can be restored from a backup */
export function lostStore(folder: string, isDefault: boolean): StoreRefusal {
  const { first } = storeFiles(folder)
  const fault = existsSync(first) ? 'is empty' : 'is missing'
  const remedy = isDefault
    ? `Put the file back, or restore a backup with "npm start -- restore --from PLACE --point ID --data ${folder}", or start with --seed in an empty folder that --data names.`
    : 'Put the file back.'
  const what = `The data file ${first} ${fault}, although the folder has been in use: no new one is created in its place.`
  return new StoreRefusal(what, remedy, { isDamage: true })
}
