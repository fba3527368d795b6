import './boot/node-version.js'
import { mkdirSync } from 'node:fs'

// Imports follow the version check: an older Node would fail at the first one that it does not support.
await import('./boot/source-loader.ts')
const { readConfig, InformationRequest } = await import('./config/config.ts')
const { reasonOf, StartRefusal } = await import('./core/start-refusal.ts')
const { diskFault } = await import('./store/disk-fault.ts')

/** Below the 10 s that a stop may take. */
const stopMillis = 9_000

/** The first answers come before the garbage collection, which takes some 50 ms. */
const settleMillis = 1_000

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
  const { giveBackMemory } = await import('./worlds/give-back-memory.ts')
  const { certificatePath } = await import('./http/certificate.ts')
  const opening = createApp(config, {
    tell: (line) => print([line]),
    worldsGone: () => void giveBackMemory().catch(() => undefined),
  })
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop(opening))
  const app = await opening
  // Before anything else can fail: a generated password is shown only once.
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
  // Frees memory that only the start needed.
  setTimeout(() => giveBackMemory().catch(() => undefined), settleMillis).unref()
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
function stop(opening: Promise<{ close(): Promise<void> }>): void {
  if (stopped) return
  stopped = true
  setTimeout(() => process.exit(0), stopMillis)
  opening.then(
    (app) => app.close().then(() => process.exit(0), refuse),
    () => {}, // start() reports the failure
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
    return new StartRefusal(`This user may not listen on port ${port} of ${host}: choose one from 1024 on with --port.`)
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return new StartRefusal(`${host} is no address of this machine: give an address of this machine with --host.`)
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
