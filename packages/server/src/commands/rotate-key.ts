/** Wraps each store's data key again; sealed secrets do not change. `default` is last: after an interruption the old key still works. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { checkKey, createSealer, makeKeyCheck, WrongMasterKey } from '../core/access/secrets.ts'
import { rotateKeyCommand } from '../core/command-name.ts'
import { StartRefusal } from '../core/start-refusal.ts'
import {
  type DataFolder,
  type MasterKey,
  openDataFolder,
  readMasterKey,
  wrongMasterKey,
} from '../data-folder/folder.ts'
import { hasStore } from '../data-folder/store-files.ts'
import { openSqliteStore } from '../store/sqlite/sqlite-store.ts'

export interface Rotation {
  readonly data: string
  readonly masterKeyFile?: string | undefined
  readonly newMasterKeyFile: string
}

const usage = `${rotateKeyCommand} --data DIR [--master-key-file OLD] --new-master-key-file NEW`

/** Idempotent. @returns lines for the operator @throws StartRefusal without data, while the service runs, or for a bad key */
export async function rotateMasterKey({ data, masterKeyFile, newMasterKeyFile }: Rotation): Promise<string> {
  const file = join(data, 'world.sqlite')
  if (!hasStore(file)) throw new StartRefusal(`The folder ${data} holds no data: name the right one with --data.`)
  const folder = openDataFolder(data)
  try {
    const next = readMasterKey(folder, newMasterKeyFile, false)
    const oldKey = (): MasterKey => readMasterKey(folder, masterKeyFile, false)
    for (const each of [...otherStores(data), file]) await rewrap(folder, each, oldKey, next)
    return `The key in ${next.path} protects ${data} from now on: start with --master-key-file ${next.path}. No other key opens it; backups of the folder from before need theirs.`
  } finally {
    folder.close()
  }
}

function otherStores(data: string): readonly string[] {
  const worlds = join(data, 'worlds')
  const folders = existsSync(worlds) ? readdirSync(worlds).map((name) => join(worlds, name)) : []
  return [
    ...folders.map((folder) => join(folder, 'world.sqlite')),
    ...[data, ...folders].flatMap(storesBesideWorld),
  ].filter(hasStore)
}

const storesBesideWorld = (folder: string): readonly string[] =>
  ['seed.sqlite', 'control.sqlite', 'worlds.sqlite'].map((name) => join(folder, name))

async function rewrap(folder: DataFolder, file: string, oldKey: () => MasterKey, next: MasterKey): Promise<void> {
  const store = openSqliteStore({ file, tables: new Map(), seal: (plain) => plain, durable: true })
  try {
    const check = store.meta('key.check')
    const load = (): string | undefined => store.meta('key.data')
    if (load() === undefined || opens(next.key, check, load)) return
    const former = oldKey()
    if (!opens(former.key, check, load)) throw wrongMasterKey(folder, former)
    const save = (wrapped: string): void =>
      store.setMetas({ 'key.data': wrapped, ...(check === undefined ? {} : { 'key.check': makeKeyCheck(next.key) }) })
    createSealer(former.key, { load, save }).rewrap(next.key)
  } finally {
    await store.close()
  }
}

/** Stores of the control interface have no key check, only a wrapped data key. */
function opens(key: Buffer, check: string | undefined, load: () => string | undefined): boolean {
  if (check !== undefined) return checkKey(key, check)
  try {
    createSealer(key, { load, save: () => undefined })
    return true
  } catch (error) {
    if (error instanceof WrongMasterKey) return false
    throw error
  }
}

/** @throws StartRefusal */
export async function rotateKey(argv: readonly string[]): Promise<string> {
  const values = readOptions(argv)
  const newMasterKeyFile = values['new-master-key-file']
  const data = values.data ?? process.env['HYPERPLANE_DATA']
  if (data === undefined || newMasterKeyFile === undefined) throw new StartRefusal(`Expected: ${usage}`)
  return rotateMasterKey({ data, masterKeyFile: values['master-key-file'], newMasterKeyFile })
}

function readOptions(argv: readonly string[]) {
  const option = { type: 'string' } as const
  try {
    const options = { data: option, 'master-key-file': option, 'new-master-key-file': option }
    return parseArgs({ args: [...argv], options }).values
  } catch (error) {
    throw new StartRefusal(`On the command line: ${(error as Error).message}. Expected: ${usage}`, { cause: error })
  }
}
