/** Malformed requests over sockets end in the envelope or in a closed connection, and the service lives. Source: conventions 25.38. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import fs from 'node:fs'
import { test } from 'node:test'
import { drawsFrom } from '../../src/core/ids/draws.ts'
import { startApp } from '../support/start-app.ts'
import { answersIn, basic, connectTo, exchange, isRefusal, type WireAnswer } from '../support/wire.ts'

const categories = '/api/platform/v4.3/config/categories'
const texts = [
  '',
  ' ',
  '\u0000',
  '\t',
  'é',
  '\u{1F600}',
  '%zz',
  '%00',
  '"',
  '__proto__',
  '-1',
  '1e9',
  '*',
  ';',
  '\n',
  '\r',
  ':',
]
const methods = ['GET', 'POST', 'PUT', 'HEAD', 'OPTIONS', 'TRACE', 'CONNECT', 'get', 'FLY', 'PROPFIND', '']
const targets = [
  ...[categories, '/', '*', '//', '/api', '/api/', '/control/v1/worlds', '/health/live', '/metrics', '/openapi.json'],
  ...[
    'http://b.example',
    'https://b.example:99999/api',
    'http://',
    'ftp://b/',
    'b.example:443',
    '/api/%',
    '/api/../..',
  ],
  ...['/api/nope/unversioned/info', '/api/prism/unversioned/info', `/${'a'.repeat(17_000)}`, `/${'b'.repeat(70_000)}`],
]
const versions = ['HTTP/1.1', 'HTTP/1.0', 'HTTP/0.9', 'HTTP/2.0', 'HTTP/9.9', 'http/1.1', 'HTTP/1.1 x', '']
const headers = [
  ...['Host: a', 'Host: a', 'Host: a', 'Host: b.localhost', 'Host: a/b', 'Host:', 'Host : a', 'Connection: keep-alive'],
  ...['Content-Length: 5', 'Content-Length: 99999999999999999999', 'Content-Length: -1', 'Content-Length: 2000000'],
  ...['Transfer-Encoding: chunked', 'Transfer-Encoding: gzip, chunked', 'Transfer-Encoding: nothing', 'TE: trailers'],
  ...['Expect: 100-continue', 'Expect: miracles', 'Upgrade: websocket', 'Connection: Upgrade', 'Connection: close'],
  ...['Content-Type: application/json', 'Content-Type: multipart/form-data', 'Content-Encoding: br', 'Accept: x'],
  ...[
    'X-World: nowhere',
    'X-World: \u0001',
    'SVC-Request-Id: x',
    'NTNX-Request-Id: y',
    'If-Match: *',
    ' folded',
    'no colon',
  ],
  ...[
    'Authorization: Basic',
    'Authorization: Bearer x',
    'Cookie: a=b',
    `X: ${'x'.repeat(40_000)}`,
    `Y: ${'y'.repeat(60_000)}`,
  ],
  basic(),
  basic(),
]
const bodies = [
  '',
  '{}',
  'hello',
  '5\r\nhello\r\n0\r\n\r\n',
  'zz\r\n',
  'ffffffffffffffffff\r\n',
  '0\r\nX: y\r\n\r\n',
  'GARBAGE\r\n\r\n',
  '{"key":',
]

/** An endless, repeatable stream of what a broken or hostile client may send. */
function* malformed(draw: () => number): Generator<Buffer> {
  const any = <T>(items: readonly T[]): T => items[Math.floor(draw() * items.length)] as T
  const request = (): string => {
    const line =
      draw() < 0.9 ? `${any(methods)} ${any(targets)} ${any(versions.slice(0, draw() < 0.7 ? 1 : 8))}` : any(texts)
    const lines = Array.from({ length: Math.floor(draw() * 6) }, () =>
      draw() < 0.9 ? any(headers) : `${any(texts)}${any(texts)}: ${any(texts)}`,
    )
    const host = draw() < 0.8 ? ['Host: a'] : []
    return `${[line, ...host, ...lines].join(draw() < 0.95 ? '\r\n' : '\n')}\r\n\r\n${any(bodies)}`
  }
  for (;;) {
    const bytes = Buffer.from(Array.from({ length: 1 + Math.floor(draw() * 3) }, request).join(''))
    // Some bytes are others, and some are missing.
    for (let count = draw() < 0.3 ? Math.floor(draw() * 5) : 0; count > 0; count--)
      bytes[Math.floor(draw() * bytes.length)] = Math.floor(draw() * 256)
    yield draw() < 0.2 ? bytes.subarray(0, Math.floor(draw() * bytes.length)) : bytes
  }
}

