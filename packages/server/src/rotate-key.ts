/**
 * Protects the secrets of a data folder with another master key; the service must be stopped. What is sealed stays as it
 * is: the data key that sealed it is wrapped anew, in one write, so that there is one right key at any moment.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { checkKey, createSealer, makeKeyCheck } from './core/secrets.ts'
import { openDataFolder, readMasterKey, wrongMasterKey } from './data-folder.ts'
import { StartRefusal } from './start-refusal.ts'
import { openSqliteStore } from './store/sqlite/sqlite-store.ts'

export interface Rotation {
  readonly data: string
  /** The key until now; absent: that of the data folder. */
  readonly masterKeyFile?: string | undefined
  readonly newMasterKeyFile: string
}

const usage = 'npm run rotate-key -- --data DIR [--master-key-file OLD] --new-master-key-file NEW'

/**
 * Asked again it finds its work done.
 * @returns what to tell the operator
 * @throws StartRefusal when there is no data, the service runs, or a key is missing or not the right one
 */
export async function rotateMasterKey({ data, masterKeyFile, newMasterKeyFile }: Rotation): Promise<string> {
  const file = join(data, 'world.sqlite')
  if (!existsSync(file)) throw new StartRefusal(`The folder ${data} holds no data: name the right one with --data.`)
  const folder = openDataFolder(data)
  try {
    const next = readMasterKey(folder, newMasterKeyFile, false)
    const store = openSqliteStore({ file, tables: new Map(), seal: (plain) => plain, durable: true })
    try {
      const check = store.meta('key.check') ?? ''
      if (!checkKey(next.key, check)) {
        const known = readMasterKey(folder, masterKeyFile, false)
        if (!checkKey(known.key, check)) throw wrongMasterKey(folder, known)
        const save = (wrapped: string): void =>
          store.setMetas({ 'key.data': wrapped, 'key.check': makeKeyCheck(next.key) })
        createSealer(known.key, { load: () => store.meta('key.data'), save }).rewrap(next.key)
      }
    } finally {
      await store.close()
    }
    return `The key in ${next.path} protects ${data} from now on: start with --master-key-file ${next.path}. No other key opens it; backups of the folder from before need theirs.`
  } finally {
    folder.close()
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      data: { type: 'string' },
      'master-key-file': { type: 'string' },
      'new-master-key-file': { type: 'string' },
    },
  })
  const newMasterKeyFile = values['new-master-key-file']
  const data = values.data ?? process.env['HYPERPLANE_DATA']
  if (data === undefined || newMasterKeyFile === undefined) throw new StartRefusal(`Expected: ${usage}`)
  const done = await rotateMasterKey({ data, masterKeyFile: values['master-key-file'], newMasterKeyFile })
  process.stdout.write(`${done}\n`)
}

if (import.meta.main)
  main().catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  })
