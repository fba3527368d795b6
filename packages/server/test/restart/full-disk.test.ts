/** The real process on a file system that is really full: a tmpfs of a few MiB, which takes a superuser to mount. */
import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, beforeEach, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { storeTables } from '../../src/domains/tables.ts'
import { createStoreFile } from '../../src/store/sqlite/new-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { compiledSources } from '../support/compiled.ts'

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
const categories = '/api/platform/v4.3/config/categories'
const worlds = '/control/v1/worlds'
const adminPassword = 'Correct-horse-1'

let disk: string
let data: string
const running = new Set<ChildProcess>()
before(() => {
  disk = mkdtempSync(join(tmpdir(), 'hyperplane-disk-'))
  // Without the right to mount, this test fails and says so: CONTRIBUTING.md names where it runs.
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', disk])
})
after(() => {
  for (const child of running) child.kill('SIGKILL')
  execFileSync('umount', ['-l', disk])
  rmSync(disk, { recursive: true, force: true })
})
let folders = 0
beforeEach(() => {
  free()
  if (data !== undefined) rmSync(data, { recursive: true, force: true })
  data = join(disk, `data-${folders++}`)
  mkdirSync(data)
})

/** Takes all the room that is left. */
function fill(): void {
  const filler = openSync(join(disk, 'filler'), 'a')
  try {
    for (const bytes of [1024 * 1024, 4096, 1]) {
      const chunk = Buffer.alloc(bytes)
      while (writeSync(filler, chunk) === bytes);
    }
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC')
    const rest = Buffer.alloc(1)
    try {
      while (writeSync(filler, rest) === 1);
    } catch {
      // There is no room for a single byte.
    }
  } finally {
    closeSync(filler)
  }
}
/** Room for so many bytes. */
function fillBut(bytes: number): void {
  fill()
  truncateSync(join(disk, 'filler'), statSync(join(disk, 'filler')).size - bytes)
}
const free = (): void => rmSync(join(disk, 'filler'), { force: true })

function launch(): ChildProcess {
  const asked = ['--port', '0', '--http', '--seed', 'empty', '--data', data]
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main, ...asked], {
    env: { PATH: process.env['PATH'], ...compiledSources, HYPERPLANE_ADMIN_PASSWORD: adminPassword },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

async function start() {
  const child = launch()
  const [stdout, stderr] = [child.stdout, child.stderr]
  assert.ok(stdout !== null && stderr !== null)
  const errors = text(stderr)
  let printed = ''
  for await (const chunk of stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    printed += chunk
    if (/Ready in [^\n]+\n/.test(printed)) break
  }
  const origin = /Ready in \d+ ms: (http:\S+)\/api\n/.exec(printed)?.[1]
  if (origin === undefined) assert.fail(`not ready: ${printed} ${await errors}`)
  const call = async (method: string, path: string, body?: object) => {
    const authorization = `Basic ${Buffer.from(`admin:${adminPassword}`).toString('base64')}`
    const headers = { authorization, 'content-type': 'application/json' }
    const answer = await fetch(`${origin}${path}`, { method, headers, body: body && JSON.stringify(body) })
    const content = await answer.text()
    return { status: answer.status, content, json: content.startsWith('{') ? JSON.parse(content) : undefined }
  }
  return {
    call,
    async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
      child.kill(signal)
      const [code] = await once(child, 'exit')
      return code
    },
  }
}
type Service = Awaited<ReturnType<typeof start>>

async function refusal(): Promise<string> {
  const child = launch()
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout as NonNullable<ChildProcess['stdout']>),
    text(child.stderr as NonNullable<ChildProcess['stderr']>),
    once(child, 'exit'),
  ])
  assert.equal(code, 1, stdout + stderr)
  assert.match(stderr, /^[^\n]+\n$/)
  return stderr
}

const post = (service: Service, value: string) =>
  service.call('POST', categories, { key: 'room', value, description: 'x'.repeat(250) })
async function valuesOf(service: Service): Promise<string[]> {
  const found: string[] = []
  for (let page = 0; ; page++) {
    const { json } = await service.call('GET', `${categories}?$filter=key eq 'room'&$limit=100&$page=${page}`)
    const values = (json.data ?? []).map(({ value }: { value: string }) => value)
    found.push(...values)
    if (values.length < 100) return found.sort()
  }
}

