/** The store file of a restore, beside that of the world until it replaces it. Source: behaviour platform.md 9. */
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { BackupFault, type Manifest } from '../archive/format.ts'
import { type Sealer, sealerOf } from '../core/access/secrets.ts'
import { ApiError } from '../core/api-error.ts'
import type { Restores } from '../core/ports.ts'
import { removeStore } from '../data-folder/store-files.ts'
import { requireSuperAdmin } from '../domains/iam/super-admins.ts'
import { openSqliteStore } from '../store/sqlite/sqlite-store.ts'
import type { Store } from '../store/store.ts'
import type { Table } from '../store/tables.ts'
import type { RestoreOrder } from './restore-work.ts'
import { BackupThread } from './worker.ts'

export interface RestoreOptions {
  readonly file: string
  readonly tables: ReadonlyMap<string, Table>
  readonly masterKey: Buffer
  readonly backupKey: Buffer
  readonly exchange: Restores['exchange']
}

export function createRestores({ file, tables, masterKey, backupKey, exchange }: RestoreOptions): Restores {
  const drop = (): void => removeStore(file)
  const within = async <T>(work: (second: Store) => Promise<T>): Promise<T> => {
    let sealer: Sealer | undefined
    const second = openSqliteStore({
      file,
      tables,
      seal: (plain, about) => ({ $sealed: (sealer as Sealer).seal(plain, about) }),
      durable: true,
    })
    try {
      sealer = sealerOf(masterKey, second)
      return await work(second)
    } finally {
      await second.close()
    }
  }
  return {
    async freeBytes() {
      const { bavail, bsize } = await statfs(dirname(file))
      return bavail * bsize
    },
    async load(manifest, parts, signal) {
      drop()
      const order = { work: 'load', file, manifest: manifest as Manifest, backupKey, masterKey } as const
      await threadOf(order, signal).judge(parts)
    },
    async check(signal) {
      await threadOf({ work: 'inspect', file, masterKey }, signal).judge([])
      await within(requireSuperAdmin).catch((error) => Promise.reject(asBackupFault(error)))
    },
    within,
    drop,
    exchange,
  }
}

/** A restore must not replace a world by one without a usable administrator. */
const asBackupFault = (error: unknown): unknown =>
  error instanceof ApiError && error.key === 'LAST_SUPER_ADMIN'
    ? new BackupFault('corrupt', 'it has no active Super Admin', error)
    : error

const threadOf = (order: RestoreOrder, signal?: AbortSignal): BackupThread =>
  new BackupThread({ program: 'restore-worker.ts', order, heapMebibytes: 96, signal })
