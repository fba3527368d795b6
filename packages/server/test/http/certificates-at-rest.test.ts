/** Client certificates of closed worlds: the handshake comes before the world of the connection is known. Source: behaviour iam.md 5. */

import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { seedId } from '../../src/core/ids/named-id.ts'
import { type Issued, issue, providerForm } from '../support/authorities.ts'
import { startApp, type TestApp } from '../support/start-app.ts'
import { inside, worlds } from '../support/worlds.ts'

const providers = '/iam/v4.1.b2/authn/cert-auth-providers'

/** The status of a request of the world's viewer, on a new connection. */
function statusOf(url: string, world: string, viewer: Issued): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(
      `${url}/api/iam/v4.1.b2/authn/users/${seedId('user/viewer')}`,
      { key: viewer.key, cert: viewer.pem, rejectUnauthorized: false, agent: false, headers: { 'x-world': world } },
      (answer) => {
        answer.resume()
        resolve(answer.statusCode ?? 0)
      },
    )
    sent.on('error', reject)
    sent.end()
  })
}

test('a client is asked for a certificate of a closed world and signed in there, until the provider is deleted', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-rest-'))
  const settings = { folder, config: { http: false, seed: 'empty' } as const }
  const root = await issue({ name: 'CN=Client Root', isAuthority: true })
  const viewer = await issue({ name: 'CN=viewer', from: root })
  const stored = join(folder, 'worlds', 'certified', 'client-authorities.pem')
  async function during(work: (app: TestApp, url: string) => Promise<void>): Promise<void> {
    const app = await startApp(settings)
    try {
      await work(app, (await app.listen()).url)
    } finally {
      await app.close()
    }
  }
  try {
    await during(async (app, url) => {
      const created = await app.call('POST', worlds, { body: { name: 'certified', preset: 'demo' } })
      assert.equal(created.status, 201, JSON.stringify(created.errors))
      const form = providerForm({ name: 'clients', clientCaChain: root.pem })
      assert.equal((await inside(app, 'certified').call('POST', providers, { form })).status, 201)
      assert.equal(await statusOf(url, 'certified', viewer), 200)
    })
    await during(async (app, url) => {
      assert.equal((await app.call('GET', `${worlds}/certified`)).data.state, 'RESTING')
      assert.equal(await statusOf(url, 'certified', viewer), 200)
      const { call } = inside(app, 'certified')
      const [{ extId }] = (await call('GET', providers)).data
      const { etag = '' } = await call('GET', `${providers}/${extId}`)
      assert.equal((await call('DELETE', `${providers}/${extId}`, { ifMatch: etag })).status, 204)
      assert.equal(await statusOf(url, 'certified', viewer), 401)
    })
    assert.equal(existsSync(stored), false)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
