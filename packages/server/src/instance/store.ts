import { checkKey, makeKeyCheck, type Sealer, sealerOf, WrongMasterKey } from '../core/access/secrets.ts'
import { type BackupKey, type MasterKey, readBackupKey, readMasterKey, wrongMasterKey } from '../data-folder/folder.ts'
import { storeFiles } from '../data-folder/store-files.ts'
import { limits } from '../domains/collected.ts'
import { createStoreFile } from '../store/sqlite/new-store.ts'
import { openSqliteStore } from '../store/sqlite/sqlite-store.ts'
import { metaOrCreate, type Store } from '../store/store.ts'
import type { InstanceOptions } from './options.ts'

export interface InstanceStore {
  readonly store: Store
  readonly sealer: Sealer
  readonly masterKey: MasterKey
  readonly backupKey: BackupKey
  readonly meta: (name: string, make: () => string) => string
}

export interface InstanceStoreOptions
  extends Pick<InstanceOptions, 'config' | 'options' | 'folder' | 'shared' | 'isOwn'> {
  readonly isNew: boolean
  readonly alongside: () => Record<string, string> | undefined
}

/** @throws StartRefusal, StoreRefusal; the store is closed then */
export async function openInstanceStore(opening: InstanceStoreOptions): Promise<InstanceStore> {
  const { config, options, folder } = opening
  const masterKey = readMasterKey(folder, config.masterKeyFile, opening.isNew)
  const backupKey = readBackupKey(folder, { file: config.backupKeyFile, text: config.backupKey })
  const { first: file } = storeFiles(config.data)
  if (opening.isNew) await createStoreFile(file, opening.shared.tables)
  let sealer: Sealer
  const store = openSqliteStore({
    file,
    notesOfCommit: opening.alongside,
    isOwn: opening.isOwn === true || opening.isNew,
    tables: opening.shared.tables,
    seal: (plain, about) => ({ $sealed: sealer.seal(plain, about) }),
    durable: options.durable !== false,
    queryTime: options.queryTime,
    maximumReferrers: { Category: options.limits?.associationsOfCategory ?? limits.associationsOfCategory },
  })
  try {
    const keyCheck = store.meta('key.check')
    if (keyCheck !== undefined && !checkKey(masterKey.key, keyCheck)) throw new WrongMasterKey()
    sealer = sealerOf(masterKey.key, store)
    if (keyCheck === undefined) store.setMeta('key.check', makeKeyCheck(masterKey.key))
  } catch (error) {
    void store.close()
    throw error instanceof WrongMasterKey ? wrongMasterKey(folder, masterKey) : error
  }
  return { store, sealer, masterKey, backupKey, meta: (name, make) => metaOrCreate(store, name, make) }
}
