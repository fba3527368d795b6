import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { get, type IncomingMessage } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { images, made } from '../../support/content-policies.ts'
import { adminPassword, startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
let url: URL
before(async () => {
  app = await startApp()
  url = new URL((await app.listen()).url)
})
after(() => app.close())

const open = (path: string, headers: Record<string, string> = {}): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const authorization = `Basic ${Buffer.from(`admin:${adminPassword}`).toString('base64')}`
    const options = { hostname: url.hostname, port: url.port, path, headers: { authorization, ...headers } }
    get(options, resolve).on('error', reject)
  })

/** Reads a whole answer, without keeping it. */
async function read(answer: IncomingMessage) {
  const hash = createHash('sha256')
  let length = 0
  for await (const bytes of answer) {
    hash.update(bytes)
    length += bytes.length
  }
  return { length, sha256: hash.digest() }
}

async function readBytes(answer: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const bytes of answer) chunks.push(bytes)
  return Buffer.concat(chunks)
}

/** A URL image of at most 200 MiB. */
async function aSmallImage(): Promise<{ path: string; sizeBytes: number }> {
  for (let number = 0; ; number++) {
    const source = { $objectType: 'vmm.v4.content.UrlSource', url: `https://images.example.com/part-${number}.iso` }
    const extId = await made(app, images, { name: 'part.iso', type: 'ISO_IMAGE', source })
    const { sizeBytes } = (await app.call('GET', `${images}/${extId}`)).data
    if (sizeBytes <= 200 * 1024 ** 2) return { path: `/api${images}/${extId}/file`, sizeBytes }
  }
}

describe('download of an image', () => {
  test('the Digest header is the digest of the bytes, and Content-Length their number', async () => {
    const { path, sizeBytes } = await aSmallImage()
    const answer = await open(path)
    assert.equal(answer.statusCode, 200)
    assert.equal(answer.headers['content-type'], 'application/octet-stream')
    assert.equal(answer.headers['content-disposition'], 'attachment; filename="part.iso"')
    assert.equal(answer.headers['content-length'], String(sizeBytes))
    assert.equal(answer.headers['accept-ranges'], 'bytes')
    const { length, sha256 } = await read(answer)
    assert.equal(length, sizeBytes)
    assert.equal(answer.headers['digest'], `sha-256=${sha256.toString('base64')}`)
  })

  test('a range is answered with 206 and these bytes; the parts together are the file', async () => {
    const { path, sizeBytes } = await aSmallImage()
    const tail = await readBytes(await open(path, { range: 'bytes=-200000' }))
    assert.equal(tail.length, 200_000)
    for (const [range, first, last] of [
      ['bytes=0-9', 0, 9],
      [`bytes=${sizeBytes - 100_000}-${sizeBytes - 50_001}`, sizeBytes - 100_000, sizeBytes - 50_001],
      [`bytes=${sizeBytes - 7}-`, sizeBytes - 7, sizeBytes - 1],
      [`bytes=${sizeBytes - 7}-${sizeBytes * 2}`, sizeBytes - 7, sizeBytes - 1],
    ] as const) {
      const answer = await open(path, { range })
      assert.equal(answer.statusCode, 206, range)
      assert.equal(answer.headers['content-range'], `bytes ${first}-${last}/${sizeBytes}`)
      assert.equal(answer.headers['content-length'], String(last - first + 1))
      const bytes = await readBytes(answer)
      const from = first - (sizeBytes - tail.length)
      const expected = from < 0 ? Buffer.alloc(10) : tail.subarray(from, from + last - first + 1)
      assert.ok(bytes.equals(expected), range)
    }
    const hash = createHash('sha256')
    const middle = Math.floor(sizeBytes / 2) + 3
    for (const range of [`bytes=0-${middle}`, `bytes=${middle + 1}-`])
      for await (const bytes of await open(path, { range })) hash.update(bytes)
    const whole = await open(path)
    assert.equal(whole.headers['digest'], `sha-256=${hash.digest('base64')}`)
    whole.destroy()
  })

  test('a range after the end is 416 with the size; several ranges and broken ones get the whole file', async () => {
    const { path, sizeBytes } = await aSmallImage()
    for (const range of [`bytes=${sizeBytes}-`, 'bytes=-0']) {
      const refused = await open(path, { range })
      assert.equal(refused.statusCode, 416, range)
      assert.equal(refused.headers['content-range'], `bytes */${sizeBytes}`)
      assert.match((await readBytes(refused)).toString(), /RANGE_NOT_SATISFIABLE|UNSUPPORTED_REQUEST/)
    }
    const ignored: readonly Record<string, string>[] = [
      { range: 'bytes=0-1,4-5' },
      { range: 'bytes=5-4' },
      { range: 'bytes=-' },
      { range: 'lines=0-1' },
      { range: 'bytes=0-1', 'if-range': '"tag"' },
    ]
    for (const headers of ignored) {
      const answer = await open(path, headers)
      assert.deepEqual([answer.statusCode, answer.headers['content-length']], [200, String(sizeBytes)])
      answer.destroy()
    }
  })
})
