/** What holds for connections rather than for requests, with TLS and without. Source: behaviour conventions 1, 14. */
import assert from 'node:assert/strict'
import { connect as connectPlain, type Socket } from 'node:net'
import { test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { adminPassword, startApp } from '../support/start-app.ts'

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
    // Connections that do not end by themselves are cut after three seconds.
    assert.ok(performance.now() - began < 2500, 'the idle connection was cut rather than closed')
    socket.destroy()
  })
}

test('a download that breaks off does not look whole', async () => {
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
