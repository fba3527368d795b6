/** Starts the real service for a test: in process, with a real store, a simulated world and a frozen clock. */

import { mkdtempSync, statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type App, createApp } from '../../src/app.ts'
import type { Config } from '../../src/config/config.ts'
import type { ClientCertificate } from '../../src/core/ports.ts'
import type { AppOptions } from '../../src/instance/app-options.ts'
import { IdleThreads } from '../../src/store/idle-threads.ts'
import { begin, keepBeginning } from './beginnings.ts'
import { callInProcess } from './in-process.ts'

export const adminPassword = 'Admin.Passw0rd!'

export interface TestApp extends App {
  /**
   * Calls an operation by method and path (below /api, canonical names; with /control in front, of the control
   * interface). Default credentials: `admin`.
   */
  call(method: string, path: string, options?: CallOptions): Promise<CallResult>
  /** The same app, whose calls do not wait for tasks of earlier calls. */
  readonly atOnce: TestApp
  readonly folder: string
  /** Calls without an answer yet. */
  callsUnderWay(): number
  /** Waits until a task has ended and answers it. */
  task(started: CallResult | string): Promise<any>
}

export interface CallOptions {
  readonly body?: unknown
  /** Sent instead of JSON. */
  readonly form?: FormData
  /** TLS client certificate; used only without other credentials (`as: null`). */
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
  /** Sent without waiting for tasks of earlier calls, as calls on a frozen clock otherwise do. */
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
  /** A fault dropped the answer, or a part of it. */
  readonly isCut?: boolean
}

export interface TestSettings extends AppOptions {
  readonly config?: Partial<Config>
  /** Keeps and reuses this folder. */
  readonly folder?: string
  /** Fills the world by its seed, with its own keys, instead of copying the baseline of an equal world. */
  readonly isFilledAnew?: true
  /** Why the app is not checked at its end, such as rows and facts that disagree on purpose. */
  readonly unchecked?: string
}

/** Cheap password hashes: nearly every test signs in. */
const cheap = { memory: 256, passes: 1, parallelism: 1 }

const idleJournalThreads = new IdleThreads()

/** Time at which test worlds begin. */
export const beginning = Date.parse('2026-03-02T09:00:00Z')

const usual: Omit<Config, 'data'> = {
  host: '127.0.0.1',
  port: 0,
  seed: 'demo',
  haReservation: 'off',
  rateLimits: 'off',
  limits: 'real-time',
  tier: 'small',
  names: 'spec',
  durations: 'instant',
  clock: 'frozen',
  versions: 'strict',
  lockout: 'on',
  control: 'on',
  standby: false,
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
  objectStore: undefined,
  objectStoreRegion: 'us-east-1',
  objectStoreKeyFile: undefined,
  objectStoreKey: undefined,
}

/** Key of a reusable baseline; undefined if the world also depends on other settings or on chance. */
function likenessOf({ data: _, ...config }: Config, { logLevel: __, ...options }: AppOptions): string | undefined {
  const isDrawn = typeof config.seed !== 'string' || config.seed === 'empty'
  const hasOwnKey = [config.masterKeyFile, config.backupKeyFile, config.backupKey].some((key) => key !== undefined)
  const isCode = (value: unknown): boolean =>
    typeof value === 'function' || (typeof value === 'object' && Object.values(value ?? {}).some(isCode))
  return isDrawn || hasOwnKey || isCode(options) ? undefined : JSON.stringify([config, options])
}

/** Checks of a larger store take seconds. */
const mostCheckedBytes = 16 * 1024 ** 2

/** An app whose world or folder is gone, or whose tasks wait for a time or an event, is not checked. */
async function checkAtRest(app: TestApp): Promise<void> {
  if (app.worlds.get('default')?.current === undefined || app.runner.size() > 0) return
  const file = statSync(join(app.folder, 'world.sqlite'), { throwIfNoEntry: false })
  if (file === undefined || file.size > mostCheckedBytes) return
  // Imported late: it reads the files of all kinds, which import this one.
  const { checkInvariants } = await import('./invariants.ts')
  await checkInvariants(app)
}

export async function startApp(settings: TestSettings = {}): Promise<TestApp> {
  const { folder: given, isFilledAnew, unchecked, config, ...options } = settings
  const folder = given ?? mkdtempSync(join(tmpdir(), 'hyperplane-test-'))
  const asked = { ...usual, ...config, data: folder }
  const like = given === undefined && isFilledAnew !== true ? likenessOf(asked, options) : undefined
  if (like !== undefined) begin(like, folder)
  const app = await createApp(asked, {
    durable: false,
    startAt: beginning,
    logLevel: 'error',
    hashCost: cheap,
    idleJournalThreads,
    ...options,
  })
  if (like !== undefined) keepBeginning(like, folder)
  let isClosed = false
  // A test that blocks tasks would wait for itself.
  const isAtOnce = options.beforeStep !== undefined
  let callsUnderWay = 0
  const call = async (method: string, path: string, options: CallOptions = {}): Promise<CallResult> => {
    callsUnderWay++
    try {
      return await callInProcess(app, `admin:${adminPassword}`, method, path, { isAtOnce, ...options })
    } finally {
      callsUnderWay--
    }
  }
  const more: Omit<TestApp, Exclude<keyof App, 'close'> | 'atOnce'> = {
    folder,
    call,
    callsUnderWay: () => callsUnderWay,
    async task(started) {
      const id = typeof started === 'string' ? started : started.data?.extId
      if (typeof started !== 'string' && started.status !== 202)
        throw new Error(`no task: ${started.status} ${JSON.stringify(started.errors)}`)
      await app.runner.untilEnded(id)
      return (await call('GET', `/platform/v4.3/config/tasks/${id}`)).data
    },
    async close() {
      const isChecked = unchecked === undefined && !isClosed
      isClosed = true
      try {
        if (isChecked) await checkAtRest(started)
      } finally {
        await app.close()
      }
      // Beside the next test: the file system takes longer than many a test.
      if (settings.folder === undefined) void rm(folder, { recursive: true, force: true, maxRetries: 3 })
    },
  }
  // Read through the app, because a restore replaces the world.
  const started: TestApp = Object.assign(Object.create(app), more)
  const atOnce: TestApp['call'] = (method, path, given = {}) => call(method, path, { ...given, isAtOnce: true })
  return Object.assign(started, { atOnce: Object.assign(Object.create(started), { call: atOnce }) })
}
