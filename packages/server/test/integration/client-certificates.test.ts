/** Sign-in with certificates, lists and answers that OpenSSL made. Source: behaviour iam.md 5, 13. */

import assert from 'node:assert/strict'
import { Agent, request } from 'node:https'
import { after, before, test } from 'node:test'
import { seedId } from '../../src/core/ids/named-id.ts'
import { providerForm } from '../support/authorities.ts'
import { type CallResult, startApp, type TestApp } from '../support/start-app.ts'
import { freePort, type KeyPair, OpensslAuthority } from './openssl-authority.ts'

const providers = '/iam/v4.1.b2/authn/cert-auth-providers'
const viewer = `/api/iam/v4.1.b2/authn/users/${seedId('user/viewer')}`
const hour = 3600_000
// The worlds stand an hour ahead of the machine, so that what OpenSSL makes during the test is valid in them.
let app: TestApp
let port: number
let authority: OpensslAuthority

before(async () => {
  authority = new OpensslAuthority()
  app = await startApp({
    startAt: Date.now() + hour,
    logLevel: 'silent',
    config: { http: false, allowAddress: ['127.0.0.0/8'] },
  })
  port = Number(new URL((await app.listen()).url).port)
})
after(async () => {
  await app?.close()
  await authority?.remove()
})

/** Status of a read by whoever holds the key; connections of one agent stay open. */
const ask = (agent: Agent): Promise<number> =>
  new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path: viewer, agent }, (answer) => {
      answer.on('end', () => resolve(answer.statusCode ?? 0)).on('error', reject)
      answer.resume()
    })
      .on('error', reject)
      .end()
  })
const holder = (pair: KeyPair): Agent =>
  new Agent({ ...pair, keepAlive: true, maxSockets: 1, rejectUnauthorized: false })

const create = (fields: Readonly<Record<string, unknown>>): Promise<CallResult> =>
  app.call('POST', providers, { form: providerForm({ name: 'openssl', clientCaChain: authority.chain, ...fields }) })
async function withProvider(fields: Readonly<Record<string, unknown>>, work: () => Promise<void>): Promise<void> {
  const created = await create(fields)
  assert.equal(created.status, 201, JSON.stringify(created.errors))
  assert.deepEqual(created.warnings, [])
  try {
    await work()
  } finally {
    const at = `${providers}/${created.data.extId}`
    await app.call('DELETE', at, { ifMatch: (await app.call('GET', at)).etag as string })
  }
}

test('a user certificate and a chain in DER are refused with the cause', async () => {
  const user = authority.issue('leaf')
  const leaf = await create({ clientCaChain: user.cert })
  assert.equal(leaf.status, 400)
  assert.match(leaf.errors[0]?.message ?? '', /CN=leaf\) is no authority/)
  const der = new File([new Uint8Array(authority.der('ca'))], 'ca.der')
  const binary = await create({ clientCaChain: undefined, caCertFileName: der })
  assert.match(binary.errors[0]?.message ?? '', /found DER/)
})

test('a certificate of an existing user signs in; it is refused on the open connection after its revocation, and after the revocation list expires', async () => {
  const list = await authority.publishList()
  const revocation = { isCrlEnabled: true, crlDps: [list], globalCrlRefreshInterval: 60 }
  const [first, second] = [authority.issue('viewer'), authority.issue('VIEWER')]
  await withProvider(revocation, async () => {
    const [revoked, kept] = [holder(first), holder(second)]
    assert.equal(await ask(revoked), 200)
    assert.equal(await ask(kept), 200)
    authority.revoke('viewer')
    await app.clock.advance(61_000)
    assert.equal(await ask(revoked), 401)
    assert.equal(await ask(kept), 200)
    await authority.closeList()
    await app.clock.advance(hour)
    assert.equal(await ask(kept), 200)
    await app.clock.advance(2 * hour)
    assert.equal(await ask(kept), 401)
    for (const agent of [revoked, kept]) agent.destroy()
  })
})

test('the OCSP responder is queried for each request; while it does not answer, every certificate is refused', async () => {
  const responderPort = await freePort()
  // Its answers are of the machine's time, which the other world has left behind.
  const later = await startApp({
    startAt: Date.now() + hour,
    logLevel: 'silent',
    config: { allowAddress: ['127.0.0.0/8'] },
  })
  try {
    const pair = authority.issue('operator')
    const { X509Certificate } = await import('node:crypto')
    const certificate = { raw: new X509Certificate(pair.cert).raw, presented: [] }
    const status = async () =>
      (await later.call('GET', '/iam/v4.1.b2/authn/login-providers', { as: null, certificate })).status
    await authority.startResponder(responderPort)
    const form = providerForm({
      name: 'openssl',
      clientCaChain: authority.chain,
      isOcspEnabled: true,
      ocspResponder: `http://127.0.0.1:${responderPort}/`,
    })
    assert.equal((await later.call('POST', providers, { form })).status, 201)
    assert.equal(await status(), 200)
    authority.holdResponder()
    assert.equal(await status(), 401)
    await authority.stopResponder()
    assert.equal(await status(), 401)
    authority.revoke('operator')
    await authority.startResponder(responderPort)
    assert.equal(await status(), 401)
  } finally {
    await later.close()
  }
})
