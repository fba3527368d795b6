import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { get, type IncomingMessage } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { nativeCluster } from '../../kinds/kind.ts'
import { images, made } from '../../support/content-policies.ts'
import { anOva, ofUrl, ofVm, ovas } from '../../support/ovas.ts'
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

describe('download of an OVA', () => {
  for (const [kind, body] of [
    ['a VM', ofVm(seedId('vm/web-01'))],
    ['a URL', ofUrl('https://images.example.com/part.ova', nativeCluster)],
  ] as const)
    test(`the file of an OVA of ${kind} matches the digest of its answer, and ranges return its parts`, async () => {
      const { extId } = await anOva(app, body)
      const path = `/api${ovas}/${extId}/file`
      const answer = await open(path)
      const whole = await readBytes(answer)
      assert.equal(answer.headers['digest'], `sha-256=${createHash('sha256').update(whole).digest('base64')}`)
      for (const [range, first, last] of [
        ['bytes=0-9', 0, 9],
        ['bytes=510-70000', 510, 70_000],
        ['bytes=-700', whole.length - 700, whole.length - 1],
      ] as const) {
        const part = await open(path, { range })
        assert.deepEqual(
          [part.statusCode, part.headers['content-range']],
          [206, `bytes ${first}-${last}/${whole.length}`],
        )
        assert.ok((await readBytes(part)).equals(whole.subarray(first, last + 1)), range)
      }
      assert.equal((await open(path, { range: `bytes=${whole.length}-` })).statusCode, 416)
    })

  test('the answer has no digest when the digest of the URL came from a caller', async () => {
    const given = ofUrl('https://images.example.com/given.ova', nativeCluster)
    const checksum = { $objectType: 'vmm.v4.content.OvaSha256Checksum', hexDigest: '0123456789abcdef'.repeat(4) }
    for (const body of [{ ...given, checksum }, given]) {
      const ova = await anOva(app, body)
      assert.deepEqual(ova.checksum, checksum)
      const answer = await open(`/api${ovas}/${ova.extId}/file`)
      assert.equal(answer.headers['digest'], undefined)
      answer.destroy()
    }
  })
})

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

  test('a range is answered with 206 and its bytes; the parts together are the file', async () => {
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
