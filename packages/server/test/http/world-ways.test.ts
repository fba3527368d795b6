/** Worlds of a complete service: certificates by server name, and ports after a restart. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:https'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { http } from '../support/http.ts'
import { adminPassword, startApp, type TestApp } from '../support/start-app.ts'
import { aWorld, worlds } from '../support/worlds.ts'

const folder = mkdtempSync(join(tmpdir(), 'hyperplane-ways-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const categories = '/api/platform/v4.3/config/categories'

/** Sends a request to this host name, trusting only the file of the service. */
async function ask(
  port: string,
  host: string,
): Promise<{ readonly names: string | undefined; readonly total: number }> {
  const sent = request({
    ...{ host: '127.0.0.1', port, servername: host, path: `${categories}?$filter=key eq 'of'`.replaceAll(' ', '%20') },
    ca: readFileSync(join(folder, 'tls', 'cert.pem')),
    headers: { host: `${host}:${port}` },
    auth: `admin:${adminPassword}`,
    agent: false,
  })
  sent.end()
  const [answer] = await once(sent, 'response')
  const names = (answer.socket as TLSSocket).getPeerCertificate().subjectaltname
  const { metadata } = JSON.parse((await answer.toArray()).join(''))
  return { names, total: metadata.totalAvailableResults }
}

test('over TLS the host name chooses the world, and clients of the service trust its certificate', async () => {
  const app = await startApp({ folder, config: { seed: 'empty', http: false } })
  try {
    await aWorld(app, 'by-name')
    const body = { key: 'of', value: 'by-name' }
    assert.equal((await app.call('POST', categories.slice(4), { world: 'by-name', body })).status, 201)
    const { port } = new URL((await app.listen()).url)
    assert.deepEqual(await ask(port, 'by-name.localhost'), { names: 'DNS:by-name.localhost', total: 1 })
    const { names, total } = await ask(port, 'localhost')
    assert.match(names ?? '', /DNS:localhost/)
    assert.equal(total, 0)
    await assert.rejects(ask(port, 'nobody.localhost'), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
  } finally {
    await app.close()
  }
})

test('after a restart a world has its own port again: the configured one, or a free one', async () => {
  const requested = await freePort()
  const portOf = async (app: TestApp, world: string) =>
    (await app.call('GET', `${worlds}/${world}`)).data.port as number
  for (const isFirst of [true, false]) {
    const reported: string[] = []
    const app = await startApp({ folder, config: { seed: 'empty' }, tell: (line) => reported.push(line) })
    try {
      await app.listen()
      if (isFirst) {
        await aWorld(app, 'with-a-port', { port: requested })
        await aWorld(app, 'with-any-port', { port: 0 })
        for (const world of ['with-a-port', 'with-any-port'])
          await app.call('POST', categories.slice(4), { world, body: { key: 'of', value: world } })
      }
      assert.equal(await portOf(app, 'with-a-port'), requested)
      const free = await portOf(app, 'with-any-port')
      assert.deepEqual(reported.toSorted(), [
        `World with-a-port has a port of its own: http://localhost:${requested}/api`,
        `World with-any-port has a port of its own: http://localhost:${free}/api`,
      ])
      for (const world of ['with-a-port', 'with-any-port']) {
        const { json } = await http(
          `http://127.0.0.1:${await portOf(app, world)}`,
          `${categories}?$filter=key%20eq%20'of'`,
        )
        assert.deepEqual(
          json.data.map(({ value }: { value: string }) => value),
          [world],
        )
      }
    } finally {
      await app.close()
    }
  }
})

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
