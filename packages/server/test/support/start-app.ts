/** The real service for a test: in process, real store, simulated world, a clock that stands until it is moved. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type App, createApp } from '../../src/app.ts'
import type { Config } from '../../src/config/config.ts'
import type { ClientCertificate } from '../../src/core/ports.ts'
import type { AppOptions } from '../../src/instance/app-options.ts'
import { begin, keepBeginning } from './beginnings.ts'
import { callInProcess } from './in-process.ts'

export const adminPassword = 'Admin.Passw0rd!'

export interface TestApp extends App {
  /**
   * Calls an operation by method and path (below /api, canonical names; with /control in front, of the control interface).
   * Credentials: `admin` unless told otherwise.
   */
  call(method: string, path: string, options?: CallOptions): Promise<CallResult>
  /** The same app, whose calls are sent although tasks of earlier calls are under way. */
  readonly atOnce: TestApp
  readonly folder: string
  /** Waits until a task has ended and answers it. */
  task(started: CallResult | string): Promise<any>
}

export interface CallOptions {
  readonly body?: unknown
  /** Sent instead of JSON. */
  readonly form?: FormData
  /** Shown when connecting; counts without other credentials: give `as: null`. */
  readonly certificate?: ClientCertificate
  /** `name:password`; null: none. */
  readonly as?: string | null
  readonly apiKey?: string
  readonly ifMatch?: string
  readonly requestId?: string
  readonly clusterId?: string
  readonly accept?: string
  readonly unknown?: 'refuse' | 'ignore'
  readonly address?: string
  /** Whose interface is called; default: that of `default`. */
  readonly world?: string
  /** Sent although tasks of earlier calls are under way. On a frozen clock other calls wait for them, as over a socket. */
  readonly isAtOnce?: boolean
}

export interface CallResult {
  readonly status: number
  readonly data: any
  /** Messages of a refusal, flat. */
  readonly errors: readonly {
    code?: string
    errorGroup?: string
    message: string
    attributePath?: string
    argumentsMap?: Record<string, string>
  }[]
  readonly total?: number
  readonly etag?: string
  readonly location?: string
  readonly headers: Readonly<Record<string, string>>
  readonly warnings: readonly string[]
  readonly replayed?: boolean
  /** By a fault, a client would have heard nothing of it, or not all. */
  readonly isCut?: boolean
}

export interface TestSettings extends AppOptions {
  readonly config?: Partial<Config>
  /** Keeps and reuses this folder. */
  readonly folder?: string
  /** By its seed, with keys of its own, even where another world of this process began alike. */
  readonly isFilledAnew?: true
}

/** Passwords of tests need not be safe, and most tests begin with one. */
const cheap = { memory: 256, passes: 1, parallelism: 1 }

/** Time at which test worlds begin. */
export const beginning = Date.parse('2026-03-02T09:00:00Z')

const usual: Omit<Config, 'data'> = {
  host: '127.0.0.1',
  port: 0,
  seed: 'demo',
  rateLimits: 'off',
  limits: 'real-time',
  tier: 'small',
  names: 'spec',
  durations: 'instant',
  clock: 'frozen',
  versions: 'strict',
  lockout: 'on',
  control: 'on',
  importMebibytes: 400,
  http: true,
  publicUrl: undefined,
  tlsCert: undefined,
  tlsKey: undefined,
  masterKeyFile: undefined,
  backupKeyFile: undefined,
  allowAddress: [],
  allowOutbound: false,
  offline: false,
  adminPassword,
  backupKey: undefined,
}

/** What the beginning of a world follows from; nothing where that is more than these settings say, or chance. */
function likenessOf({ data: _, ...config }: Config, { logLevel: __, ...options }: AppOptions): string | undefined {
  const isDrawn = typeof config.seed !== 'string' || config.seed === 'empty'
  const hasOwnKey = [config.masterKeyFile, config.backupKeyFile, config.backupKey].some((key) => key !== undefined)
  const isCode = (value: unknown): boolean =>
    typeof value === 'function' || (typeof value === 'object' && Object.values(value ?? {}).some(isCode))
  return isDrawn || hasOwnKey || isCode(options) ? undefined : JSON.stringify([config, options])
}

export async function startApp(settings: TestSettings = {}): Promise<TestApp> {
  const { folder: given, isFilledAnew, config, ...options } = settings
  const folder = given ?? mkdtempSync(join(tmpdir(), 'hyperplane-test-'))
  const asked = { ...usual, ...config, data: folder }
  const like = given === undefined && isFilledAnew !== true ? likenessOf(asked, options) : undefined
  if (like !== undefined) begin(like, folder)
  const app = await createApp(asked, {
    durable: false,
    startAt: beginning,
    logLevel: 'error',
    hashCost: cheap,
    ...options,
  })
  if (like !== undefined) keepBeginning(like, folder)
  // A test that holds tasks up would wait for them itself.
  const isAtOnce = options.beforeStep !== undefined
  const call = (method: string, path: string, options: CallOptions = {}): Promise<CallResult> =>
    callInProcess(app, `admin:${adminPassword}`, method, path, { isAtOnce, ...options })
  const more: Omit<TestApp, Exclude<keyof App, 'close'> | 'atOnce'> = {
    folder,
    call,
    async task(started) {
      const id = typeof started === 'string' ? started : started.data?.extId
      if (typeof started !== 'string' && started.status !== 202)
        throw new Error(`no task: ${started.status} ${JSON.stringify(started.errors)}`)
      await app.runner.untilEnded(id)
      return (await call('GET', `/platform/v4.3/config/tasks/${id}`)).data
    },
    async close() {
      await app.close()
      if (settings.folder === undefined) rmSync(folder, { recursive: true, force: true })
    },
  }
  // Through the app: a restore puts another world in its place.
  const started: TestApp = Object.assign(Object.create(app), more)
  const atOnce: TestApp['call'] = (method, path, given = {}) => call(method, path, { ...given, isAtOnce: true })
  return Object.assign(started, { atOnce: Object.assign(Object.create(started), { call: atOnce }) })
}
