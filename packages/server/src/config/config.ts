import { StartRefusal } from '../core/start-refusal.ts'
import { readObjectStoreKey } from './object-store.ts'
import { type Config, type SettingName, settingNames, settings } from './options.ts'
import {
  backupKeyVariable,
  type Environment,
  type EnvironmentValues,
  readCommandLine,
  readEnvironment,
  readFile,
  type WrittenValue,
} from './sources.ts'
import { BadValue, isLoopback } from './values.ts'

export type { Config } from './options.ts'
export { InformationRequest } from './sources.ts'

/**
 * Command line, else environment, else `hyperplane.yaml` (its paths start from its folder), else default.
 * @throws StartRefusal for an unknown name, a bad value or a contradiction; InformationRequest
 */
export function readConfig(argv: readonly string[], env: Environment, cwd: string): Config {
  const commandLine = readCommandLine(argv, cwd)
  const environment = readEnvironment(env, cwd)
  const file = readFile(commandLine.configFile ?? environment.configFile, cwd)
  const sources = [commandLine.values, environment.values, file]
  const writtenValue = (name: SettingName): WrittenValue | undefined =>
    sources.map((source) => source.get(name)).find((value) => value !== undefined)
  return createConfig(writtenValue, environment, cwd)
}

/** @throws StartRefusal */
export function configOf(options: { readonly [Name in SettingName]?: unknown }, cwd: string): Config {
  const writtenValue = (name: SettingName): WrittenValue | undefined => {
    const value = options[name]
    return value === undefined ? undefined : { text: String(value), where: name, folder: cwd }
  }
  return createConfig(writtenValue, {}, cwd)
}

function createConfig(
  writtenValue: (name: SettingName) => WrittenValue | undefined,
  { adminPassword, backupKey, objectStoreKey }: Partial<EnvironmentValues>,
  cwd: string,
): Config {
  const values = settingNames.map((name) => [name, parse(name, writtenValue(name), cwd)] as const)
  // TypeScript does not relate a name to its value type through a loop.
  const config = { ...Object.fromEntries(values), adminPassword, backupKey } as unknown as Config
  refuseContradictions(config)
  return { ...config, objectStoreKey: readObjectStoreKey(config, objectStoreKey) }
}

function parse(name: SettingName, written: WrittenValue | undefined, cwd: string): unknown {
  const setting = settings[name]
  if (written === undefined) return setting.default === undefined ? undefined : setting.parse(setting.default, cwd)
  if (written.text === '') throw new StartRefusal(`${written.where} is empty: give it a value or leave it out.`)
  try {
    return setting.parse(written.text, written.folder)
  } catch (error) {
    if (!(error instanceof BadValue)) throw error
    throw new StartRefusal(`${written.where} is ${JSON.stringify(written.text)}: give ${error.message}.`)
  }
}

function refuseContradictions(config: Config): void {
  if ((config.tlsCert === undefined) !== (config.tlsKey === undefined)) {
    const [given, missing] = config.tlsKey === undefined ? ['--tls-cert', '--tls-key'] : ['--tls-key', '--tls-cert']
    throw new StartRefusal(
      `${given} is given without ${missing}: give both, or neither for a certificate of the local authority.`,
    )
  }
  if (config.http && !isLoopback(config.host)) {
    throw new StartRefusal(
      `--http on ${config.host} would send passwords readable over the network: leave out --http, or listen on 127.0.0.1.`,
    )
  }
  if (config.backupKey !== undefined && config.backupKeyFile !== undefined) {
    throw new StartRefusal(`${backupKeyVariable} and --backup-key-file both give a backup key: leave out one of them.`)
  }
  if (config.offline && config.allowOutbound) {
    throw new StartRefusal('--offline calls no other machine, which --allow-outbound asks for: leave out one of them.')
  }
  if (config.http && config.tlsCert !== undefined) {
    throw new StartRefusal('--http uses no certificate: leave out either --http, or --tls-cert and --tls-key.')
  }
}
