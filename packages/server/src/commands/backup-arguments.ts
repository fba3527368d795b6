import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { archiveRefusal } from '../archive/faults.ts'
import { BackupFault, type Manifest } from '../archive/format.ts'
import { translatePlaceFault } from '../archive/places.ts'
import { type FoundRestorePoints, findRestorePoints } from '../archive/reader.ts'
import { type Config, readConfig } from '../config/config.ts'
import { Refusal } from '../core/api-error.ts'
import { StartRefusal } from '../core/start-refusal.ts'
import { type DataFolder, readBackupKey } from '../data-folder/folder.ts'
import { type OfflinePlace, readPlace } from './backup-location.ts'

export interface OfflineOptions {
  readonly config: Pick<Config, 'data' | 'masterKeyFile' | 'backupKeyFile' | 'backupKey'>
  readonly from: OfflinePlace
  readonly point: string | undefined
}

export function readOfflineOptions(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
  usage: string,
): OfflineOptions {
  const own = new Map<string, string>()
  const rest: string[] = []
  for (let index = 0; index < argv.length; index++) {
    const [, name, value] = /^--(from|point)(?:=(.*))?$/s.exec(argv[index] as string) ?? []
    if (name === undefined) rest.push(argv[index] as string)
    else own.set(name, value ?? argv[++index] ?? '')
  }
  const config = readConfig(rest, env, cwd)
  const [from, point] = [own.get('from'), own.get('point')]
  if (!from) throw new StartRefusal(`--from is missing: ${usage}.`)
  if (point === '') throw new StartRefusal(`--point has no value: ${usage}.`)
  return { config, from: readPlace(from, env, cwd), point }
}

/** Never generated: a new key opens no backup. @throws StartRefusal */
export function givenBackupKey(
  folder: Pick<DataFolder, 'path'>,
  { backupKeyFile, backupKey }: OfflineOptions['config'],
): Buffer {
  if (backupKey === undefined && backupKeyFile === undefined && !existsSync(join(folder.path, 'backup.key')))
    throw new StartRefusal(
      'The backup key is missing: name the file that holds it with --backup-key-file, or put it into HYPERPLANE_BACKUP_KEY.',
    )
  return readBackupKey(folder, { file: backupKeyFile, text: backupKey }).key
}

/** @throws StartRefusal when the location cannot be read */
export const restorePointsIn = (from: OfflinePlace): Promise<FoundRestorePoints> =>
  findRestorePoints(from).catch((error: unknown) => Promise.reject(asStartRefusal(error, from)))

/** @throws StartRefusal that lists the existing restore points */
export function pointIn({ manifests, warnings }: FoundRestorePoints, from: OfflinePlace, point: string): Manifest {
  const manifest = manifests.find(({ restorePointExtId }) => restorePointExtId === point)
  if (manifest !== undefined) return manifest
  const present = manifests.map(({ restorePointExtId: id, creationTime: time, domainManager: { config } }) =>
    [id, time, config.name].join('  '),
  )
  throw new StartRefusal(
    [`There is no complete restore point ${point} in ${from.name}. It holds:`, ...present, ...warnings].join('\n'),
  )
}

export function asStartRefusal(error: unknown, { place }: OfflinePlace, point?: string): unknown {
  const translated = translatePlaceFault(error, place)
  if (!(translated instanceof BackupFault) && !(translated instanceof Refusal)) return error
  const { message } = archiveRefusal(translated) as Error
  const about = point === undefined ? '' : `The restore point ${point} cannot be restored. `
  return new StartRefusal(`${about}${message}`, { cause: error })
}
