/** The memory of a process that serves large files. Source: behaviour vmm.md 1.8 (file download), 5 (34). */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { after, before, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { adminPassword } from '../support/start-app.ts'
import { type ServerProcess, startServer } from './server-process.ts'

const MiB = 1024 ** 2
const isLinux = process.platform === 'linux'
const allowed = 64 * MiB

let service: ServerProcess
let image: { readonly extId: string; readonly sizeBytes: number }
before(async () => {
  service = await startServer([])
  const answer = await open(
    `/api/vmm/v4.2/content/images?$filter=${encodeURIComponent("name eq 'ubuntu-24.04.qcow2'")}`,
  )
  image = JSON.parse(Buffer.concat(await answer.toArray()).toString()).data[0]
  assert.equal(image.sizeBytes, 2048 * MiB)
  // Code and buffers of the first download stay.
  await read(await download({ range: 'bytes=0-99999999' }))
})
after(() => service.stop())

const open = (path: string, headers: Record<string, string> = {}): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const authorization = `Basic ${Buffer.from(`admin:${adminPassword}`).toString('base64')}`
    const { hostname, port } = new URL(service.url)
    get({ hostname, port, path, agent: false, headers: { authorization, ...headers } }, resolve).on('error', reject)
  })
const download = (headers?: Record<string, string>): Promise<IncomingMessage> =>
  open(`/api/vmm/v4.2/content/images/${image.extId}/file`, headers)

async function read(answer: IncomingMessage): Promise<{ length: number; digest: string }> {
  const hash = createHash('sha256')
  let length = 0
  for await (const bytes of answer) {
    hash.update(bytes)
    length += bytes.length
  }
  return { length, digest: `sha-256=${hash.digest('base64')}` }
}

/** Most bytes that the service holds more than before, at any moment of the work. */
async function growthDuring(work: () => Promise<void>): Promise<number> {
  const inStatus = (field: string): number => {
    const status = readFileSync(`/proc/${service.pid}/status`, 'utf8')
    return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024
  }
  // Linux forgets the peak, so that the start of the service does not count.
  writeFileSync(`/proc/${service.pid}/clear_refs`, '5')
  const start = inStatus('VmRSS')
  await work()
  return inStatus('VmHWM') - start
}

test('the service streams an image of 2 GiB, whole and by ranges, and never holds 64 MiB more', {
  skip: !isLinux,
}, async () => {
  const growth = await growthDuring(async () => {
    const whole = await download()
    const { length, digest } = await read(whole)
    assert.equal(length, image.sizeBytes)
    assert.equal(whole.headers['digest'], digest)
    const from = image.sizeBytes - 100 * MiB
    const part = await download({ range: `bytes=${from}-` })
    assert.deepEqual(
      [part.statusCode, part.headers['content-range']],
      [206, `bytes ${from}-${image.sizeBytes - 1}/${image.sizeBytes}`],
    )
    assert.equal((await read(part)).length, 100 * MiB)
  })
  assert.ok(growth < allowed, `${Math.round(growth / MiB)} MiB`)
})

test('clients that stop reading make the service wait, not buffer', { skip: !isLinux }, async () => {
  const growth = await growthDuring(async () => {
    const paused = await Promise.all(Array.from({ length: 20 }, () => download()))
    await setTimeout(2000)
    for (const answer of paused) answer.destroy()
  })
  assert.ok(growth < allowed, `${Math.round(growth / MiB)} MiB`)
})
