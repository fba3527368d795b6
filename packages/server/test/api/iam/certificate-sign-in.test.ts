/** Sign-in by client certificates: who they are, and when they count no more. Source: behaviour iam.md 5, 11, 13. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import type { ClientCertificate } from '../../../src/core/ports.ts'
import type { AuthorityFact } from '../../../src/drivers/simulated/authority.ts'
import { type Issued, type IssueOptions, issue, providerForm, publish, shown, x509 } from '../../support/authorities.ts'
import { happen } from '../../support/events.ts'
import { beginning, type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { aDirectory, aDirectoryUser, behave, personIn, putUser } from './directories.ts'
import { aUser } from './people.ts'

const providers = '/iam/v4.1.b2/authn/cert-auth-providers'
const host = 'ca.simulated'
const list = `http://${host}/ca.crl`
const clientAuthentication = '1.3.6.1.5.5.7.3.2'
const serverAuthentication = '1.3.6.1.5.5.7.3.1'
const hour = 3600_000

interface Scene {
  readonly app: TestApp
  readonly root: Issued
  readonly provider: CallResult
  /** A read by whoever shows this certificate, without any other credential. */
  ask(certificate: ClientCertificate, path?: string): Promise<CallResult>
  /** A certificate of the root, by default of the user `viewer`. */
  client(options?: IssueOptions): Promise<Issued>
}

/** A world with one provider. */
async function scene(
  fields: Readonly<Record<string, unknown>>,
  work: (scene: Scene) => Promise<void>,
  published: Partial<AuthorityFact> = {},
): Promise<void> {
  // That places are down belongs to the scenes, and would be logged.
  const app = await startApp({ logLevel: 'silent' })
  try {
    const root = await issue({ name: 'CN=Client Root', isAuthority: true })
    await publish(app, host, root, published)
    const form = providerForm({ name: 'clients', clientCaChain: root.pem, ...fields })
    const provider = await app.call('POST', providers, { form })
    assert.equal(provider.status, 201, JSON.stringify(provider.errors))
    await work({
      app,
      root,
      provider,
      ask: (certificate, path = '/iam/v4.1.b2/authn/users') => app.call('GET', path, { as: null, certificate }),
      client: (options = {}) => issue({ name: 'CN=viewer', from: root, ...options }),
    })
  } finally {
    await app.close()
  }
}

const withList = { isCrlEnabled: true, crlDps: [list], globalCrlRefreshInterval: 60 }
const withResponder = { isOcspEnabled: true, ocspResponder: `http://${host}/ocsp` }

const change = async (app: TestApp, fields: Partial<AuthorityFact>): Promise<void> => {
  const authorities = app.world.collection<AuthorityFact>('web.authorities')
  await authorities.put(host, { ...(authorities.get(host) as AuthorityFact), ...fields })
}
const breakDown = (app: TestApp, fault: 'DOWN' | 'SILENT'): Promise<void> =>
  happen(app, { type: 'WEB_SERVER_FAILS', server: host, fault })
const revoke = (app: TestApp, ...serials: readonly string[]): Promise<void> =>
  happen(app, { type: 'FACT_CHANGES', kind: 'AUTHORITY', of: host, path: 'revoked', value: serials })

test('a certificate of an existing user signs that user in, and the audit trail names the certificate', async () => {
  await scene({}, async ({ app, ask, client }) => {
    const viewer = await client({ purposes: [clientAuthentication] })
    const own = await ask(shown(viewer), `/iam/v4.1.b2/authn/users/${seedId('user/viewer')}`)
    assert.equal(own.status, 200, JSON.stringify(own.errors))
    const refused = await app.call('POST', '/iam/v4.1.b2/authn/users', {
      as: null,
      certificate: shown(viewer),
      body: { userType: 'SERVICE_ACCOUNT', username: 'x' },
    })
    assert.equal(refused.status, 403)
    const { AuditRecord } = await import('../../../src/core/records.ts')
    const [newest] = await app.store.find(AuditRecord, { newestFirst: true, limit: 1 })
    assert.match(newest?.credential ?? '', /^certificate [0-9a-f]{64}$/)
    assert.equal(newest?.identityName, 'viewer')
  })
})

