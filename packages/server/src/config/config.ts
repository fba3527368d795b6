import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { dirname, resolve } from 'node:path'
import { Command, CommanderError } from 'commander'
import packageJson from '../../package.json' with { type: 'json' }
import { isNetwork } from '../core/access/address-guard.ts'
import { startCommand } from '../core/command-name.ts'
import { reasonOf, StartRefusal } from '../core/start-refusal.ts'
import { isMap, isScalar, isSeq, lineCounter, parseDocument } from '../core/yaml.ts'
import { presets } from '../seeds/presets.ts'
import type { SeedSource } from '../seeds/read-seed.ts'

/** What the service was told at its start. Paths are absolute. */
export interface Config {
  /** Address or name to listen on. */
  readonly host: string
  /** 0: the system chooses a free one. */
  readonly port: number
  /** Data folder: everything the service keeps. */
  readonly data: string
  /** Inventory of a new data folder; an existing folder keeps what it has. */
  readonly seed: SeedSource
  readonly rateLimits: 'on' | 'report' | 'off'
  /** The clock that rate limits count by: a world that stands must not throttle for ever. */
  readonly limits: 'real-time' | 'world-clock'
  /** Column of the rate table. */
  readonly tier: 'xsmall' | 'small' | 'large' | 'xlarge'
  /** Names in answers to requests that do not show which ones they speak. */
  readonly names: 'spec' | 'public'
  readonly durations: 'instant' | 'natural'
  /** A number is the speed: seconds of the world in one real second. */
  readonly clock: 'real' | 'frozen' | number
  readonly versions: 'strict' | 'loose'
  readonly lockout: 'on' | 'off'
  /** The control interface: worlds, clocks, faults, journal. */
  readonly control: 'on' | 'off'
  /** Largest seed that a world may be imported from over HTTP, in MiB. */
  readonly importMebibytes: number
  /** Plain HTTP instead of HTTPS; only on a loopback address. */
  readonly http: boolean
  /** Origin under which clients reach the service, without a trailing slash. */
  readonly publicUrl: string | undefined
  /** PEM files; both or none. */
  readonly tlsCert: string | undefined
  readonly tlsKey: string | undefined
  readonly masterKeyFile: string | undefined
  readonly backupKeyFile: string | undefined
  /** Networks that the service calls although they are its own, those of its link, or metadata services. */
  readonly allowAddress: readonly string[]
  /** Whether managers and clusters outside the simulated world may be registered. */
  readonly allowOutbound: boolean
  /** No other machine is called, whatever else is allowed. */
  readonly offline: boolean
  /** Password of `admin` at the first start. Secret: comes from the environment alone, and is in no message. */
  readonly adminPassword: string | undefined
  /** The backup key itself, base64, instead of a file. Secret: as `adminPassword`. */
  readonly backupKey: string | undefined
}

/** Thrown for `--help` and `--version`: `text` is to be printed, and nothing to be started. */
export class InformationRequest extends Error {
  readonly text: string

  constructor(text: string) {
    super('the command line asks for information only')
    this.text = text
  }
}

/** `names` on the command line and in the file; the variable is HYPERPLANE_NAMES. */
interface Setting<Value> {
  readonly about: string
  /** Shown in `--help`; a setting without it is a switch. */
  readonly argument?: string
  readonly default?: string
  /** May be given more than once, in a file as a list; elsewhere also separated by commas, which is how `parse` gets them. */
  readonly repeatable?: true
  /** @throws BadValue. `folder` is what a relative path starts from. */
  parse(text: string, folder: string): Value
}

class BadValue extends Error {}

