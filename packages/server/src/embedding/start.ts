/** Imported after the check of the Node version. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createClient, createControlClient } from '@hyperplane/client'
import { createApp } from '../app.ts'
import { trustingFetch } from '../boot/trusting-fetch.ts'
import { type Config, configOf } from '../config/config.ts'
import { generatedPassword } from '../core/access/passwords.ts'
import { StartRefusal } from '../core/start-refusal.ts'
import { storeFiles } from '../data-folder/store-files.ts'
import { certificatePath } from '../http/certificate.ts'
import type { Hyperplane, HyperplaneOptions } from './types.ts'

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

/** Does not compile if an option and its setting differ, or one is missing. */
type Settings = { readonly [Name in (typeof settingNames)[number]]?: Config[Name] | undefined }
const otherNames = ['startTime', 'data', 'adminPassword', 'https', 'logLevel'] as const
type Others = (typeof otherNames)[number]
const sameValues = <T>(_: (value: T) => T): void => {}
sameValues<Required<Settings>>((options: Required<Omit<HyperplaneOptions, Others>>) => options)

/** @throws StartRefusal */
export async function startEmbedded(options: HyperplaneOptions): Promise<Hyperplane> {
  refuseUnknown(options)
  const folder = options.data === undefined ? mkdtempSync(join(tmpdir(), 'hyperplane-')) : resolve(options.data)
  const removeTemporary = (): void => {
    if (options.data === undefined) rmSync(folder, { recursive: true, force: true })
  }
  try {
    const adminPassword = options.adminPassword ?? newPassword(folder)
    const config = { ...configIn(folder, options), adminPassword }
    const app = await createApp(config, {
      logLevel: options.logLevel ?? 'silent',
      // A temporary folder need not survive a power failure.
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
    const close = (): Promise<void> => (closing ??= app.close().finally(removeTemporary))
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
    removeTemporary()
    throw error
  }
}

function configIn(data: string, options: HyperplaneOptions): Config {
  const { seed, https = false, port = 0, rateLimits = 'off' } = options
  const values = Object.fromEntries(settingNames.map((name) => [name, options[name]]))
  const preset = typeof seed === 'object' ? undefined : seed
  const config = configOf({ ...values, port, rateLimits, seed: preset, data, http: !https }, process.cwd())
  // A text seed is no command-line value.
  if (typeof seed !== 'object') return config
  return { ...config, seed: 'file' in seed ? { file: resolve(seed.file) } : seed }
}

function newPassword(folder: string): string {
  if (!existsSync(storeFiles(folder).first)) return generatedPassword()
  throw new StartRefusal(`The data folder ${folder} was used before: give the adminPassword that it was created with.`)
}

function refuseUnknown(options: object): void {
  const names: string[] = [...settingNames, ...otherNames]
  const unknown = Object.keys(options).filter((name) => !names.includes(name))
  if (unknown.length > 0)
    throw new StartRefusal(`The option ${unknown.join(', ')} is unknown: use one of ${names.sort().join(', ')}.`)
}

function millisecondsOf(time: string | Date): number {
  const milliseconds = new Date(time).getTime()
  if (!Number.isNaN(milliseconds)) return milliseconds
  throw new StartRefusal(`startTime is ${JSON.stringify(time)}: give a time such as 2026-01-01T00:00:00Z.`)
}
