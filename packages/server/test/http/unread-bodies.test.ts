/** A refusal reaches clients that read only after they have sent a large body completely. Source: behaviour conventions 1 (step 7). */
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { startApp, type TestApp } from '../support/start-app.ts'
import { answersIn, basic, connectTo, isRefusal, type WireAnswer } from '../support/wire.ts'

const MiB = 1024 * 1024
const piece = Buffer.alloc(MiB, ' ')
const categories = '/api/platform/v4.3/config/categories'
const imports = '/control/v1/worlds/$actions/import'
const json = 'Content-Type: application/json'
const form = 'Content-Type: multipart/form-data; boundary=x'

interface Sent {
  readonly target: string
  readonly method?: string
  readonly headers: readonly string[]
  readonly mebibytes?: number
  /** The body has no Content-Length. */
  readonly isChunked?: boolean
}

const written = (socket: Socket, bytes: string | Uint8Array): Promise<void> =>
  new Promise((resolve, reject) => socket.write(bytes, (error) => (error ? reject(error) : resolve())))

/** Sends everything before it reads anything. Fails if the connection is reset. */
async function answerTo(url: string, sent: Sent): Promise<WireAnswer> {
  const { target, method = 'POST', headers, mebibytes = 24, isChunked } = sent
  const socket = connectTo(url).pause()
  const failed = new Promise<never>((_, reject) => socket.on('error', reject))
  const framing = isChunked === true ? 'Transfer-Encoding: chunked' : `Content-Length: ${mebibytes * MiB}`
  const send = async (): Promise<void> => {
    await written(socket, `${[`${method} ${target} HTTP/1.1`, 'Host: a', framing, ...headers].join('\r\n')}\r\n\r\n`)
    for (let count = 0; count < mebibytes; count++) {
      if (isChunked === true) await written(socket, `${MiB.toString(16)}\r\n`)
      await written(socket, piece)
      if (isChunked === true) await written(socket, '\r\n')
    }
    if (isChunked === true) await written(socket, '0\r\n\r\n')
  }
  await Promise.race([send(), failed])
  const chunks: Buffer[] = []
  const ended = new Promise((resolve) => socket.on('close', resolve))
  socket.on('data', (chunk) => chunks.push(chunk)).resume()
  await Promise.race([ended, failed])
  const [answer, ...others] = answersIn(Buffer.concat(chunks))
  assert.equal(others.length, 0)
  return answer ?? assert.fail('no answer')
}

async function withoutRights(app: TestApp): Promise<string> {
  const body = { username: 'reader', userType: 'LOCAL', password: 'Some.Other-Passw0rd' }
  const created = await app.call('POST', '/iam/v4.1.b2/authn/users', { body, requestId: crypto.randomUUID() })
  assert.equal(created.status, 201, JSON.stringify(created.errors))
  return basic('reader:Some.Other-Passw0rd')
}

for (const http of [true, false]) {
  test(`${http ? 'plain HTTP' : 'TLS'}: a client that has sent a large body completely can read every refusal`, async () => {
    const app = await startApp({ config: { http, seed: 'empty', importMebibytes: 2 } })
    try {
      const { url } = await app.listen()
      const reader = await withoutRights(app)
      const refused: Readonly<Record<string, Sent & { readonly status: number }>> = {
        'no credentials': { status: 401, target: categories, headers: [json] },
        'no permission': { status: 403, target: categories, headers: [json, reader] },
        'no such resource': { status: 404, target: '/api/platform/v4.3/config/nothing', headers: [json, basic()] },
        'no such page': { status: 404, target: '/nothing', headers: [json] },
        'no such method': { status: 405, method: 'PATCH', target: categories, headers: [json, basic()] },
        'no such world': { status: 404, target: categories, headers: [json, basic(), 'X-World: nowhere'] },
        'no such namespace': { status: 404, method: 'OPTIONS', target: '/api/no/unversioned/info', headers: [] },
        'no acceptable answer': { status: 406, target: categories, headers: [json, basic(), 'Accept: image/png'] },
        'too large': { status: 413, target: categories, headers: [json, basic()] },
        'too large, in chunks': { status: 413, target: categories, headers: [json, basic()], isChunked: true },
        'no such expectation': { status: 417, target: categories, headers: [json, 'Expect: miracles'] },
        'import without credentials': { status: 401, target: imports, headers: [form], mebibytes: 90 },
        'import too large': { status: 413, target: imports, headers: [form, basic()], mebibytes: 90 },
        'import too large, in chunks': {
          status: 413,
          target: imports,
          headers: [form, basic()],
          mebibytes: 90,
          isChunked: true,
        },
        'import in another encoding': {
          status: 415,
          target: imports,
          headers: [form, basic(), 'Content-Encoding: br'],
          mebibytes: 90,
        },
        'world too large': { status: 413, target: '/control/v1/worlds', headers: [json, basic()], mebibytes: 90 },
      }
      for (const [about, { status, ...sent }] of Object.entries(refused)) {
        const answer = await answerTo(url, sent).catch((error) => assert.fail(`${about}: ${error}`))
        isRefusal(answer, status, about)
        assert.equal(answer.headers['connection'], 'close', about)
      }
    } finally {
      await app.close()
    }
  })
}

test('plain HTTP to a TLS port is refused in the envelope, also after a large body was sent completely', async () => {
  const app = await startApp({ config: { http: false, seed: 'empty' } })
  try {
    const { url } = await app.listen()
    const answer = await answerTo(url.replace('https:', 'http:'), { target: categories, headers: [json] })
    assert.match(isRefusal(answer, 400).data.error[0].message, /this port speaks HTTPS/)
  } finally {
    await app.close()
  }
})

test('a throttled client can read its 429 after it has sent a large body completely', async () => {
  const realClock = { now: () => 0, iso: () => '', sleep: async () => undefined, setTimer: () => () => undefined }
  const app = await startApp({ config: { seed: 'empty', rateLimits: 'on' }, realClock })
  try {
    const { url } = await app.listen()
    const sent = { target: categories, headers: [json, basic()], mebibytes: 2 }
    let answer = await answerTo(url, sent)
    for (let count = 0; count < 20 && answer.status !== 429; count++) answer = await answerTo(url, sent)
    isRefusal(answer, 429)
  } finally {
    await app.close()
  }
})

test('a page closes the connection when a large body is left unread', async () => {
  const app = await startApp({ config: { seed: 'empty' } })
  try {
    const { url } = await app.listen()
    const answer = await answerTo(url, { method: 'GET', target: '/health/live', headers: [] })
    assert.deepEqual([answer.status, answer.body, answer.headers['connection']], [200, 'live\n', 'close'])
  } finally {
    await app.close()
  }
})