test('the user is found by the user principal name first, then the e-mail address, then the common name', async () => {
  await scene({}, async ({ ask, client }) => {
    const upn = await client({ name: 'CN=nobody', upn: 'viewer', email: 'operator' })
    assert.equal((await ask(shown(upn))).status, 200)
    const email = await client({ name: 'CN=viewer', email: 'nobody@example.com' })
    assert.equal((await ask(shown(email))).status, 401)
    assert.equal((await ask(shown(await client({ name: 'CN=VIEWER' })))).status, 200)
  })
})

test('a certificate with two names of the deciding kind, an empty name or invisible characters is refused', async () => {
  await scene({}, async ({ ask, client }) => {
    for (const name of ['CN=viewer, CN=operator', 'CN=operator, CN=viewer', 'CN=viewer\u0000', 'CN=view\u200ber'])
      assert.equal((await ask(shown(await client({ name })))).status, 401, JSON.stringify(name))
    const upn = { type: 'upn' as const, value: 'operator' }
    const both = new x509.SubjectAlternativeNameExtension([{ type: 'upn', value: 'viewer' }, upn])
    assert.equal((await ask(shown(await client({ extensions: [both] })))).status, 401)
    assert.equal((await ask(shown(await client({ upn: '' })))).status, 401)
    assert.equal((await ask(shown(await client({ name: 'CN=viewer, CN=VIEWER' })))).status, 200)
  })
})

test('a certificate without a name, or of an unknown user, a service account or an inactive user, is refused', async () => {
  await scene({}, async ({ app, ask, client }) => {
    for (const name of ['CN=stranger', 'CN=ci-robot', 'CN=former', 'O=Example']) {
      const result = await ask(shown(await client({ name })))
      assert.equal(result.status, 401, name)
      assert.equal(result.errors[0]?.code, 'PLAT-10401')
    }
    const viewer = shown(await client())
    assert.equal((await ask(viewer)).status, 200)
    const state = `/iam/v4.1.b2/authn/users/${seedId('user/viewer')}/$actions/change-state`
    assert.equal((await app.call('POST', state, { body: { status: 'INACTIVE' } })).status, 200)
    assert.equal((await ask(viewer)).status, 401)
  })
})

test('a client certificate is used only without Authorization header and API key, and never for the storage namespace', async () => {
  await scene({}, async ({ app, ask, client }) => {
    const certificate = shown(await client())
    const users = '/iam/v4.1.b2/authn/users'
    assert.equal((await app.call('GET', users, { as: 'viewer:wrong', certificate })).status, 401)
    assert.equal((await app.call('GET', users, { apiKey: 'wrong', as: null, certificate })).status, 401)
    assert.equal((await ask(certificate, '/storage/v4.0.a3/config/datastores')).status, 401)
    assert.equal((await ask(certificate, users)).status, 200)
  })
})

test('a certificate of a foreign root, before or after its validity, or for servers only, is refused', async () => {
  await scene({}, async ({ app, ask, client }) => {
    const foreign = await issue({ name: 'CN=Client Root', isAuthority: true })
    assert.equal((await ask(shown(await issue({ name: 'CN=viewer', from: foreign })))).status, 401)
    assert.equal((await ask(shown(await issue({ name: 'CN=viewer' })))).status, 401)
    assert.equal((await ask({ raw: new Uint8Array([1, 2, 3]), presented: [] })).status, 401)
    assert.equal((await ask(shown(await client({ purposes: [serverAuthentication] })))).status, 401)
    assert.equal((await ask(shown(await client({ hash: 'SHA-1' })))).status, 401)
    // The name of its issuer does not make it a root.
    const likeRoot = await client({ name: 'CN=Client Root', email: 'viewer', hash: 'SHA-1' })
    assert.equal((await ask(shown(likeRoot))).status, 401)
    const forEncryption = await client({ usages: x509.KeyUsageFlags.keyEncipherment })
    assert.equal((await ask(shown(forEncryption))).status, 401)
    const later = shown(await client({ notBefore: beginning + hour }))
    const short = shown(await client({ notAfter: beginning + hour }))
    assert.equal((await ask(later)).status, 401)
    assert.equal((await ask(short)).status, 200)
    await app.clock.advance(hour)
    assert.equal((await ask(later)).status, 200)
    assert.equal((await ask(short)).status, 401)
  })
})