/** Everything that answers bytes after which the client says no more, until the connection has ended. */
async function afterAll(url: string, bytes: Buffer): Promise<Buffer> {
  const socket = connectTo(url)
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk)).on('error', () => undefined)
  socket.end(bytes)
  await once(socket, 'close')
  return Buffer.concat(chunks)
}

/** The answers, without the bodies that HEAD does not get, and without interim answers. */
function wellFormed(bytes: Buffer): readonly WireAnswer[] {
  const text = bytes.toString('latin1').replaceAll('HTTP/1.1 100 Continue\r\n\r\n', '')
  assert.match(text, /^(?:HTTP\/1\.1 \d{3} |$)/)
  // HEAD promises a body that does not follow: such an exchange is checked by its heads alone.
  try {
    return answersIn(Buffer.from(text, 'latin1'))
  } catch {
    for (const [, status] of text.matchAll(/^HTTP\/1\.1 (\d{3}) /gm))
      assert.ok(Number(status) < 500, text.slice(0, 400))
    return []
  }
}

for (const [http, rounds] of [
  [true, 75],
  [false, 25],
] as const) {
  test(`${http ? 'plain HTTP' : 'TLS'}: ${rounds * 20} malformed requests over sockets: an envelope or a closed connection each, and no fault of the service`, async () => {
    const faults: unknown[] = []
    const noteFault = (error: unknown): void => void faults.push(error)
    process.on('unhandledRejection', noteFault).on('uncaughtExceptionMonitor', noteFault)
    // The log of the service is written to this descriptor.
    const { writeSync } = fs
    const logged: unknown[] = []
    const spied = (...args: Parameters<typeof writeSync>): number => {
      if (args[0] === 2) logged.push(String(args[1]))
      return writeSync(...args)
    }
    Object.assign(fs, { writeSync: spied })
    const app = await startApp({ config: { http, seed: 'empty', lockout: 'off' } })
    try {
      const { url } = await app.listen()
      const requests = malformed(drawsFrom(`edge ${http}`))
      const before = process.memoryUsage().heapUsed
      let refusals = 0
      for (let round = 0; round < rounds; round++) {
        const sent = Array.from({ length: 20 }, () => requests.next().value as Buffer)
        const got = await Promise.all(sent.map((bytes) => afterAll(url, bytes)))
        for (const [index, bytes] of got.entries()) {
          const about = JSON.stringify(sent[index]?.toString('latin1').slice(0, 300))
          for (const answer of wellFormed(bytes)) {
            assert.ok(
              answer.status < 500 || answer.status === 501,
              `${answer.status}: ${about} ${answer.body.slice(0, 300)}`,
            )
            if (answer.status < 400 || answer.body === '') continue
            isRefusal(answer, undefined, about)
            refusals++
          }
        }
      }
      assert.ok(refusals > rounds * 10, String(refusals))
      const alive = `GET ${categories} HTTP/1.1\r\nHost: a\r\n${basic()}\r\nConnection: close\r\n\r\n`
      assert.equal(answersIn(await exchange(url, alive))[0]?.status, 200)
      assert.deepEqual(faults, [])
      assert.deepEqual(logged, [])
      const grown = process.memoryUsage().heapUsed - before
      assert.ok(grown < 200 * 1024 * 1024, `the heap grew by ${grown} bytes`)
    } finally {
      Object.assign(fs, { writeSync })
      await app.close()
      process.off('unhandledRejection', noteFault).off('uncaughtExceptionMonitor', noteFault)
    }
  })
}
