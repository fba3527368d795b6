/** Behaviour of connections, with TLS and without. Source: behaviour conventions 1, 14. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectPlain, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { adminPassword, startApp } from '../support/start-app.ts'
import { aWorld, worlds } from '../support/worlds.ts'

for (const http of [true, false]) {
  test(`${http ? 'plain HTTP' : 'TLS'}: a stop does not wait for idle connections`, async () => {
    const app = await startApp({ config: { http, seed: 'empty' } })
    const port = Number(new URL((await app.listen()).url).port)
    const host = '127.0.0.1'
    const socket: Socket = http ? connectPlain({ port, host }) : connectTls({ port, host, rejectUnauthorized: false })
    socket.on('error', () => undefined)
    socket.write('GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n')
    const answer = await new Promise<string>((resolve) => socket.once('data', (bytes) => resolve(String(bytes))))
    assert.match(answer, /^HTTP\/1\.1 200 /)
    const began = performance.now()
    await app.close()
    // A stop destroys the remaining connections after three seconds.
    assert.ok(performance.now() - began < 2500, 'the idle connection was cut rather than closed')
    socket.destroy()
  })
}

test('a download that fails midway ends with an error at the client', async () => {
  const app = await startApp({ logLevel: 'silent' })
  try {
    const { url } = await app.listen()
    const [image] = (await app.call('GET', '/vmm/v4.2/content/images?$limit=1')).data
    Object.assign(app.drivers.contentSource, {
      read: async function* () {
        yield Buffer.from('the beginning')
        throw new Error('the rest cannot be read')
      },
    })
    const download = fetch(`${url}/api/vmm/v4.2/content/images/${image.extId}/file`, {
      headers: { authorization: `Basic ${Buffer.from(`admin:${adminPassword}`).toString('base64')}` },
      signal: AbortSignal.timeout(3000),
    })
    const whole = download.then((answer) => answer.arrayBuffer())
    await assert.rejects(whole, (error: Error) => error.name !== 'TimeoutError')
  } finally {
    await app.close()
  }
})

test('TLS: a request whose connection breaks is still handled by the world that owns the port', async () => {
  const app = await startApp({ config: { http: false, seed: 'empty' }, logLevel: 'silent' })
  try {
    await app.listen()
    const { data } = await aWorld(app, 'own', { port: 0 })
    const raw = connectPlain({ port: data.port, host: '127.0.0.1' }).on('error', () => undefined)
    let isLast = false
    const wire = new Duplex({
      read: () => undefined,
      write(chunk, _encoding, done) {
        raw.write(isLast ? Buffer.concat([chunk, Buffer.from('no record of TLS')]) : chunk)
        done()
      },
    })
    raw.on('data', (bytes) => wire.push(bytes))
    // With TLS 1.2, the client sends nothing more for the handshake once it is connected.
    const socket = connectTls({ socket: wire, maxVersion: 'TLSv1.2', rejectUnauthorized: false })
    socket.on('error', () => undefined)
    await once(socket, 'secureConnect')
    isLast = true
    const authorization = `Basic ${Buffer.from(`admin:${adminPassword}`).toString('base64')}`
    socket.write(
      `GET /api/platform/v4.3/config/categories HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\n\r\n`,
    )
    const callsOf = async (world: string) => (await app.call('GET', `${worlds}/${world}/journal/calls`)).total as number
    let calls = [0, 0]
    while (calls.every((count) => count === 0)) calls = [await callsOf('own'), await callsOf('default')]
    assert.deepEqual(calls, [1, 0])
    raw.destroy()
  } finally {
    await app.close()
  }
})

test('a client that disconnects within a body gets a 400, not a 500', async () => {
  const app = await startApp({ config: { seed: 'empty' } })
  try {
    const port = Number(new URL((await app.listen()).url).port)
    const world = app.worlds.get('default') ?? assert.fail()
    const { dispatch } = world
    const bodyRequested = Promise.withResolvers<unknown>()
    const dispatched = new Promise((_, reject) => {
      const spied: typeof dispatch = (request) => {
        const { readBody } = request
        // The checks at the end of a test read without a body.
        if (readBody === undefined) return dispatch(request)
        const answer = dispatch({
          ...request,
          readBody: (maximum) => {
            bodyRequested.resolve(undefined)
            return readBody(maximum)
          },
        })
        Promise.resolve(answer).catch(reject)
        return answer
      }
      Object.assign(world, { dispatch: spied })
    })
    const socket = connectPlain({ port, host: '127.0.0.1' })
    const authorization = `Basic ${Buffer.from(`admin:${adminPassword}`).toString('base64')}`
    socket.write(
      `POST /api/platform/v4.3/config/categories HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"key"`,
    )
    await bodyRequested.promise
    socket.destroy()
    await assert.rejects(dispatched, ({ refusal }: any) => refusal.status === 400 && /breaks off/.test(refusal.message))
  } finally {
    await app.close()
  }
})