test('the client may send intermediate CAs along, but only certificates that may issue others count', async () => {
  await scene({}, async ({ ask, root }) => {
    const issuing = await issue({ name: 'CN=Issuing', isAuthority: true, from: root, pathLength: 0 })
    const viewer = await issue({ name: 'CN=viewer', from: issuing })
    assert.equal((await ask(shown(viewer))).status, 401)
    assert.equal((await ask(shown(viewer, issuing))).status, 200)
    // As a resumed connection does, which brings the certificate alone.
    assert.equal((await ask(shown(viewer))).status, 200)
    const user = await issue({ name: 'CN=operator', from: root })
    assert.equal((await ask(shown(await issue({ name: 'CN=admin', from: user }), user))).status, 401)
    const forServers = { name: 'CN=Web', isAuthority: true, from: root, purposes: [serverAuthentication] }
    const web = await issue(forServers)
    assert.equal((await ask(shown(await issue({ name: 'CN=admin', from: web }), web))).status, 401)
    const narrow = new x509.Extension('2.5.29.30', false, new Uint8Array([0x30, 0x00]))
    const narrowed = await issue({ name: 'CN=Narrow', isAuthority: true, from: root, extensions: [narrow] })
    assert.equal((await ask(shown(await issue({ name: 'CN=admin', from: narrowed }), narrowed))).status, 401)
    const deeper = await issue({ name: 'CN=Deeper', isAuthority: true, from: issuing })
    assert.equal((await ask(shown(await issue({ name: 'CN=admin', from: deeper }), deeper, issuing))).status, 401)
  })
})

test('a provider for smart cards requires the smart card purpose and the principal name in the certificate', async () => {
  await scene({ isCacEnabled: true }, async ({ ask, client }) => {
    const purposes = [clientAuthentication]
    assert.equal((await ask(shown(await client({ purposes, upn: 'viewer' })))).status, 200)
    assert.equal((await ask(shown(await client({ purposes })))).status, 401)
    assert.equal((await ask(shown(await client({ upn: 'viewer' })))).status, 401)
  })
})

test('a certificate on the CRL is refused with the next request after the CRL was read again', async () => {
  await scene(withList, async ({ app, ask, client }) => {
    const viewer = await client()
    const other = await client({ name: 'CN=operator' })
    assert.equal((await ask(shown(viewer))).status, 200)
    await revoke(app, viewer.serial)
    await app.clock.advance(61_000)
    assert.equal((await ask(shown(viewer))).status, 401)
    assert.notEqual((await ask(shown(other))).status, 401)
  })
})

test('when the CRL revokes an intermediate CA, certificates issued by it are refused', async () => {
  await scene(withList, async ({ app, ask, root }) => {
    const issuing = await issue({ name: 'CN=Issuing', isAuthority: true, from: root })
    const viewer = await issue({ name: 'CN=viewer', from: issuing })
    // Nothing is known of what the issuing authority revoked.
    assert.equal((await ask(shown(viewer, issuing))).status, 401)
    await revoke(app, issuing.serial)
    await app.clock.advance(61_000)
    assert.equal((await ask(shown(viewer, issuing))).status, 401)
  })
})

test('while the URL of a CRL is down, the last valid CRL is used until it expires; after that, all sign-ins are refused', async () => {
  await scene(withList, async ({ app, ask, client }) => {
    const viewer = shown(await client())
    assert.equal((await ask(viewer)).status, 200)
    await breakDown(app, 'DOWN')
    await app.clock.advance(hour / 2)
    assert.equal((await ask(viewer)).status, 200)
    await app.clock.advance(hour)
    assert.equal((await ask(viewer)).status, 401)
    await happen(app, { type: 'WEB_SERVER_RETURNS', server: host })
    await app.clock.advance(61_000)
    assert.equal((await ask(viewer)).status, 200)
  })
})

test('a newer CRL that is expired or signed by another CA does not replace the last valid one', async () => {
  await scene(withList, async ({ app, ask, client }) => {
    const viewer = await client()
    await revoke(app, viewer.serial)
    await happen(app, { type: 'AUTHORITY_FAILS', authority: host, fault: 'WRONG_SIGNER' })
    await app.clock.advance(61_000)
    assert.equal((await ask(shown(viewer))).status, 200)
    await happen(app, { type: 'AUTHORITY_FAILS', authority: host, fault: 'EXPIRED' })
    await app.clock.advance(61_000)
    assert.equal((await ask(shown(viewer))).status, 200)
    await happen(app, { type: 'AUTHORITY_RETURNS', authority: host })
    await app.clock.advance(61_000)
    assert.equal((await ask(shown(viewer))).status, 401)
  })
})

