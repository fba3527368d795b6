import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { isNetwork } from '../core/access/address-guard.ts'
import { presets } from '../seeds/presets.ts'
import type { SeedSource } from '../seeds/read-seed.ts'

export interface Setting<Value> {
  readonly about: string
  /** For `--help`; undefined: a switch. */
  readonly argument?: string
  readonly default?: string
  /** A list in the file; `parse` gets the values separated by commas. */
  readonly repeatable?: true
  /** @param folder where relative paths start. @throws BadValue */
  parse(text: string, folder: string): Value
}

/** The message says what to give instead. */
export class BadValue extends Error {}

export function choice<const Choices extends readonly [string, ...string[]]>(
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

export function parseHost(text: string): string {
  const host = text.replace(/^\[(.*)\]$/, '$1').toLowerCase()
  const label = '[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?'
  // A name whose last label is a number is a mistyped address.
  const isName = new RegExp(`^${label}(\\.${label})*$`).test(host) && !/(^|\.)\d+$/.test(host)
  if (isIP(host) === 0 && !isName) throw new BadValue('an IP address or a host name')
  return host
}

export function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (!(port <= 65_535)) throw new BadValue('a number from 0 to 65535')
  return port
}

export function parseImportMebibytes(text: string): number {
  const mebibytes = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN
  if (!(mebibytes >= 1 && mebibytes <= 400)) throw new BadValue('a number from 1 to 400')
  return mebibytes
}

export function parsePath(text: string, folder: string): string {
  return resolve(folder, text)
}

export function parseSeed(text: string, folder: string): SeedSource {
  const preset = presets.find((name) => name === text)
  if (preset !== undefined) return preset
  if (!/\.ya?ml$/i.test(text)) throw new BadValue(`${presets.join(', ')}, or a file whose name ends in .yaml`)
  return { file: parsePath(text, folder) }
}

export function parseClock(text: string): 'real' | 'frozen' | number {
  if (text === 'real' || text === 'frozen') return text
  const scale = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (!(scale > 0 && scale <= 1_000_000)) throw new BadValue('real, frozen, or a number above 0 and up to 1000000')
  return scale
}

export const joined = (text: string, before: string | undefined): string =>
  before === undefined ? text : `${before},${text}`

export function parseNetworks(text: string): readonly string[] {
  const networks = text === '' ? [] : text.split(',').map((network) => network.trim())
  if (!networks.every(isNetwork)) throw new BadValue('networks such as 127.0.0.0/8 or ::1, separated by commas')
  return networks
}

export function parseSwitch(text: string): boolean {
  if (text !== 'true' && text !== 'false') throw new BadValue('true or false')
  return text === 'true'
}

/** Plain HTTP on this machine only: the content is not signed. */
export function parseEndpoint(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))
  if (url === undefined || !isSafe || url.href !== `${url.origin}/`)
    throw new BadValue('an https:// URL without path, user or password; http:// only for this machine')
  return url.origin
}

export function parseRegion(text: string): string {
  if (!/^[a-z0-9-]{1,64}$/i.test(text)) throw new BadValue('a region such as eu-west-1')
  return text
}

export function isLoopback(host: string): boolean {
  return ['localhost', '::1', '[::1]'].includes(host) || (isIP(host) === 4 && host.startsWith('127.'))
}

export function parseOrigin(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  // The comparison with the origin refuses path, query, fragment, user and password at once.
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.href !== `${url.origin}/`) {
    throw new BadValue('a URL such as https://hyperplane.example:9440, without path, user or password')
  }
  return url.origin
}