const settings: { readonly [Name in Exclude<keyof Config, 'adminPassword' | 'backupKey'>]: Setting<Config[Name]> } = {
  host: { argument: 'HOST', about: 'address to listen on', default: '127.0.0.1', parse: parseHost },
  port: { argument: 'PORT', about: 'port to listen on, 0 for a free one', default: '9440', parse: parsePort },
  data: { argument: 'DIR', about: 'folder of everything that is kept', default: './data', parse: parsePath },
  seed: {
    argument: 'SEED',
    about: `what a new data folder holds: ${presets.join(', ')} or FILE.yaml`,
    default: 'demo',
    parse: parseSeed,
  },
  rateLimits: choice('enforce, only report, or ignore rate limits', ['on', 'report', 'off']),
  limits: choice('clock that rate limits count by', ['real-time', 'world-clock']),
  tier: choice('size whose rate limits hold', ['xsmall', 'small', 'large', 'xlarge'], 'small'),
  names: choice('names in answers when the request does not tell', ['spec', 'public']),
  durations: choice('how long tasks take', ['instant', 'natural']),
  clock: {
    argument: 'real|frozen|SCALE',
    about: "clock of the world; SCALE is the world's seconds in one real second",
    default: 'real',
    parse: parseClock,
  },
  versions: choice('refuse, or accept, versions that are not served', ['strict', 'loose']),
  lockout: choice('lock a user out after failed logins', ['on', 'off']),
  control: choice('serve the control interface under /control', ['on', 'off']),
  importMebibytes: {
    argument: 'MIB',
    about: 'largest seed that a world may be imported from over HTTP, in MiB, up to 400',
    default: '400',
    parse: parseImportMebibytes,
  },
  http: { about: 'plain HTTP, on a loopback address only', default: 'false', parse: parseSwitch },
  publicUrl: { argument: 'URL', about: 'address under which clients reach the service', parse: parseOrigin },
  tlsCert: { argument: 'FILE', about: 'certificate (PEM), instead of one of the local authority', parse: parsePath },
  tlsKey: { argument: 'FILE', about: 'private key (PEM) of the certificate', parse: parsePath },
  masterKeyFile: {
    argument: 'FILE',
    about: 'key that protects stored secrets, 32 bytes in base64 (default: master.key in the data folder)',
    parse: parsePath,
  },
  backupKeyFile: {
    argument: 'FILE',
    about:
      'key that backups are written with and opened by, 32 bytes in base64 (default: backup.key in the data folder)',
    parse: parsePath,
  },
  allowAddress: {
    argument: 'CIDR',
    about: 'loopback, link-local or metadata network that clients may have called (repeatable; default: none)',
    default: '',
    repeatable: true,
    parse: parseNetworks,
  },
  allowOutbound: {
    about: 'let clients register managers outside the simulated world',
    default: 'false',
    parse: parseSwitch,
  },
  offline: {
    about: 'call no other machine: no directory, certificate list, metadata URL, bucket or manager',
    default: 'false',
    parse: parseSwitch,
  },
}

type SettingName = keyof typeof settings
const settingNames = Object.keys(settings) as SettingName[]

const configFileName = 'hyperplane.yaml'
const passwordVariable = 'HYPERPLANE_ADMIN_PASSWORD'
const backupKeyVariable = 'HYPERPLANE_BACKUP_KEY'
const passwordRemedy = `the password of admin is taken only from the variable ${passwordVariable}`

/** A value as somebody wrote it, and where, for messages. */
interface Given {
  readonly text: string
  readonly where: string
  readonly folder: string
}
type GivenValues = ReadonlyMap<SettingName, Given>

/**
 * The configuration: command line, else environment, else `hyperplane.yaml` (or the file of `--config`), else default. Relative
 * paths start from the working directory; those in the file, from the file's folder.
 * @param argv what follows the script's name on the command line
 * @throws StartRefusal for an unknown name, a bad value, or settings that exclude each other
 * @throws InformationRequest for `--help` and `--version`
 */
export function readConfig(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
): Config {
  const commandLine = readCommandLine(argv, cwd)
  const environment = readEnvironment(env, cwd)
  const file = readFile(commandLine.configFile ?? environment.configFile, cwd)
  const sources = [commandLine.values, environment.values, file]

  const values: Record<string, unknown> = {}
  for (const name of settingNames) {
    const given = sources.map((source) => source.get(name)).find((value) => value !== undefined)
    values[name] = settle(name, given, cwd)
  }
  const { adminPassword, backupKey } = environment
  const config = { ...values, adminPassword, backupKey } as unknown as Config
  refuseContradictions(config)
  return config
}

/**
 * The configuration where a program gives some settings; of the others the default. Relative paths start from `cwd`.
 * @throws StartRefusal as `readConfig`
 */
export function configOf(given: { readonly [Name in SettingName]?: unknown }, cwd: string): Config {
  const settled = (name: SettingName): unknown => {
    const value = given[name]
    return settle(name, value === undefined ? undefined : { text: String(value), where: name, folder: cwd }, cwd)
  }
  const values = Object.fromEntries(settingNames.map((name) => [name, settled(name)]))
  const config = { ...values, adminPassword: undefined, backupKey: undefined } as unknown as Config
  refuseContradictions(config)
  return config
}

