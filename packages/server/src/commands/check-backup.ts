/** Restores into a temporary store and reports faults; a service may run. Source: behaviour platform.md 8. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }
import { keyIdOf } from '../archive/cipher.ts'
import { BackupFault, type Manifest } from '../archive/format.ts'
import type { FoundRestorePoints } from '../archive/reader.ts'
import { checks } from '../backups/integrity.ts'
import { checkBackupCommand } from '../core/command-name.ts'
import { StartRefusal } from '../core/start-refusal.ts'
import {
  givenBackupKey,
  type OfflineOptions,
  pointIn,
  readOfflineOptions,
  restorePointsIn,
} from './backup-arguments.ts'
import { restoreInto } from './restore.ts'

export const usage = `${checkBackupCommand} --from PLACE [--point ID] [--backup-key-file FILE] [--data DIR]`

export const readCheck = (
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
): OfflineOptions => readOfflineOptions(argv, env, cwd, usage)

export interface Verdict {
  readonly code: 0 | 1
  readonly lines: readonly string[]
}

/** @throws StartRefusal when the check is impossible (no restore point, another key, no answer) */
export async function checkBackup(
  { config, from, point }: OfflineOptions,
  version = packageJson.version,
): Promise<Verdict> {
  const backupKey = givenBackupKey({ path: config.data }, config)
  const found = await restorePointsIn(from)
  const manifest = point === undefined ? newestOf(found, backupKey, from.name) : pointIn(found, from, point)
  const skipped = point === undefined ? found.warnings : []
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-check-'))
  let broken: readonly string[]
  try {
    // A throw-away key: the temporary store is useless to anybody who finds it.
    const restoring = { from, manifest, masterKey: randomBytes(32), backupKey, version }
    await restoreInto(join(folder, 'trial.sqlite'), restoring, async () => undefined)
    broken = []
  } catch (error) {
    broken = faultsIn(error)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const isIntact = broken.length === 0 && skipped.length === 0
  return {
    code: isIntact ? 0 : 1,
    lines: [
      titleOf(manifest),
      ...performedChecks.map((check) => `looked at: ${check}.`),
      ...broken.map((fault) => `broken: ${fault}.`),
      ...skipped.map((warning) => `broken: ${warning}`),
      broken.length === 0 ? 'It can be restored.' : 'It cannot be restored as it is.',
    ],
  }
}

const performedChecks: readonly string[] = [
  'Every part is there, opens, and holds the rows that the manifest counts',
  'Every row can be stored, and no value that must be unique comes twice',
  ...checks,
  'There is an active Super Admin',
]

/** @throws StartRefusal when this key opens no restore point */
function newestOf({ manifests, warnings }: FoundRestorePoints, backupKey: Buffer, place: string): Manifest {
  const keyId = keyIdOf(backupKey)
  const manifest = manifests.find(({ key }) => key.id === keyId)
  if (manifest !== undefined) return manifest
  const others = manifests.length === 0 ? '' : `, and ${manifests.length} of other backup keys`
  throw new StartRefusal(
    [`There is no complete restore point of this backup key in ${place}${others}.`, ...warnings].join(' '),
  )
}

function titleOf({ restorePointExtId, creationTime, domainManager, parts }: Manifest): string {
  const rows = parts.flatMap((part) => Object.values(part.rows)).reduce((sum, count) => sum + count, 0)
  const { config, extId } = domainManager
  return `Restore point ${restorePointExtId} of the manager "${config.name}" (${extId}) as of ${creationTime}: ${parts.length} parts, ${rows} rows.`
}

/** @throws `error` when it has another reason */
function faultsIn(error: unknown): readonly string[] {
  const { cause } = error as Error
  if (cause instanceof BackupFault && cause.fault === 'corrupt') return cause.faults
  throw error
}
