/** Client certificates over real connections: requested only while a world trusts them, checked with each request. Source: behaviour iam.md 5. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { seedId } from '../../src/core/ids/named-id.ts'
import type { AuthorityFact } from '../../src/drivers/simulated/authority.ts'
import { type Issued, issue, providerForm, publish } from '../support/authorities.ts'
import { adminPassword, startApp, type TestApp } from '../support/start-app.ts'

const providers = '/iam/v4.1.b2/authn/cert-auth-providers'
const viewerPath = `/api/iam/v4.1.b2/authn/users/${seedId('user/viewer')}`
const host = 'ca.simulated'

let app: TestApp
let port: number
let root: Issued
let viewer: Issued

before(async () => {
  app = await startApp({ config: { http: false }, logLevel: 'silent' })
  port = Number(new URL((await app.listen()).url).port)
  root = await issue({ name: 'CN=Client Root', isAuthority: true })
  viewer = await issue({ name: 'CN=viewer', from: root })
})
after(() => app.close())

/** A client on one connection. */
class Client {
  readonly socket: TLSSocket
  readonly ready: Promise<void>
  session: Buffer | undefined
  constructor(options: ConnectionOptions = {}) {
    this.socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options })
    this.ready = new Promise((resolve, reject) => this.socket.once('secureConnect', resolve).once('error', reject))
    // Errors also end the connection, which the tests see.
    this.socket.on('error', () => undefined)
    this.socket.on('session', (session) => (this.session = session))
  }

  async ask(path = viewerPath, authorization?: string): Promise<number> {
    await this.ready
    const credentials = authorization === undefined ? '' : `Authorization: ${authorization}\r\n`
    this.socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n${credentials}\r\n`)
    return new Promise((resolve, reject) => {
      let text = ''
      const take = (bytes: Buffer): void => {
        text += bytes.toString('latin1')
        const [head = '', body] = text.split('\r\n\r\n')
        const length = Number(/content-length: (\d+)/i.exec(head)?.[1])
        if (body === undefined || Buffer.byteLength(body, 'latin1') < length) return
        this.socket.off('data', take)
        this.socket.off('close', closed)
        resolve(Number(head.split(' ')[1]))
      }
      // A connection that has ended already emits no further event.
      const closed = (): void => reject(new Error(`the connection ended before the answer to ${path}`))
      if (this.socket.destroyed) closed()
      this.socket.on('data', take)
      this.socket.once('close', closed)
    })
  }
}

const credentials = (one: Issued, ...beside: Issued[]): ConnectionOptions => ({
  key: one.key,
  cert: [one, ...beside].map(({ pem }) => pem).join(''),
})
const basic = `Basic ${Buffer.from(`admin:${adminPassword}`).toString('base64')}`

/** True when the server asked the client for a certificate. */
async function askedFor(): Promise<boolean> {
  const client = new Client({ ...credentials(viewer), maxVersion: 'TLSv1.2' })
  await client.ready
  // A client that is not asked does not send its certificate.
  const status = await client.ask()
  client.socket.destroy()
  return status === 200
}

async function createProvider(fields: Readonly<Record<string, unknown>> = {}): Promise<{ remove(): Promise<void> }> {
  const form = providerForm({ name: 'clients', clientCaChain: root.pem, ...fields })
  const created = await app.call('POST', providers, { form })
  assert.equal(created.status, 201, JSON.stringify(created.errors))
  return {
    async remove() {
      const at = `${providers}/${created.data.extId}`
      const { etag } = await app.call('GET', at)
      assert.equal((await app.call('DELETE', at, { ifMatch: etag as string })).status, 204)
    },
  }
}

test('without a provider the server asks for no certificates, and a client with a certificate is not signed in', async () => {
  assert.equal(await askedFor(), false)
})

test('clients with certificates and clients with passwords sign in on the same port', async () => {
  const provider = await createProvider()
  const [certified, plain, both] = [new Client(credentials(viewer)), new Client(), new Client(credentials(viewer))]
  assert.equal(await certified.ask(), 200)
  assert.equal(await plain.ask(viewerPath, basic), 200)
  assert.equal(await plain.ask(), 401)
  // An Authorization header takes precedence, even a wrong one.
  assert.equal(await both.ask(viewerPath, 'Basic dmlld2VyOndyb25n'), 401)
  for (const { socket } of [certified, plain, both]) socket.destroy()
  await provider.remove()
})

test('a new provider counts from the next connection on; its deletion counts for the next request on an open connection', async () => {
  const before = new Client(credentials(viewer))
  assert.equal(await before.ask(), 401)
  const provider = await createProvider()
  const after = new Client(credentials(viewer))
  assert.equal(await after.ask(), 200)
  // The server did not ask for a certificate when this connection began.
  assert.equal(await before.ask(), 401)
  await provider.remove()
  assert.equal(await after.ask(), 401)
  assert.equal(await askedFor(), false)
  for (const { socket } of [before, after]) socket.destroy()
})

test('a revoked certificate is refused with the next request, on open connections and on resumed sessions', async () => {
  await publish(app, host, root)
  const revocation = { isCrlEnabled: true, crlDps: [`http://${host}/ca.crl`], globalCrlRefreshInterval: 60 }
  const provider = await createProvider(revocation)
  for (const maxVersion of ['TLSv1.3', 'TLSv1.2'] as const) {
    const client = await issue({ name: 'CN=viewer', from: root })
    const open = new Client({ ...credentials(client), maxVersion })
    assert.equal(await open.ask(), 200)
    const resumed = () => new Client({ ...credentials(client), maxVersion, session: open.session })
    const second = resumed()
    assert.equal(await second.ask(), 200)
    assert.ok(second.socket.isSessionReused(), maxVersion)

    const authorities = app.world.collection<AuthorityFact>('web.authorities')
    await authorities.put(host, { ...(authorities.get(host) as AuthorityFact), revoked: [client.serial] })
    await app.clock.advance(61_000)
    assert.equal(await open.ask(), 401)
    assert.equal(await second.ask(), 401)
    const third = resumed()
    assert.equal(await third.ask(), 401)
    for (const { socket } of [open, second, third]) socket.destroy()
  }
  await provider.remove()
})

test('intermediate certificates that the client sends count, also when its session is resumed', async () => {
  const provider = await createProvider()
  const issuing = await issue({ name: 'CN=Issuing', isAuthority: true, from: root })
  const certificate = await issue({ name: 'CN=viewer', from: issuing })
  const first = new Client(credentials(certificate, issuing))
  assert.equal(await first.ask(), 200)
  const second = new Client({ ...credentials(certificate, issuing), session: first.session })
  assert.equal(await second.ask(), 200)
  for (const { socket } of [first, second]) socket.destroy()
  await provider.remove()
})

test('a stop does not wait for connections of clients with certificates', async () => {
  const other = await startApp({ config: { http: false } })
  const form = providerForm({ name: 'clients', clientCaChain: root.pem })
  assert.equal((await other.call('POST', providers, { form })).status, 201)
  const { port: otherPort } = new URL((await other.listen()).url)
  const socket = connect({
    port: Number(otherPort),
    host: '127.0.0.1',
    rejectUnauthorized: false,
    ...credentials(viewer),
  })
  socket.on('error', () => undefined)
  socket.write('GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await new Promise((resolve, reject) => {
    socket.once('data', resolve)
    socket.once('close', () => reject(new Error('the connection ended before the answer')))
  })
  const closed = new Promise((resolve) => socket.once('close', resolve))
  await other.close()
  await closed
})
