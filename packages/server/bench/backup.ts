/**
 * Measures a backup while it runs (time, size, p95 of lists, memory) and its restore into an empty folder (time,
 * memory). Standalone: `node bench/backup.ts [VMs]`. The target is the demo's simulated bucket, which is files on this
 * disk; network and service are not measured.
 * Source: behaviour platform.md 8 (size and time); 14, statement 38.
 */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { folderPlace } from '../src/commands/backup-location.ts'
import { restoreOffline } from '../src/commands/restore.ts'
import { Connection, requestBytes, type Target } from './load.ts'

const vms = Number(process.argv[2] ?? 50_000)
const password = 'Bench.Passw0rd!'
const sourceFolder = resolve(import.meta.dirname, '../src')
const work = mkdtempSync(join(tmpdir(), 'hyperplane-bench-backup-'))
const list = requestBytes('GET', '/api/vmm/v4.2/ahv/config/vms?$limit=50', password)

const seed = join(work, 'seed.yaml')
writeFileSync(seed, `extends: demo\nvms: ${vms}\n`)
const data = join(work, 'data')
const environment = { ...process.env, HYPERPLANE_ADMIN_PASSWORD: password }
const start = async (): Promise<{ child: ReturnType<typeof spawn>; target: Target }> => {
  const options = ['--data', data, '--port', '0', '--seed', seed, '--rate-limits', 'off']
  const child = spawn(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      '--max-semi-space-size=8',
      '--import',
      join(sourceFolder, 'boot/node-version.js'),
      join(sourceFolder, 'main.ts'),
      ...options,
    ],
    {
      env: environment,
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  const port = await new Promise<number>((found, fail) => {
    createInterface({ input: child.stdout as never }).on('line', (line) => {
      const match = /^Ready in .*(https:\S+)/.exec(line)
      if (match !== null) found(Number(new URL(match[1] as string).port))
    })
    child.once('exit', (code) => fail(new Error(`the service ended with ${code}`)))
  })
  return { child, target: { host: '127.0.0.1', port } }
}
const stop = (child: ReturnType<typeof spawn>): Promise<void> =>
  new Promise((done) => {
    child.once('exit', () => done())
    child.kill('SIGTERM')
  })

/** Reads lists on one connection until `isOver`. @returns times in milliseconds, and the peak memory */
async function watch(target: Target, pid: number, isOver: () => boolean): Promise<{ times: number[]; memory: number }> {
  const connection = await Connection.open(target)
  const times: number[] = []
  let memory = 0
  while (!isOver()) {
    const began = performance.now()
    await connection.send(list)
    times.push(performance.now() - began)
    memory = Math.max(memory, memoryOf(pid))
    // A pause, so that the client does not occupy a core of its own.
    await new Promise((next) => setTimeout(next, 5))
  }
  connection.close()
  return { times: times.sort((a, b) => a - b), memory }
}
/** MiB that the process holds now. */
const memoryOf = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

/** Without a service, in this process: its threads are the ones of a restore over the interface. */
async function measureRestore(from: string, point: string): Promise<string> {
  const restored = join(work, 'restored')
  const before = memoryOf(process.pid)
  let memory = before
  const sampling = setInterval(() => {
    memory = Math.max(memory, memoryOf(process.pid))
  }, 5)
  const began = performance.now()
  try {
    const backupKeyFile = join(data, 'backup.key')
    const config = { data: restored, backupKeyFile, backupKey: undefined, masterKeyFile: undefined }
    await restoreOffline({ config, from: folderPlace(from), point })
  } finally {
    clearInterval(sampling)
  }
  const seconds = (performance.now() - began) / 1000
  const store = statSync(join(restored, 'world.sqlite')).size
  return [
    `restore in ${seconds.toFixed(1)} s, store ${mib(store)}`,
    `memory before ${before.toFixed(0)} MiB, at most ${memory.toFixed(0)} MiB while it was restored`,
  ].join('\n')
}

const mib = (size: number): string => `${(size / 1024 / 1024).toFixed(0)} MiB`
const percentile = (times: readonly number[], share: number): string =>
  (times[Math.floor(times.length * share)] ?? Number.NaN).toFixed(2)

try {
  await stop((await start()).child)
  const { child, target } = await start()
  const pid = child.pid as number
  const connection = await Connection.open(target)
  const ask = async (method: string, path: string, body?: unknown): Promise<any> => {
    const headers: Record<string, string> = method === 'GET' ? {} : { 'SVC-Request-Id': randomUUID() }
    const answer = await connection.send(requestBytes(method, path, password, body, headers))
    return JSON.parse(answer.body.toString()).data
  }
  await new Promise((next) => setTimeout(next, 3000))
  const warmUntil = performance.now() + 5000
  await watch(target, pid, () => performance.now() > warmUntil)
  const until = performance.now() + 20_000
  const before = await watch(target, pid, () => performance.now() > until)

  const [manager] = await ask('GET', '/api/platform/v4.3/config/domain-managers')
  const began = performance.now()
  let isOver = false
  const during = watch(target, pid, () => isOver)
  const types = 'platform.v4.management.'
  const { extId } = await ask('POST', `/api/platform/v4.3/management/domain-managers/${manager.extId}/backup-targets`, {
    location: {
      $objectType: `${types}ObjectStoreLocation`,
      providerConfig: {
        $objectType: `${types}GenericS3Config`,
        bucketName: 'hyperplane-demo',
        connectionConfig: { ipAddressOrHostname: { fqdn: { value: 's3.simulated.example' } } },
        credentials: {
          accessKeyId: 'HYPERPLANEDEMOKEY01',
          secretAccessKey: 'demo-secret-of-the-simulated-object-store',
        },
      },
      backupPolicy: { rpoInMinutes: 1440 },
    },
  })
  const steps: string[] = []
  let task: any
  do {
    await new Promise((next) => setTimeout(next, 50))
    task = await ask('GET', `/api/platform/v4.3/config/tasks/${extId}`)
    for (const { name } of (task.subSteps ?? []).slice(steps.length))
      steps.push(`${name} ${((performance.now() - began) / 1000).toFixed(1)} s`)
  } while (!['SUCCEEDED', 'FAILED'].includes(task.status))
  isOver = true
  const { times, memory } = await during
  const seconds = (performance.now() - began) / 1000

  const bucket = join(data, 'world', 'buckets', 'hyperplane-demo')
  const folder = join(bucket, 'hyperplane-backups', manager.extId)
  let bytes = 0
  let parts = 0
  let rows = 0
  let point = ''
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    bytes += statSync(path).size
    if (entry.name !== 'manifest.json') continue
    const manifest = JSON.parse(readFileSync(path, 'utf8'))
    point = manifest.restorePointExtId
    for (const part of manifest.parts) {
      parts++
      for (const count of Object.values(part.rows as Record<string, number>)) rows += count
    }
  }
  const store = statSync(join(data, 'world.sqlite')).size
  console.log(
    `${vms} VMs, ${rows} rows, store ${mib(store)}: ${task.status} in ${seconds.toFixed(1)} s (${steps.join(', ')})`,
  )
  console.log(`backup ${mib(bytes)} in ${parts} parts`)
  console.log(
    `list p50/p95/p99 before ${[0.5, 0.95, 0.99].map((share) => percentile(before.times, share)).join(' / ')} ms`,
  )
  console.log(`list p50/p95/p99 during ${[0.5, 0.95, 0.99].map((share) => percentile(times, share)).join(' / ')} ms`)
  console.log(`memory before ${before.memory.toFixed(0)} MiB, at most ${memory.toFixed(0)} MiB while it ran`)
  connection.close()
  await stop(child)
  console.log(await measureRestore(bucket, point))
} finally {
  rmSync(work, { recursive: true, force: true })
}