test('an older CRL that is still valid does not reinstate a revoked certificate', async () => {
  await scene(withList, async ({ app, ask, client }) => {
    const viewer = await client()
    await revoke(app, viewer.serial)
    await app.clock.advance(61_000)
    assert.equal((await ask(shown(viewer))).status, 401)
    await change(app, { revoked: [], skewSeconds: -600 })
    await app.clock.advance(61_000)
    assert.equal((await ask(shown(viewer))).status, 401)
    await change(app, { skewSeconds: 0 })
    await app.clock.advance(601_000)
    assert.equal((await ask(shown(viewer))).status, 200)
  })
})

test('certificates of a provider whose CRL was never read are refused', async () => {
  await scene({ ...withList, crlDps: ['http://late.simulated/ca.crl'] }, async ({ app, ask, client, root }) => {
    const viewer = shown(await client())
    assert.equal((await ask(viewer)).status, 401)
    await publish(app, 'late.simulated', root)
    await app.clock.advance(61_000)
    assert.equal((await ask(viewer)).status, 200)
  })
})

test('CRLs survive a restart', async () => {
  const { mkdtempSync, rmSync } = await import('node:fs')
  const { tmpdir } = await import('node:os')
  const { join } = await import('node:path')
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-lists-'))
  try {
    const first = await startApp({ folder })
    const root = await issue({ name: 'CN=Client Root', isAuthority: true })
    const viewer = shown(await issue({ name: 'CN=viewer', from: root }))
    await publish(first, host, root)
    const form = providerForm({ name: 'clients', clientCaChain: root.pem, ...withList })
    assert.equal((await first.call('POST', providers, { form })).status, 201)
    await breakDown(first, 'DOWN')
    await first.close()
    const second = await startApp({ folder })
    const result = await second.call('GET', '/iam/v4.1.b2/authn/users', { as: null, certificate: viewer })
    assert.equal(result.status, 200)
    await second.close()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('the OCSP responder is queried for each request, so a revoked certificate is refused with the next one', async () => {
  await scene(withResponder, async ({ app, ask, client }) => {
    const viewer = await client()
    assert.equal((await ask(shown(viewer))).status, 200)
    await revoke(app, viewer.serial)
    assert.equal((await ask(shown(viewer))).status, 401)
    await revoke(app)
    assert.equal((await ask(shown(viewer))).status, 200)
  })
})

test('an OCSP responder that is silent, answers try later, signs with a foreign key or has a wrong time lets nobody sign in', async () => {
  await scene(withResponder, async ({ app, ask, client }) => {
    const viewer = shown(await client())
    const faults: Partial<AuthorityFact>[] = [
      { fault: 'tryLater' },
      { fault: 'wrongSigner' },
      { fault: 'expired' },
      { skewSeconds: 600 },
      { skewSeconds: -600, validSeconds: 300 },
    ]
    for (const fault of faults) {
      await change(app, { fault: undefined, skewSeconds: 0, validSeconds: 3600, ...fault })
      assert.equal((await ask(viewer)).status, 401, JSON.stringify(fault))
    }
    await change(app, { fault: undefined, skewSeconds: 240, validSeconds: 3600 })
    assert.equal((await ask(viewer)).status, 200)
    await breakDown(app, 'SILENT')
    assert.equal((await ask(viewer)).status, 401)
  })
})

test('the OCSP responder is queried about an intermediate CA that the client sends along, too', async () => {
  await scene({ isOcspEnabled: true }, async ({ app, ask, root }) => {
    const between = { name: 'CN=Issuing', isAuthority: true, from: root }
    const issuing = await issue({ ...between, ocspUrl: `http://${host}/ocsp` })
    await publish(app, 'issuing.simulated', issuing)
    const viewer = await issue({ name: 'CN=viewer', from: issuing, ocspUrl: 'http://issuing.simulated/ocsp' })
    assert.equal((await ask(shown(viewer, issuing))).status, 200)
    await revoke(app, issuing.serial)
    assert.equal((await ask(shown(viewer, issuing))).status, 401)
    const unnamed = await issue(between)
    await publish(app, 'issuing.simulated', unnamed)
    const other = await issue({ name: 'CN=viewer', from: unnamed, ocspUrl: 'http://issuing.simulated/ocsp' })
    assert.equal((await ask(shown(other, unnamed))).status, 401)
  })
})

test('a provider without OCSP responder uses the one in the certificate; without either, nobody can sign in', async () => {
  await scene({ isOcspEnabled: true }, async ({ ask, client }) => {
    assert.equal((await ask(shown(await client({ ocspUrl: `http://${host}/ocsp` })))).status, 200)
    assert.equal((await ask(shown(await client()))).status, 401)
  })
})

test('certificates of a provider that is disabled or deleted are refused with the next request', async () => {
  await scene({}, async ({ app, ask, client, root, provider }) => {
    const viewer = shown(await client())
    assert.equal((await ask(viewer)).status, 200)
    const at = `${providers}/${provider.data.extId}`
    const put = (ifMatch: string, isCertAuthEnabled: boolean) =>
      app.call('PUT', at, {
        ifMatch,
        form: providerForm({ name: 'clients', clientCaChain: root.pem, isCertAuthEnabled }),
      })
    const off = await put(provider.etag as string, false)
    assert.equal((await ask(viewer)).status, 401)
    const on = await put(off.etag as string, true)
    assert.equal((await ask(viewer)).status, 200)
    assert.equal((await app.call('DELETE', at, { ifMatch: on.etag as string })).status, 204)
    assert.equal((await ask(viewer)).status, 401)
  })
})

test('a provider with a directory looks the name up there, and its users sign in with their groups', async () => {
  const corpAd = seedId('directory-service/corp-ad')
  await scene({ dirSvcExtID: corpAd }, async ({ ask, client, app }) => {
    const alice = shown(await client({ name: 'CN=x', upn: 'alice@example.com' }))
    const own = await ask(alice, `/iam/v4.1.b2/authn/users/${seedId('user/alice')}`)
    assert.equal(own.status, 200, JSON.stringify(own.errors))
    const removal = await app.call('DELETE', `/iam/v4.1.b2/authn/directory-services/${corpAd}`, {
      ifMatch: (await app.call('GET', `/iam/v4.1.b2/authn/directory-services/${corpAd}`)).etag as string,
    })
    assert.equal(removal.status, 409)
    assert.match(removal.errors[0]?.message ?? '', /1 certificate authentication providers/)
  })
})

test('a certificate is refused when the directory disabled the account, is down or rejects the service account, and the audit trail says why', async () => {
  const app = await startApp({ logLevel: 'silent' })
  try {
    const directory = await aDirectory(app)
    const extId = await aDirectoryUser(app, directory, 'dora')
    const root = await issue({ name: 'CN=Client Root', isAuthority: true })
    const form = providerForm({ name: 'clients', clientCaChain: root.pem, dirSvcExtID: directory.extId })
    assert.equal((await app.call('POST', providers, { form })).status, 201)
    // A local user of that name is not who the directory means.
    await aUser(app, 'dora')
    const dora = shown(await issue({ name: 'CN=x', from: root, upn: `dora@${directory.domainName}` }))
    const own = `/iam/v4.1.b2/authn/users/${extId}`
    const sign = async (): Promise<number> => {
      // The directory's answer is remembered for five minutes.
      await app.clock.advance(6 * 60_000)
      return (await app.call('GET', own, { as: null, certificate: dora })).status
    }
    assert.equal(await sign(), 200)
    const account = { name: 'dora', distinguishedName: personIn(directory, 'dora') }
    await putUser(app, directory, { ...account, isDisabled: true })
    assert.equal(await sign(), 401)
    await putUser(app, directory, account)
    assert.equal(await sign(), 200)
    const { AuditRecord } = await import('../../../src/core/records.ts')
    for (const fault of ['down', 'tls', 'wrongBind'] as const) {
      await behave(app, directory, { fault })
      assert.equal(await sign(), 401, fault)
    }
    const told = (await app.store.find(AuditRecord)).filter(({ operation }) => operation === 'iam.signIn')
    assert.equal(told.length, 3)
    for (const { decision } of told) assert.match(decision ?? '', /^directory of clients: \S/)
    // It found nobody to be wrong: the address is not shut out for it.
    for (let tries = 0; tries < 101; tries++)
      assert.equal((await app.call('GET', own, { as: null, certificate: dora })).status, 401)
    await behave(app, directory, {})
    assert.equal(await sign(), 200)
  } finally {
    await app.close()
  }
})
