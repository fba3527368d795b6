/**
 * A mark file that distinguishes a world that is being seeded from one that lost its store. It exists from before the store is
 * created until the store is filled, at a first start and at a reset; a missing store is created again only beside the mark.
 */
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { syncFolderOf } from '../data-folder/folder.ts'
import { storeFiles } from '../data-folder/store-files.ts'
import { StoreRefusal } from '../store/store.ts'

export const fillingMark = (folder: string): string => join(folder, '.filling')

export const isBeingSeeded = (folder: string): boolean => existsSync(fillingMark(folder))

/** The mark survives a power failure when this returns. */
export function markBeingSeeded(folder: string): void {
  writeFileSync(fillingMark(folder), '', { mode: 0o600, flush: true })
  syncFolderOf(fillingMark(folder))
}

export const markSeeded = (folder: string): void => rmSync(fillingMark(folder), { force: true })

/** Files beside the store of the world `default`. If they exist without that store, it was lost. */
const filesOfService = ['master.key', 'worlds.sqlite', 'control.sqlite', 'seed.sqlite', 'restoring.sqlite', 'world']

/** Whether a service was started in this data folder before; if so, a missing store was lost. */
export function wasUsed(folder: string): boolean {
  const { first } = storeFiles(folder)
  if ([first, `${first}-wal`, ...filesOfService.map((name) => join(folder, name))].some(existsSync)) return true
  const worlds = join(folder, 'worlds')
  return existsSync(worlds) && readdirSync(worlds).length > 0
}

/** @param isDefault a restore from a backup can replace the store of the world `default` only */
export function lostStore(folder: string, isDefault: boolean): StoreRefusal {
  const { first } = storeFiles(folder)
  const fault = existsSync(first) ? 'is empty' : 'is missing'
  const remedy = isDefault
    ? `Put the file back, or restore a backup with "npm start -- restore --from PLACE --point ID --data ${folder}", or begin anew with --seed in an empty folder that --data names.`
    : 'Put the file back.'
  const what = `The data file ${first} ${fault}, although the folder has been in use: nothing is begun anew in its place.`
  return new StoreRefusal(what, remedy, { isDamage: true })
}