/** The write-ahead log may have room of its own for a while. */
async function untilRefused(service: Service, written: string[]): Promise<Awaited<ReturnType<typeof post>>> {
  for (let tries = 0; tries < 3000; tries++) {
    const value = `v${written.length}`
    const answer = await post(service, value)
    if (answer.status !== 201) return answer
    written.push(value)
  }
  assert.fail('the disk is never full')
}

test('a new data file is whole, or is not made, however little room there is', async () => {
  const tables = storeTables()
  const file = join(data, 'world.sqlite')
  for (const kibibytes of [100, 500, 1500, 2500]) {
    fillBut(kibibytes * 1024)
    await assert.rejects(createStoreFile(file, tables), /full. Free room on it, then try again/)
    assert.deepEqual(readdirSync(data), [])
    free()
  }
  fillBut(8000 * 1024)
  await createStoreFile(file, tables)
  free()
  assert.deepEqual(readdirSync(data), ['world.sqlite'])
  await openSqliteStore({ file, tables, seal: (plain) => plain, durable: false }).close()
})

test('on a full disk a running service refuses writes with the cause and answers reads; writes succeed again when there is room', async () => {
  const service = await start()
  const written: string[] = []
  fill()
  const refused = await untilRefused(service, written)
  assert.equal(refused.status, 503, refused.content)
  assert.match(refused.json.data.error[0].message, /^The disk that holds the data folder is full\. Nothing was changed/)
  assert.deepEqual(await valuesOf(service), [...written].sort())
  const ready = await service.call('GET', '/health/ready')
  assert.deepEqual([ready.status, ready.content], [503, 'not ready: The disk that holds the data folder is full.\n'])
  assert.equal((await service.call('POST', worlds, { name: 'late', preset: 'empty' })).status, 503)
  free()
  assert.equal((await service.call('GET', '/health/ready')).status, 200)
  assert.equal((await post(service, 'again')).status, 201)
  assert.equal((await service.call('POST', worlds, { name: 'late', preset: 'empty' })).status, 201)
  assert.equal(await service.end('SIGTERM'), 0)
  const next = await start()
  assert.deepEqual(await valuesOf(next), [...written, 'again'].sort())
  assert.equal(await next.end('SIGTERM'), 0)
})

for (const signal of ['SIGTERM', 'SIGKILL'] as const)
  test(`acknowledged changes survive ${signal} on a full disk; a start there fails with one line, and a start with room reads them`, async () => {
    const service = await start()
    const written: string[] = []
    fill()
    await untilRefused(service, written)
    await service.end(signal)
    fill()
    assert.match(await refusal(), /^The disk that holds the data folder \S+ is full\. Free room on it/)
    free()
    const next = await start()
    assert.deepEqual(await valuesOf(next), [...written].sort())
    await next.end('SIGTERM')
  })

test('a first start on a full disk fails with one line; with room the next start seeds the folder', async () => {
  fill()
  assert.match(await refusal(), /is full\. Free room/)
  free()
  const service = await start()
  assert.equal((await post(service, 'first')).status, 201)
  await service.end('SIGTERM')
})

for (const kibibytes of [8, 64, 256, 512, 1024, 2048, 3072, 4096])
  test(`a first start with room for ${kibibytes} KiB fails with one line or serves; with enough room the next start succeeds`, async () => {
    fillBut(kibibytes * 1024)
    const child = launch()
    let stdout = ''
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      stdout += chunk
      if (stdout.includes('Ready in ')) child.kill('SIGKILL')
    })
    const [stderr, [code, signal]] = await Promise.all([
      text(child.stderr as NonNullable<ChildProcess['stderr']>),
      once(child, 'close'),
    ])
    if (signal === null) {
      assert.equal(code, 1, stdout + stderr)
      assert.match(stderr, /^[^\n]+is full[^\n]+\n$/)
    }
    free()
    const service = await start()
    assert.equal((await post(service, 'first')).status, 201)
    await service.end('SIGTERM')
  })
