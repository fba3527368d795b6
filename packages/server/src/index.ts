/**
 * The service in a test's own process: `await using hyperplane = await startHyperplane()`. It takes a free port, prints
 * nothing, and leaves nothing behind. A process may hold many.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import {
  type Client,
  type ClientOptions,
  type ControlClient,
  createClient,
  createControlClient,
} from '@hyperplane/client'
import { createApp } from './app.ts'
import { type Config, configOf } from './config.ts'
import { generatedPassword } from './core/passwords.ts'
import { storeFiles } from './exchange-stores.ts'
import { certificatePath } from './http/certificate.ts'
import { StartRefusal } from './start-refusal.ts'
import { trustingFetch } from './trusting-fetch.ts'

export { ApiRefusal, type Client, type ControlClient, TaskFailure } from '@hyperplane/client'
export { StartRefusal } from './start-refusal.ts'

const settingNames = [
  'port',
  'seed',
  'clock',
  'durations',
  'rateLimits',
  'limits',
  'tier',
  'lockout',
  'control',
  'names',
  'versions',
  'allowOutbound',
  'offline',
] as const satisfies readonly (keyof Config)[]

/**
 * As on the command line, with three other defaults: a free port, plain HTTP, and rate limits that are off, since by the real
 * clock a fast machine would meet them and a slow one not.
 */
export interface HyperplaneOptions extends Partial<Pick<Config, (typeof settingNames)[number]>> {
  /** Time of the world at its start; default: the real time. */
  readonly startTime?: string | Date
  /** Keeps everything; what it holds is used again. Default: a temporary one, which is removed at the end. */
  readonly data?: string
  /** Of the user `admin`. Default: a new one; a data folder that was used before has one already, and needs to be told. */
  readonly adminPassword?: string
  /** With a certificate of a local authority; default: plain HTTP, on the loopback address. */
  readonly https?: boolean
  /** What is told on stderr; default: nothing. */
  readonly logLevel?: 'silent' | 'error' | 'warn' | 'info' | 'debug'
}

export type Credentials = Pick<ClientOptions, 'username' | 'password' | 'apiKey'>

export interface Hyperplane extends AsyncDisposable {
  /** Origin, without a trailing slash: the interface is below `/api`, the control interface below `/control`. */
  readonly url: string
  readonly adminPassword: string
  /** The file that clients of HTTPS trust (PEM); undefined with plain HTTP. */
  readonly certificate: string | undefined
  /** The interface of the world `default`, as `admin`. */
  readonly client: Client
  /** The control interface: worlds, clocks, faults, events, journals. A call that names no world is for `default`. */
  readonly control: ControlClient
  /** The interface of the world `default`, as somebody else. */
  as(credentials: Credentials): Client
  /** The interface of another world, as its `admin`, who has the password of `default` unless the world was given one. */
  world(name: string, credentials?: Credentials): Client
  /** Requests under way are answered; then the port is free and the temporary folder gone. */
  close(): Promise<void>
}

/** @throws StartRefusal for options that are not understood, seeds with faults, folders in use; nothing is left then */
export async function startHyperplane(options: HyperplaneOptions = {}): Promise<Hyperplane> {
  refuseUnknown(options)
  const folder = options.data === undefined ? mkdtempSync(join(tmpdir(), 'hyperplane-')) : resolve(options.data)
  const clearUp = (): void => {
    if (options.data === undefined) rmSync(folder, { recursive: true, force: true })
  }
  try {
    const adminPassword = options.adminPassword ?? newPassword(folder)
    const config = { ...configIn(folder, options), adminPassword }
    const app = await createApp(config, {
      logLevel: options.logLevel ?? 'silent',
      // What is removed at the end need not outlive the machine.
      durable: options.data !== undefined,
      ...(options.startTime === undefined ? {} : { startAt: millisecondsOf(options.startTime) }),
    })
    const { url } = await app.listen().catch(async (error) => {
      await app.close()
      throw error
    })
    const certificate = config.http ? undefined : certificatePath(config)
    const connection = {
      url,
      pollMilliseconds: 5,
      ...(certificate === undefined ? {} : { fetch: trustingFetch(certificate) }),
    }
    const admin = { username: 'admin', password: adminPassword }
    let closing: Promise<void> | undefined
    const close = (): Promise<void> => (closing ??= app.close().finally(clearUp))
    return {
      url,
      adminPassword,
      certificate,
      client: createClient({ ...connection, ...admin }),
      control: createControlClient({ ...connection, ...admin }),
      as: (credentials) => createClient({ ...connection, ...credentials }),
      world: (name, credentials = admin) => createClient({ ...connection, ...credentials, world: name }),
      close,
      [Symbol.asyncDispose]: close,
    }
  } catch (error) {
    clearUp()
    throw error
  }
}

function configIn(data: string, options: HyperplaneOptions): Config {
  const { seed, https = false, port = 0, rateLimits = 'off' } = options
  const given = Object.fromEntries(settingNames.map((name) => [name, options[name]]))
  const preset = typeof seed === 'object' ? undefined : seed
  const config = configOf({ ...given, port, rateLimits, seed: preset, data, http: !https }, process.cwd())
  // A file or a text, which no command line could say.
  if (typeof seed !== 'object') return config
  return { ...config, seed: 'file' in seed ? { file: resolve(seed.file) } : seed }
}

function newPassword(folder: string): string {
  if (!existsSync(storeFiles(folder).first)) return generatedPassword()
  throw new StartRefusal(`The data folder ${folder} was used before: give the adminPassword that it was made with.`)
}

/** For those whom the compiler does not tell. */
function refuseUnknown(options: object): void {
  const names = [...settingNames, 'startTime', 'data', 'adminPassword', 'https', 'logLevel']
  const unknown = Object.keys(options).filter((name) => !names.includes(name))
  if (unknown.length > 0)
    throw new StartRefusal(`The option ${unknown.join(', ')} is unknown: use one of ${names.sort().join(', ')}.`)
}

function millisecondsOf(time: string | Date): number {
  const milliseconds = new Date(time).getTime()
  if (!Number.isNaN(milliseconds)) return milliseconds
  throw new StartRefusal(`startTime is ${JSON.stringify(time)}: give a time such as 2026-01-01T00:00:00Z.`)
}
