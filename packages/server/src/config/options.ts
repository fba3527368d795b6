import { presets } from '../seeds/presets.ts'
import type { SeedSource } from '../seeds/read-seed.ts'
import {
  choice,
  parseClock,
  parseEndpoint,
  parseHost,
  parseImportMebibytes,
  parseNetworks,
  parseOrigin,
  parsePath,
  parsePort,
  parseRegion,
  parseSeed,
  parseSwitch,
  type Setting,
} from './values.ts'

export interface Config {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  readonly data: string
  /** For a new data folder only. */
  readonly seed: SeedSource
  readonly rateLimits: 'on' | 'report' | 'off'
  /** By the clock of a frozen world, a throttled client would never be served again. */
  readonly limits: 'real-time' | 'world-clock'
  readonly tier: 'xsmall' | 'small' | 'large' | 'xlarge'
  /** Keeps memory free for VMs of the largest host of each cluster, if that fails. */
  readonly haReservation: 'on' | 'off'
  readonly names: 'spec' | 'public'
  readonly durations: 'instant' | 'natural'
  /** Number: world seconds per real second. */
  readonly clock: 'real' | 'frozen' | number
  readonly versions: 'strict' | 'loose'
  readonly lockout: 'on' | 'off'
  readonly control: 'on' | 'off'
  /** Forwards connections to the process that holds the data folder, and takes over when that ends. */
  readonly standby: boolean
  readonly importMebibytes: number
  /** Only on a loopback address. */
  readonly http: boolean
  /** Origin, without a trailing slash. */
  readonly publicUrl: string | undefined
  /** PEM files; both or none. */
  readonly tlsCert: string | undefined
  readonly tlsKey: string | undefined
  readonly masterKeyFile: string | undefined
  readonly backupKeyFile: string | undefined
  /** Loopback, link-local and metadata networks that may be called nevertheless. */
  readonly allowAddress: readonly string[]
  readonly allowOutbound: boolean
  /** No other machine is called, whatever else is allowed. */
  readonly offline: boolean
  /** Origin of the S3 service that images and OVAs are made from. */
  readonly objectStore: string | undefined
  readonly objectStoreRegion: string
  readonly objectStoreKeyFile: string | undefined
  /** Present if `objectStore` is. Secret: read only from the environment or the file, never quoted. */
  readonly objectStoreKey: AccessKey | undefined
  /** Secret: read only from the environment, never quoted. */
  readonly adminPassword: string | undefined
  /** Base64. Secret, like `adminPassword`. */
  readonly backupKey: string | undefined
}

export interface AccessKey {
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

export type Secrets = Pick<Config, 'adminPassword' | 'backupKey' | 'objectStoreKey'>

/** `rate-limits` on the command line and in the file, HYPERPLANE_RATE_LIMITS in the environment. */
export type SettingName = Exclude<keyof Config, keyof Secrets>

export const settings: { readonly [Name in SettingName]: Setting<Config[Name]> } = {
  host: { argument: 'HOST', about: 'address to listen on', default: '127.0.0.1', parse: parseHost },
  port: { argument: 'PORT', about: 'port to listen on, 0 for a free one', default: '9440', parse: parsePort },
  data: { argument: 'DIR', about: 'folder of everything that the service stores', default: './data', parse: parsePath },
  seed: {
    argument: 'SEED',
    about: `content of a new data folder: ${presets.join(', ')} or FILE.yaml`,
    default: 'demo',
    parse: parseSeed,
  },
  rateLimits: choice('enforce, only report, or ignore rate limits', ['on', 'report', 'off']),
  limits: choice('clock that rate limits count by', ['real-time', 'world-clock']),
  tier: choice('size of this manager, hence of its rate limits', ['xsmall', 'small', 'large', 'xlarge'], 'small'),
  haReservation: choice('keep the memory of one host free in each cluster', ['on', 'off'], 'off'),
  names: choice('naming profile of requests that show none', ['spec', 'public']),
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
  standby: {
    about: 'share the data folder: forward to the process that holds it, and take over when that ends',
    default: 'false',
    parse: parseSwitch,
  },
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
    about: 'key that encrypts backups, 32 bytes in base64 (default: backup.key in the data folder)',
    parse: parsePath,
  },
  objectStore: {
    argument: 'URL',
    about: 'S3 service with the buckets vmm-images and vmm-ovas, from which images and OVAs are made',
    parse: parseEndpoint,
  },
  objectStoreRegion: {
    argument: 'REGION',
    about: 'region of the object store',
    default: 'us-east-1',
    parse: parseRegion,
  },
  objectStoreKeyFile: {
    argument: 'FILE',
    about: 'access key of the object store, in one line: ACCESS-KEY-ID:SECRET',
    parse: parsePath,
  },
  allowAddress: {
    argument: 'CIDR',
    about: 'loopback, link-local or metadata network that the service may call (repeatable; default: none)',
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

export const settingNames = Object.keys(settings).filter(isSettingName)

export function isSettingName(name: string): name is SettingName {
  return Object.hasOwn(settings, name)
}

export function optionName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

export function variableName(name: string): string {
  return `HYPERPLANE_${optionName(name).replaceAll('-', '_').toUpperCase()}`
}