function settle(name: SettingName, given: Given | undefined, cwd: string): unknown {
  const setting = settings[name]
  if (given === undefined) return setting.default === undefined ? undefined : setting.parse(setting.default, cwd)
  if (given.text === '') throw new StartRefusal(`${given.where} is empty: give it a value or leave it out.`)
  try {
    return setting.parse(given.text, given.folder)
  } catch (error) {
    if (!(error instanceof BadValue)) throw error
    throw new StartRefusal(`${given.where} is ${JSON.stringify(given.text)}: give ${error.message}.`)
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

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

// --- Sources

function readCommandLine(argv: readonly string[], cwd: string): { values: GivenValues; configFile?: string } {
  // Before commander, which would repeat the value in its message.
  if (argv.some((argument) => /^--admin-?password(=|$)/i.test(argument))) {
    throw new StartRefusal(`A password on the command line is seen by every user of this machine: ${passwordRemedy}.`)
  }

  let printed = ''
  const command = new Command(startCommand)
    .description(`Hyperplane ${packageJson.version}: a control plane for hyperconverged infrastructure.`)
    .usage('[options]')
    .version(packageJson.version)
    .option('--config <FILE>', `settings file (default: ${configFileName} in the working directory, if it exists)`)
    .allowExcessArguments(true)
    .exitOverride()
    .configureOutput({ writeOut: (text) => (printed += text), writeErr: () => {} })
    .addHelpText(
      'after',
      `\nEach option is also a variable (--rate-limits: HYPERPLANE_RATE_LIMITS) and a key of ${configFileName} (rate-limits).` +
        `\nThe command line wins over the environment, and the environment over the file.` +
        `\n${passwordVariable} sets the password of admin at the first start; without it, one is made and printed once.` +
        `\n${backupKeyVariable} holds the backup key itself, for those who keep it in no file.` +
        `\n"${startCommand} restore --from PLACE --point ID" makes an empty data folder from a backup, and starts nothing.` +
        `\n"${startCommand} check-backup --from PLACE" restores one for trial. PLACE is a folder or s3://BUCKET?endpoint=URL.`,
    )
  for (const name of settingNames) {
    const { argument, about, default: defaultText, repeatable } = settings[name]
    const shownDefault = argument === undefined || !defaultText ? '' : ` (default: ${defaultText})`
    const flags = `--${optionName(name)}${argument === undefined ? '' : ` <${argument}>`}`
    if (repeatable === true) command.option(flags, about, joined)
    else command.option(flags, about + shownDefault)
  }

  try {
    command.parse(argv, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) throw new InformationRequest(printed)
    // What follows a "=" may be a secret behind a mistyped name.
    const cause = error.message.replace(/^error: /, '').replace(/=[^\n]*'/, "'")
    throw new StartRefusal(`On the command line: ${cause}: run "${startCommand} --help" for the options.`)
  }
  if (command.args.length > 0) {
    throw new StartRefusal(
      `On the command line: ${JSON.stringify(command.args[0])} belongs to no option: run "${startCommand} --help" for the options.`,
    )
  }

  const { config: configFile, ...options } = command.opts<Record<string, string | true>>()
  const values = new Map<SettingName, Given>()
  for (const [name, value] of Object.entries({ ...options, ...(configFile && { config: configFile }) })) {
    const where = `--${optionName(name)}`
    // "--data --http" is a forgotten value, not a folder called "--http".
    if (typeof value === 'string' && value.startsWith('--')) {
      throw new StartRefusal(`${where} has no value: give one after it; ${JSON.stringify(value)} is an option itself.`)
    }
    if (name !== 'config') values.set(name as SettingName, { text: String(value), where, folder: cwd })
  }
  return { values, configFile: configFile as string | undefined }
}

function readEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
): { values: GivenValues; configFile?: string; adminPassword?: string; backupKey?: string } {
  const byVariable = new Map(settingNames.map((name) => [variableName(name), name]))
  const values = new Map<SettingName, Given>()
  let configFile: string | undefined
  let adminPassword: string | undefined
  let backupKey: string | undefined
  for (const [variable, text] of Object.entries(env)) {
    if (!variable.startsWith('HYPERPLANE_') || text === undefined) continue
    const name = byVariable.get(variable)
    if (name !== undefined) values.set(name, { text, where: variable, folder: cwd })
    else if (variable === passwordVariable) adminPassword = text
    else if (variable === backupKeyVariable) backupKey = text
    else if (variable === 'HYPERPLANE_CONFIG') configFile = text
    else {
      throw new StartRefusal(
        `The variable ${variable} is unknown: remove it, or correct its name ("${startCommand} --help" lists the options).`,
      )
    }
  }
  if (adminPassword === '') throw new StartRefusal(`${passwordVariable} is empty: give it a value or leave it out.`)
  return { values, configFile, adminPassword, backupKey }
}

function readFile(askedFor: string | undefined, cwd: string): GivenValues {
  if (askedFor === '') throw new StartRefusal('--config is empty: give a file or leave it out.')
  const path = resolve(cwd, askedFor ?? configFileName)
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (askedFor === undefined && reasonOf(error) === 'ENOENT') return new Map()
    throw new StartRefusal(
      `The settings file ${path} cannot be read (${reasonOf(error)}): correct the path or the file's permissions.`,
      { cause: error },
    )
  }

  const lines = lineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const at = (offset: number) => {
    const { line, col } = lines.linePos(offset)
    return `${path}:${line}:${col}`
  }
  const fault = document.errors[0]
  if (fault !== undefined) throw new StartRefusal(`${at(fault.pos[0])}: ${fault.message}: correct the file.`)
  if (document.contents === null) return new Map()
  if (!isMap(document.contents)) {
    throw new StartRefusal(`${at(document.contents.range[0])}: expected lines of "option: value": correct the file.`)
  }

  const byKey = new Map(settingNames.map((name) => [optionName(name), name]))
  const values = new Map<SettingName, Given>()
  for (const { key, value } of document.contents.items) {
    const keyText = isScalar(key) ? String(key.value) : 'a key that is no word'
    const position = at(isScalar(key) && key.range ? key.range[0] : 0)
    if (/^admin[-_]?password$/i.test(keyText)) {
      throw new StartRefusal(`${position}: ${keyText} is not read from a file: ${passwordRemedy}.`)
    }
    const name = byKey.get(keyText)
    if (name === undefined) {
      throw new StartRefusal(`${position}: ${keyText} is unknown: use one of ${[...byKey.keys()].join(', ')}.`)
    }
    if (settings[name].repeatable === true && isSeq(value)) {
      const text = value.items.map((item) => (isScalar(item) ? String(item.value) : '?')).join(',')
      values.set(name, { text, where: `${position}: ${keyText}`, folder: dirname(path) })
      continue
    }
    if (!isScalar(value) || value.value === null) {
      throw new StartRefusal(
        `${position}: ${keyText} has no plain value: give one after the colon, or remove the line.`,
      )
    }
    // The source, not the value: 09440 or 1e1 should be judged as written.
    const source = value.source ?? String(value.value)
    values.set(name, { text: source, where: `${position}: ${keyText}`, folder: dirname(path) })
  }
  return values
}

/** rateLimits -> rate-limits */
function optionName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

/** rateLimits -> HYPERPLANE_RATE_LIMITS */
function variableName(name: string): string {
  return `HYPERPLANE_${optionName(name).replaceAll('-', '_').toUpperCase()}`
}

// --- Values

function choice<const Choices extends readonly [string, ...string[]]>(
  about: string,
  choices: Choices,
  defaultChoice: Choices[number] = choices[0],
): Setting<Choices[number]> {
  return {
    about,
    argument: choices.join('|'),
    default: defaultChoice,
    parse(text) {
      if (!choices.includes(text)) throw new BadValue(choices.join(', ').replace(/, ([^,]+)$/, ' or $1'))
      return text
    },
  }
}

function parseHost(text: string): string {
  const host = text.replace(/^\[(.*)\]$/, '$1').toLowerCase()
  const label = '[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?'
  // A name whose last part is a number is a mistyped address.
  const isName = new RegExp(`^${label}(\\.${label})*$`).test(host) && !/(^|\.)\d+$/.test(host)
  if (isIP(host) === 0 && !isName) throw new BadValue('an IP address or a host name')
  return host
}

function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (!(port <= 65_535)) throw new BadValue('a number from 0 to 65535')
  return port
}

