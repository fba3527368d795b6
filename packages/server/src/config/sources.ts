import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { Command, CommanderError } from 'commander'
import packageJson from '../../package.json' with { type: 'json' }
import { startCommand } from '../core/command-name.ts'
import { reasonOf, StartRefusal } from '../core/start-refusal.ts'
import { isMap, isScalar, isSeq, lineCounter, parseDocument } from '../core/yaml.ts'
import { isSettingName, optionName, type SettingName, settingNames, settings, variableName } from './options.ts'
import { joined } from './values.ts'

export interface WrittenValue {
  readonly text: string
  readonly where: string
  readonly folder: string
}
export type WrittenValues = ReadonlyMap<SettingName, WrittenValue>

export type Environment = Readonly<Record<string, string | undefined>>

/** Thrown for `--help` and `--version`: the caller prints `text` and starts nothing. */
export class InformationRequest extends Error {
  readonly text: string

  constructor(text: string) {
    super('the command line asks for information only')
    this.text = text
  }
}

const configFileName = 'hyperplane.yaml'
const passwordVariable = 'HYPERPLANE_ADMIN_PASSWORD'
export const backupKeyVariable = 'HYPERPLANE_BACKUP_KEY'
export const objectStoreKeyVariable = 'HYPERPLANE_OBJECT_STORE_KEY'
const passwordRemedy = `the password of admin is taken only from the variable ${passwordVariable}`

/** @throws InformationRequest; StartRefusal for an unknown or incomplete option */
export function readCommandLine(
  argv: readonly string[],
  cwd: string,
): { readonly values: WrittenValues; readonly configFile: string | undefined } {
  // Checked before commander parses: its message would repeat the password.
  if (argv.some((argument) => /^--admin-?password(=|$)/i.test(argument))) {
    throw new StartRefusal(`Every user of this machine can see a password on the command line: ${passwordRemedy}.`)
  }
  const values = new Map<SettingName, WrittenValue>()
  let configFile: string | undefined
  for (const [name, value] of Object.entries(parseOptions(argv))) {
    const where = `--${optionName(name)}`
    // In "--data --http" the value of --data is missing.
    if (typeof value === 'string' && value.startsWith('--')) {
      throw new StartRefusal(`${where} has no value: give one after it; ${JSON.stringify(value)} is an option itself.`)
    }
    if (isSettingName(name)) values.set(name, { text: String(value), where, folder: cwd })
    else if (name === 'config') configFile = String(value)
  }
  return { values, configFile }
}

