/**
 * `npm start -- restore --from FOLDER --point ID`: makes an empty data folder the manager of a restore point, with the checks
 * of the restore over the interface and without a service. Source: behaviour platform.md 9.
 */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import packageJson from '../package.json' with { type: 'json' }
import { type Config, readConfig } from './config.ts'
import { Refusal } from './core/api-error.ts'
import { formatTime, realClock } from './core/clock.ts'
import { type DataFolder, openDataFolder, readBackupKey, readMasterKey } from './data-folder.ts'
import { BackupFault, type BackupPlace, type Manifest, prefix } from './domains/platform/backup/format.ts'
import { sealedParts } from './domains/platform/backup/read.ts'
import { findRestorePoints } from './domains/platform/backup/reader.ts'
import { adjust } from './domains/platform/restore/adjust.ts'
import { refusalOf, requireReadable } from './domains/platform/restore/faults.ts'
import { createFolderStore } from './drivers/folder/object-store.ts'
import { exchangeStores, storeFiles } from './exchange-stores.ts'
import { createRestores } from './restores.ts'
import { StartRefusal } from './start-refusal.ts'
import { storeTables } from './store-tables.ts'

export interface OfflineRestore {
  readonly config: Pick<Config, 'data' | 'masterKeyFile' | 'backupKeyFile' | 'backupKey'>
  /** Folder that holds `hyperplane-backups`. */
  readonly from: string
  /** Id of the restore point. */
  readonly point: string
}

export const usage = 'npm start -- restore --from FOLDER --point ID [--data DIR] [--backup-key-file FILE]'

/** @throws StartRefusal, InformationRequest */
export function readRestore(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
): OfflineRestore {
  const own = new Map<string, string>()
  const rest: string[] = []
  for (let index = 0; index < argv.length; index++) {
    const [, name, value] = /^--(from|point)(?:=(.*))?$/s.exec(argv[index] as string) ?? []
    if (name === undefined) rest.push(argv[index] as string)
    else own.set(name, value ?? argv[++index] ?? '')
  }
  const config = readConfig(rest, env, cwd)
  const [from, point] = [own.get('from'), own.get('point')]
  if (!from || !point) throw new StartRefusal(`A restore needs --from and --point: ${usage}.`)
  return { config, from: resolve(cwd, from), point }
}

/**
 * @returns what to tell the operator
 * @throws StartRefusal, and the folder is as empty as before
 */
export async function restoreOffline(
  { config, from, point }: OfflineRestore,
  version = packageJson.version,
): Promise<string> {
  const folder = openDataFolder(config.data)
  try {
    const files = storeFiles(config.data)
    if (existsSync(files.first))
      throw new StartRefusal(`The folder ${config.data} holds data already: restore into an empty one, with --data.`)
    const backupKey = givenBackupKey(folder, config)
    const at: BackupPlace = {
      store: createFolderStore(from),
      // The storage of a cluster, mounted or copied to here.
      place: { kind: 'cluster', clusterExtId: from },
    }
    const manifest = await found(at, from, point)
    const restores = createRestores({
      file: files.second,
      tables: storeTables(),
      masterKey: readMasterKey(folder, config.masterKeyFile, true).key,
      backupKey,
      exchange: () => Promise.reject(new Error('there is no instance to exchange')),
    })
    try {
      await requireReadable({ restores, version }, manifest)
      await restores.load(manifest, sealedParts(at, manifest))
      await restores.within((second) => adjust(second, undefined, formatTime(realClock.now())))
      await restores.check()
      exchangeStores(files)
    } catch (error) {
      restores.drop()
      throw inWords(error, point)
    }
    const { config: manager, extId } = manifest.domainManager
    return `The manager "${manager.name}" (${extId}) stands in ${config.data} as of ${manifest.creationTime}. Backup targets are paused until they are updated. Start it with the same --data, and with the same backup key.`
  } finally {
    folder.close()
  }
}

/** A key that was made up just now opens nothing. @throws StartRefusal */
function givenBackupKey(folder: DataFolder, { backupKeyFile, backupKey }: OfflineRestore['config']): Buffer {
  if (backupKey === undefined && backupKeyFile === undefined && !existsSync(join(folder.path, 'backup.key')))
    throw new StartRefusal(
      'The backup key is missing: name the file that holds it with --backup-key-file, or put it into HYPERPLANE_BACKUP_KEY.',
    )
  return readBackupKey(folder, { file: backupKeyFile, text: backupKey }).key
}

async function found(at: BackupPlace, from: string, point: string): Promise<Manifest> {
  const { manifests, warnings } = await findRestorePoints(at)
  const manifest = manifests.find(({ restorePointExtId }) => restorePointExtId === point)
  if (manifest !== undefined) return manifest
  const known = manifests.map(({ restorePointExtId: id, creationTime: time, domainManager: { config } }) =>
    [id, time, config.name].join('  '),
  )
  throw new StartRefusal(
    [
      `The folder ${join(from, prefix)} holds no complete restore point ${point}. It holds:`,
      ...known,
      ...warnings,
    ].join('\n'),
  )
}

function inWords(error: unknown, point: string): unknown {
  if (!(error instanceof BackupFault) && !(error instanceof Refusal)) return error
  const { message } = refusalOf(error) as Error
  return new StartRefusal(`The restore point ${point} cannot be restored. ${message}`, { cause: error })
}