function parseImportMebibytes(text: string): number {
  const mebibytes = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN
  if (!(mebibytes >= 1 && mebibytes <= 400)) throw new BadValue('a number from 1 to 400')
  return mebibytes
}

function parsePath(text: string, folder: string): string {
  return resolve(folder, text)
}

function parseSeed(text: string, folder: string): Config['seed'] {
  const preset = presets.find((name) => name === text)
  if (preset !== undefined) return preset
  if (!/\.ya?ml$/i.test(text)) throw new BadValue(`${presets.join(', ')}, or a file whose name ends in .yaml`)
  return { file: parsePath(text, folder) }
}

function parseClock(text: string): Config['clock'] {
  if (text === 'real' || text === 'frozen') return text
  const scale = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (!(scale > 0 && scale <= 1_000_000)) throw new BadValue('real, frozen, or a number above 0 and up to 1000000')
  return scale
}

/** Values of an option that is given again. */
const joined = (text: string, before: string | undefined): string => (before === undefined ? text : `${before},${text}`)

function parseNetworks(text: string): readonly string[] {
  const networks = text === '' ? [] : text.split(',').map((network) => network.trim())
  if (!networks.every(isNetwork)) throw new BadValue('networks such as 127.0.0.0/8 or ::1, separated by commas')
  return networks
}

function parseSwitch(text: string): boolean {
  if (text !== 'true' && text !== 'false') throw new BadValue('true or false')
  return text === 'true'
}

function parseOrigin(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  // Comparing with the origin refuses path, query, fragment, user and password at once.
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.href !== `${url.origin}/`) {
    throw new BadValue('a URL such as https://hyperplane.example:9440, without path, user or password')
  }
  return url.origin
}
