import './boot/node-version.js'
import { mkdirSync } from 'node:fs'
import type { Standby } from './app/standby.ts'

// Imports follow the version check: an older Node would fail at the first one that it does not support.
await import('./boot/source-loader.ts')
await import('./boot/tick-shape.ts')
const { readConfig, InformationRequest } = await import('./config/config.ts')
const { StartRefusal } = await import('./core/start-refusal.ts')

/** Below the 10 s that a stop may take. */
const stopMillis = 9_000

const lookAtMemoryMillis = 1_000

let stopped = false
const [command, ...options] = process.argv.slice(2)
if (command === 'restore') restore(options).catch(refuse)
else if (command === 'check-backup') checkBackup(options).catch((error: unknown) => refuse(error, 2))
else if (command === 'rotate-key') rotateKey(options).catch(refuse)
else start().catch(refuse)

async function restore(argv: readonly string[]): Promise<void> {
  const { readRestore, restoreOffline } = await import('./commands/restore.ts')
  print([await restoreOffline(readRestore(argv, process.env, process.cwd()))])
}

/** Exit code 0: good restore point, 1: broken, 2: the check itself failed. */
async function checkBackup(argv: readonly string[]): Promise<void> {
  const { checkBackup, readCheck } = await import('./commands/check-backup.ts')
  const { code, lines } = await checkBackup(readCheck(argv, process.env, process.cwd()))
  print(lines)
  process.exitCode = code
}

async function rotateKey(argv: readonly string[]): Promise<void> {
  const { rotateKey } = await import('./commands/rotate-key.ts')
  print([await rotateKey(argv)])
}

async function start(): Promise<void> {
  const config = readConfig(process.argv.slice(2), process.env, process.cwd())
  // Child processes must not inherit the secrets.
  delete process.env['HYPERPLANE_ADMIN_PASSWORD']
  delete process.env['HYPERPLANE_BACKUP_KEY']
  delete process.env['HYPERPLANE_OBJECT_STORE_KEY']

  const { enableCompileCache } = await import('node:module')
  makeFolder(config.data)
  makeFolder(`${config.data}/cache`)
  enableCompileCache(`${config.data}/cache`)
  const { createApp } = await import('./app.ts')
  const { Standby } = await import('./app/standby.ts')
  const { refusalToListen } = await import('./app/refusal-to-listen.ts')
  const { createTrimmer, IdleCollector } = await import('./worlds/give-back-memory.ts')
  const { certificatePath } = await import('./http/certificate.ts')
  const standby = config.standby ? new Standby(config, (line) => print([line])) : undefined
  let began = 0
  const collector = new IdleCollector()
  const open = () => {
    if (standby?.server !== undefined) began = performance.now()
    return createApp(config, {
      tell: (line) => print([line]),
      worldsGone: () => collector.request(),
    })
  }
  const opening = standby === undefined ? open() : standby.open(open)
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop(opening, standby))
  const app = await opening
  // Before anything else can fail: a generated password is shown only once.
  print(app.banner)
  if (stopped) return
  const { url } = await app.listen(standby?.server).catch((error: unknown) => {
    throw refusalToListen(error, config.host, config.port)
  })
  if (stopped) return

  const api = new URL('/api', url).href
  print([
    `URL          ${api}`,
    'User         admin',
    ...(config.http ? [] : [`Certificate  ${certificatePath(config)}`]),
    `World        ${config.data}`,
    `Ready in ${Math.round(performance.now() - began)} ms: ${api}`,
  ])
  // Memory that only the start needed.
  collector.request()
  const trim = createTrimmer()
  const keepMemoryLow = async (): Promise<void> => {
    if (!(await collector.look().catch(() => false))) trim()
  }
  setInterval(keepMemoryLow, lookAtMemoryMillis).unref()
}

/** Makes the folder private before the compile cache would create it readable by everybody. */
function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  } catch {
    // Opening the folder fails too, with a better message.
  }
}

function print(lines: readonly string[]): void {
  for (const line of lines) process.stdout.write(`${line}\n`)
}

/** Ignores a second signal: a terminal and npm each send one for the same Ctrl-C. */
function stop(opening: Promise<{ close(): Promise<void> }>, standby: Standby | undefined): void {
  if (stopped) return
  stopped = true
  setTimeout(() => process.exit(0), stopMillis)
  if (standby?.isWaiting) return void standby.close().then(() => process.exit(0))
  opening.then(
    (app) => app.close().then(() => process.exit(0), refuse),
    () => {}, // start() reports the failure
  )
}

function refuse(error: unknown, code = 1): void {
  if (error instanceof InformationRequest) {
    process.stdout.write(error.text, () => process.exit(0))
    return
  }
  const text = error instanceof StartRefusal ? error.message : error instanceof Error ? error.stack : String(error)
  process.stderr.write(`${text}\n`, () => process.exit(code))
}
