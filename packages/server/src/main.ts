import './boot/node-version.js'
import { mkdirSync } from 'node:fs'

// Everything else is imported after the check above: an older Node would stop at the first import that it does not know.
await import('./boot/source-loader.ts')
const { readConfig, InformationRequest } = await import('./config/config.ts')
const { reasonOf, StartRefusal } = await import('./core/start-refusal.ts')
const { diskFault } = await import('./store/disk-fault.ts')

/** Below the 10 s that a stop may take. */
const drainMillis = 9_000

/** After the first answers; the collection takes some 50 ms. */
const settleMillis = 1_000

let stopped = false
const [command, ...options] = process.argv.slice(2)
if (command === 'restore') restore(options).catch(refuse)
else if (command === 'check-backup') checkBackup(options).catch((error: unknown) => refuse(error, 2))
else if (command === 'rotate-key') rotateKey(options).catch(refuse)
else start().catch(refuse)

/** Makes a data folder from a backup; nothing is started. */
async function restore(argv: readonly string[]): Promise<void> {
  const { readRestore, restoreOffline } = await import('./commands/restore.ts')
  print([await restoreOffline(readRestore(argv, process.env, process.cwd()))])
}

/** Exits with 0 for a good restore point, 1 for a broken one, 2 when that could not be found out. */
async function checkBackup(argv: readonly string[]): Promise<void> {
  const { checkBackup, readCheck } = await import('./commands/check-backup.ts')
  const { code, lines } = await checkBackup(readCheck(argv, process.env, process.cwd()))
  print(lines)
  process.exitCode = code
}

/** Protects the secrets of a data folder with another master key; nothing is started. */
async function rotateKey(argv: readonly string[]): Promise<void> {
  const { rotateKey } = await import('./commands/rotate-key.ts')
  print([await rotateKey(argv)])
}

async function start(): Promise<void> {
  const config = readConfig(process.argv.slice(2), process.env, process.cwd())
  // Programs that the service starts have no use for it.
  delete process.env['HYPERPLANE_ADMIN_PASSWORD']
  delete process.env['HYPERPLANE_BACKUP_KEY']

  // What Node makes of the sources is kept beside the data: later starts read it instead of making it again.
  const { enableCompileCache } = await import('node:module')
  makeFolder(config.data)
  makeFolder(`${config.data}/cache`)
  enableCompileCache(`${config.data}/cache`)
  const { createApp } = await import('./app.ts')
  const { giveBackMemory } = await import('./worlds/give-back-memory.ts')
  const { certificatePath } = await import('./http/certificate.ts')
  const opening = createApp(config, { tell: (line) => print([line]), worldsGone: () => void giveBackMemory() })
  // From here on there is something to close; a signal during the start waits until it can be closed.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop(opening))
  const app = await opening
  // Before anything can fail: a generated password is told only once, and the world with it exists from now on.
  print(app.banner)
  if (stopped) return
  const { url } = await app.listen().catch((error: unknown) => {
    throw refusalToListen(error, config.host, config.port)
  })
  if (stopped) return

  const api = new URL('/api', url).href
  print([
    `URL          ${api}`,
    'User         admin',
    ...(config.http ? [] : [`Certificate  ${certificatePath(config)}`]),
    `World        ${config.data}`,
    `Ready in ${Math.round(performance.now())} ms: ${api}`,
  ])
  // Frees memory that only the start needed: sources, schemas under construction, the young generation.
  setTimeout(() => void giveBackMemory(), settleMillis).unref()
}

/** The folder of the data is its owner's alone; Node would make it for everybody, on the way to that of its cache. */
function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  } catch {
    // Told by whoever opens it, with what to do.
  }
}

function print(lines: readonly string[]): void {
  for (const line of lines) process.stdout.write(`${line}\n`)
}

/** Asked twice, it goes on: a terminal and npm each pass the same Ctrl-C. */
function stop(opening: Promise<{ close(): Promise<void> }>): void {
  if (stopped) return
  stopped = true
  setTimeout(() => process.exit(0), drainMillis)
  opening.then(
    (app) => app.close().then(() => process.exit(0), refuse),
    () => {}, // start() tells of it
  )
}

function refusalToListen(error: unknown, host: string, port: number): unknown {
  const code = reasonOf(error)
  if (code === 'EADDRINUSE') {
    return new StartRefusal(
      `Port ${port} on ${host} is taken: stop what listens there, or choose another with --port (0 for a free one).`,
    )
  }
  if (code === 'EACCES') {
    return new StartRefusal(`Port ${port} on ${host} is not allowed to this user: choose one from 1024 on with --port.`)
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return new StartRefusal(`${host} is no address of this machine: give one of its own with --host.`)
  }
  const fault = diskFault(error)
  if (fault !== undefined) return new StartRefusal(`${fault} Free room on it, then start again.`, { cause: error })
  return error
}

function refuse(error: unknown, code = 1): void {
  if (error instanceof InformationRequest) {
    process.stdout.write(error.text, () => process.exit(0))
    return
  }
  const text = error instanceof StartRefusal ? error.message : error instanceof Error ? error.stack : String(error)
  process.stderr.write(`${text}\n`, () => process.exit(code))
}