function parseOptions(argv: readonly string[]): Readonly<Record<string, string | true>> {
  let printed = ''
  const command = createCommand((text) => (printed += text))
  try {
    command.parse(argv, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) throw new InformationRequest(printed)
    // The text after a "=" may be a secret behind a mistyped name.
    const cause = error.message.replace(/^error: /, '').replace(/=[^\n]*'/, "'")
    throw new StartRefusal(`On the command line: ${cause}: run "${startCommand} --help" for the options.`)
  }
  if (command.args.length > 0) {
    throw new StartRefusal(
      `On the command line: ${JSON.stringify(command.args[0])} belongs to no option: run "${startCommand} --help" for the options.`,
    )
  }
  return command.opts()
}

function createCommand(print: (text: string) => void): Command {
  const command = new Command(startCommand)
    .description(`Hyperplane ${packageJson.version}: a control plane for hyperconverged infrastructure.`)
    .usage('[options]')
    .version(packageJson.version)
    .option('--config <FILE>', `settings file (default: ${configFileName} in the working directory, if it exists)`)
    .allowExcessArguments(true)
    .exitOverride()
    .configureOutput({ writeOut: print, writeErr: () => {} })
    .addHelpText(
      'after',
      `\nEach option is also a variable (--rate-limits: HYPERPLANE_RATE_LIMITS) and a key of ${configFileName} (rate-limits).` +
        `\nThe command line wins over the environment, and the environment over the file.` +
        `\n${passwordVariable} sets the password of admin at the first start; otherwise one is generated and printed once.` +
        `\n${backupKeyVariable} holds the backup key itself, instead of a file.` +
        `\n${objectStoreKeyVariable} holds the access key of the object store, instead of a file.` +
        `\n"${startCommand} restore --from PLACE --point ID" makes an empty data folder from a backup, and starts nothing.` +
        `\n"${startCommand} check-backup --from PLACE" restores a backup for trial. PLACE is a folder or s3://BUCKET?endpoint=URL.`,
    )
  for (const name of settingNames) {
    const { argument, about, default: defaultText, repeatable } = settings[name]
    const defaultNote = argument === undefined || !defaultText ? '' : ` (default: ${defaultText})`
    const flags = `--${optionName(name)}${argument === undefined ? '' : ` <${argument}>`}`
    if (repeatable === true) command.option(flags, about, joined)
    else command.option(flags, about + defaultNote)
  }
  return command
}

export interface EnvironmentValues {
  readonly values: WrittenValues
  readonly configFile: string | undefined
  readonly adminPassword: string | undefined
  readonly backupKey: string | undefined
  readonly objectStoreKey: string | undefined
}

/** @throws StartRefusal for an unknown variable that begins with HYPERPLANE_ */
export function readEnvironment(env: Environment, cwd: string): EnvironmentValues {
  const byVariable = new Map(settingNames.map((name) => [variableName(name), name]))
  const values = new Map<SettingName, WrittenValue>()
  let configFile: string | undefined
  let adminPassword: string | undefined
  let backupKey: string | undefined
  let objectStoreKey: string | undefined
  for (const [variable, text] of Object.entries(env)) {
    if (!variable.startsWith('HYPERPLANE_') || text === undefined) continue
    const name = byVariable.get(variable)
    if (name !== undefined) values.set(name, { text, where: variable, folder: cwd })
    else if (variable === passwordVariable) adminPassword = text
    else if (variable === backupKeyVariable) backupKey = text
    else if (variable === objectStoreKeyVariable) objectStoreKey = text
    else if (variable === 'HYPERPLANE_CONFIG') configFile = text
    else {
      throw new StartRefusal(
        `The variable ${variable} is unknown: remove it, or correct its name ("${startCommand} --help" lists the options).`,
      )
    }
  }
  if (adminPassword === '') throw new StartRefusal(`${passwordVariable} is empty: give it a value or leave it out.`)
  return { values, configFile, adminPassword, backupKey, objectStoreKey }
}

/** @param file undefined: `hyperplane.yaml` of the working directory, if any */
export function readFile(file: string | undefined, cwd: string): WrittenValues {
  if (file === '') throw new StartRefusal('--config is empty: give a file or leave it out.')
  const path = resolve(cwd, file ?? configFileName)
  const text = readText(path, file !== undefined)
  if (text === undefined) return new Map()

  const lines = lineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const positionOf = (offset: number): string => {
    const { line, col } = lines.linePos(offset)
    return `${path}:${line}:${col}`
  }
  const fault = document.errors[0]
  if (fault !== undefined) throw new StartRefusal(`${positionOf(fault.pos[0])}: ${fault.message}: correct the file.`)
  if (document.contents === null) return new Map()
  if (!isMap(document.contents)) {
    const position = positionOf(document.contents.range[0])
    throw new StartRefusal(`${position}: expected lines of "option: value": correct the file.`)
  }

  const values = new Map<SettingName, WrittenValue>()
  for (const { key, value } of document.contents.items) {
    const keyText = isScalar(key) ? String(key.value) : 'a key that is no word'
    const position = positionOf(isScalar(key) && key.range ? key.range[0] : 0)
    const name = settingOf(keyText, position)
    const where = `${position}: ${keyText}`
    values.set(name, { text: textOf(value, name, where), where, folder: dirname(path) })
  }
  return values
}

function readText(path: string, isRequired: boolean): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (!isRequired && reasonOf(error) === 'ENOENT') return undefined
    throw new StartRefusal(
      `The settings file ${path} cannot be read (${reasonOf(error)}): correct the path or the file's permissions.`,
      { cause: error },
    )
  }
}

function settingOf(key: string, position: string): SettingName {
  if (/^admin[-_]?password$/i.test(key)) {
    throw new StartRefusal(`${position}: ${key} is not read from a file: ${passwordRemedy}.`)
  }
  const name = settingNames.find((each) => optionName(each) === key)
  if (name !== undefined) return name
  throw new StartRefusal(`${position}: ${key} is unknown: use one of ${settingNames.map(optionName).join(', ')}.`)
}

function textOf(value: unknown, name: SettingName, where: string): string {
  if (settings[name].repeatable === true && isSeq(value))
    return value.items.map((item) => (isScalar(item) ? String(item.value) : '?')).join(',')
  if (!isScalar(value) || value.value === null)
    throw new StartRefusal(`${where} has no plain value: give one after the colon, or remove the line.`)
  // 09440 or 1e1 are judged as written, not as YAML reads them.
  return value.source ?? String(value.value)
}
