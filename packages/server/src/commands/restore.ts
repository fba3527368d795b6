/** Into an empty data folder, with the checks of a restore over the interface. Source: behaviour platform.md 9. */
import { existsSync, rmSync } from 'node:fs'
import packageJson from '../../package.json' with { type: 'json' }
import { requireReadable } from '../archive/faults.ts'
import type { Manifest } from '../archive/format.ts'
import { sealedParts } from '../archive/read.ts'
import { createRestores } from '../backups/restores.ts'
import { startCommand } from '../core/command-name.ts'
import { StartRefusal } from '../core/start-refusal.ts'
import { formatTime, realClock } from '../core/time/clock.ts'
import { diskOf } from '../data-folder/disk.ts'
import { masterKeyPath, openDataFolder, readMasterKey } from '../data-folder/folder.ts'
import { hasStore, removeStore, storeFiles, swapStoreFiles } from '../data-folder/store-files.ts'
import { adjust } from '../domains/platform/restore/adjust.ts'
import { storeTables } from '../domains/tables.ts'
import {
  asStartRefusal,
  givenBackupKey,
  type OfflineOptions,
  pointIn,
  readOfflineOptions,
  restorePointsIn,
} from './backup-arguments.ts'
import type { OfflinePlace } from './backup-location.ts'

export type OfflineRestore = OfflineOptions & { readonly point: string }

export const usage = `${startCommand} restore --from PLACE --point ID [--data DIR] [--backup-key-file FILE]`

export function readRestore(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
): OfflineRestore {
  const { point, ...options } = readOfflineOptions(argv, env, cwd, usage)
  if (point === undefined) throw new StartRefusal(`A restore needs --point: ${usage}.`)
  return { ...options, point }
}

/** @returns lines for the operator. @throws StartRefusal, and the folder is as empty as before */
export async function restoreOffline(
  { config, from, point }: OfflineRestore,
  version = packageJson.version,
): Promise<string> {
  const folder = openDataFolder(config.data)
  try {
    const files = storeFiles(config.data)
    if (hasStore(files.first))
      throw new StartRefusal(`The folder ${config.data} holds data already: restore into an empty one, with --data.`)
    const backupKey = givenBackupKey(folder, config)
    const manifest = pointIn(await restorePointsIn(from), from, point)
    const hadKey = existsSync(masterKeyPath(folder, config.masterKeyFile))
    const masterKey = readMasterKey(folder, config.masterKeyFile, true)
    const restoring = { from, manifest, masterKey: masterKey.key, backupKey, version }
    try {
      await restoreInto(files.second, restoring, () => {
        // SQLite would replay a write-ahead log without a store into the restored one.
        removeStore(files.first)
        return swapStoreFiles(files, diskOf({}))
      })
    } catch (error) {
      // The next start would take a master key without a store for a lost store.
      if (!hadKey) rmSync(masterKey.path, { force: true })
      throw error
    }
    const { config: manager, extId } = manifest.domainManager
    return `The manager "${manager.name}" (${extId}) is restored in ${config.data} as of ${manifest.creationTime}. Backup targets are paused until they are updated. Start it with the same --data, and with the same backup key.`
  } finally {
    folder.close()
  }
}

interface Restoring {
  readonly from: OfflinePlace
  readonly manifest: Manifest
  readonly masterKey: Buffer
  readonly backupKey: Buffer
  readonly version: string
}

/** `use` takes the file over; on failure the file is deleted. @throws StartRefusal */
export async function restoreInto(
  file: string,
  { from, manifest, masterKey, backupKey, version }: Restoring,
  use: () => Promise<void>,
): Promise<void> {
  const restores = createRestores({
    file,
    tables: storeTables(),
    masterKey,
    backupKey,
    exchange: () => Promise.reject(new Error('there is no instance to exchange')),
  })
  try {
    await requireReadable({ restores, version }, manifest)
    await restores.load(manifest, sealedParts(from, manifest))
    await restores.within((second) => adjust(second, undefined, formatTime(realClock.now())))
    await restores.check()
    await use()
  } catch (error) {
    restores.drop()
    throw asStartRefusal(error, from, manifest.restorePointExtId)
  }
}
