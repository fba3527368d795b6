/** The access key of the object store, from the environment or a file. No message quotes it. */
import { readFileSync } from 'node:fs'
import { createAddressGuard } from '../core/access/address-guard.ts'
import { reasonOf, StartRefusal } from '../core/start-refusal.ts'
import type { AccessKey, Config } from './options.ts'
import { objectStoreKeyVariable } from './sources.ts'

const fileOption = '--object-store-key-file'

type Settings = Pick<Config, 'allowAddress' | 'objectStore' | 'objectStoreKeyFile' | 'offline'>

/** @param text of the variable. @returns undefined: no object store is configured. @throws StartRefusal */
export function readObjectStoreKey(settings: Settings, text: string | undefined): AccessKey | undefined {
  const { objectStore, objectStoreKeyFile: file } = settings
  if (text !== undefined && file !== undefined)
    throw new StartRefusal(
      `${objectStoreKeyVariable} and ${fileOption} both give an access key: leave out one of them.`,
    )
  if (objectStore === undefined) {
    // The variable alone is accepted: commands such as `restore` run in the environment of the service.
    if (file === undefined) return undefined
    throw new StartRefusal(`${fileOption} is given without --object-store: give both or neither.`)
  }
  requireCallable(objectStore, settings)
  const written = file === undefined ? text : readKeyFile(file)
  if (written === undefined)
    throw new StartRefusal(
      `--object-store is given without an access key: put ACCESS-KEY-ID:SECRET into ${objectStoreKeyVariable} or the file of ${fileOption}.`,
    )
  const where = file === undefined ? objectStoreKeyVariable : `The file of ${fileOption}`
  const [, accessKeyId, secretAccessKey] = /^([^\s:]+):(\S+)$/.exec(written.trim()) ?? []
  if (accessKeyId === undefined || secretAccessKey === undefined)
    throw new StartRefusal(`${where} does not have the form ACCESS-KEY-ID:SECRET: correct it.`)
  return { accessKeyId, secretAccessKey }
}

function readKeyFile(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new StartRefusal(`The file ${file} of ${fileOption} cannot be read (${reasonOf(cause)}): correct its path.`, {
      cause,
    })
  }
}

/** A name that resolves to a refused address is found only by the call. */
function requireCallable(objectStore: string, { allowAddress, offline }: Settings): void {
  const refusal = createAddressGuard({ allowed: allowAddress, isOffline: offline }).refusalOf(
    new URL(objectStore).hostname,
  )
  if (refusal !== undefined) throw new StartRefusal(`--object-store: ${refusal}.`)
}
