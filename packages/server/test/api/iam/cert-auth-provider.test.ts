/** Certificate authentication providers: the form, the chain, and what is refused. Source: behaviour iam.md 5, 13. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Issued, issue, providerForm, publish, x509 } from '../../support/authorities.ts'
import { beginning, type CallResult, startApp, type TestApp } from '../../support/start-app.ts'

const path = '/iam/v4.1.b2/authn/cert-auth-providers'
let app: TestApp
let root: Issued
let intermediate: Issued
let counter = 0

before(async () => {
  app = await startApp()
  root = await issue({ name: 'CN=Example Root, O=Example', isAuthority: true })
  intermediate = await issue({ name: 'CN=Example Issuing', isAuthority: true, from: root })
})
after(() => app.close())

const create = (fields: Readonly<Record<string, unknown>>): Promise<CallResult> =>
  app.call('POST', path, { form: providerForm({ name: `provider ${++counter}`, ...fields }) })
const chainOf = (...certificates: readonly Issued[]): string => certificates.map(({ pem }) => pem).join('')
const facts = (result: CallResult): string => `${result.status} ${JSON.stringify(result.errors)}`
const fault = (result: CallResult): string => {
  assert.equal(result.status, 400, facts(result))
  assert.equal(result.errors[0]?.code, 'IAM-20022', facts(result))
  return result.errors.map(({ message }) => message).join('\n')
}
/** Each test has authorities of its own: one authority speaks for one enabled provider. */
const aRoot = (name = `CN=Root ${++counter}`): Promise<Issued> => issue({ name, isAuthority: true })

test('a provider sent as a form with its CA chain as text is created, read, listed, replaced with its ETag, and deleted', async () => {
  const own = await aRoot()
  const created = await create({ name: 'smart cards', clientCaChain: own.pem })
  assert.equal(created.status, 201, facts(created))
  assert.match(created.data.extId, /^[0-9a-f-]{36}$/)
  assert.deepEqual(created.data.certRevocationInfo, {
    isCrlEnabled: false,
    globalCrlRefreshInterval: 86400,
    isOcspEnabled: false,
  })
  const at = `${path}/${created.data.extId}`
  const read = await app.call('GET', at)
  assert.equal(read.data.clientCaChain, own.pem)
  assert.equal(read.data.name, 'smart cards')
  assert.equal((await app.call('GET', path)).data.length, 1)

  const form = () => providerForm({ name: 'smart cards', clientCaChain: own.pem, isCertAuthEnabled: false })
  assert.equal((await app.call('PUT', at, { form: form() })).status, 428)
  const replaced = await app.call('PUT', at, { form: form(), ifMatch: read.etag as string })
  assert.equal(replaced.status, 200, facts(replaced))
  assert.equal(replaced.data.isCertAuthEnabled, false)
  assert.equal((await app.call('PUT', at, { form: form(), ifMatch: read.etag as string })).status, 412)
  assert.equal((await app.call('DELETE', at)).status, 428)
  assert.equal((await app.call('DELETE', at, { ifMatch: replaced.etag as string })).status, 204)
  const gone = await app.call('GET', at)
  assert.equal(gone.status, 404)
  assert.equal(gone.errors[0]?.code, 'IAM-20005')
})

test("a CA chain sent as a file gives the provider the file's name", async () => {
  const own = await aRoot()
  const file = new File([own.pem.replaceAll('\n', '\r\n')], 'company ca.pem')
  const created = await create({ caCertFileName: file })
  assert.equal(created.status, 201, facts(created))
  assert.equal(created.data.caCertFileName, 'company ca.pem')
  assert.equal(created.data.clientCaChain, own.pem.replaceAll('\n', '\r\n'))
})

test('revocation settings are accepted as separate form parts or as one JSON part, not as both', async () => {
  const [one, two] = [await aRoot(), await aRoot()]
  await publish(app, 'parts.simulated', one)
  await publish(app, 'json.simulated', two)
  const crlDps = ['http://parts.simulated/a.crl', 'http://parts.simulated/b.crl']
  const parts = await create({
    clientCaChain: one.pem,
    isCrlEnabled: true,
    crlDps,
    globalCrlRefreshInterval: 600,
    isOcspEnabled: true,
    ocspResponder: 'http://parts.simulated/',
  })
  assert.equal(parts.status, 201, facts(parts))
  assert.deepEqual(parts.data.certRevocationInfo, {
    isCrlEnabled: true,
    globalCrlRefreshInterval: 600,
    isOcspEnabled: true,
    crlDps,
    ocspResponder: 'http://parts.simulated/',
  })
  const info = { isCrlEnabled: true, crlDps: ['http://json.simulated/a.crl'], globalCrlRefreshInterval: 60 }
  const json = await create({ clientCaChain: two.pem, certRevocationInfo: info })
  assert.equal(json.status, 201, facts(json))
  assert.equal(json.data.certRevocationInfo.globalCrlRefreshInterval, 60)
  const both = await create({ clientCaChain: two.pem, certRevocationInfo: info, isCrlEnabled: true })
  assert.equal(both.status, 400)
  const none = await create({ clientCaChain: (await aRoot()).pem, isCrlEnabled: true })
  assert.equal(none.errors[0]?.argumentsMap?.['attributePath'], 'crlDps')
})

test('a body that is not a form is 415, and the refusal of an incomplete form names the missing part', async () => {
  assert.equal((await app.call('POST', path, { body: { name: 'x' } })).status, 415)
  const missing = await app.call('POST', path, {
    form: providerForm({ isCacEnabled: undefined, clientCaChain: root.pem }),
  })
  assert.equal(missing.status, 400)
  assert.deepEqual(missing.errors.map(({ attributePath }) => attributePath).sort(), ['isCacEnabled', 'name'])
  const wrong = await create({ clientCaChain: root.pem, isCertAuthEnabled: 'perhaps', globalCrlRefreshInterval: 59 })
  assert.deepEqual(wrong.errors.map(({ attributePath }) => attributePath).sort(), [
    'globalCrlRefreshInterval',
    'isCertAuthEnabled',
  ])
})

test('a form with more than 50 parts, a path in a file name, a repeated part or an unknown file is 400 and stores nothing', async () => {
  const before = (await app.call('GET', path)).total
  const many = providerForm({ name: 'many', clientCaChain: root.pem })
  for (let index = 0; index < 51; index++) many.append(`extra${index}`, 'x')
  const pathed = providerForm({ name: 'path', caCertFileName: new File([root.pem], '../../etc/ca.pem') })
  const long = providerForm({ name: 'long', caCertFileName: new File([root.pem], `${'x'.repeat(256)}.pem`) })
  const twice = providerForm({ name: ['one', 'two'], clientCaChain: root.pem })
  const odd = providerForm({ name: 'odd', clientCaChain: new File([root.pem], 'ca.pem') })
  for (const form of [many, pathed, long, twice, odd]) {
    const result = await app.call('POST', path, { form })
    assert.equal(result.status, 400, facts(result))
  }
  assert.equal((await app.call('GET', path)).total, before)
})

test('a chain of an issuing CA followed by its root is accepted', async () => {
  const created = await create({ clientCaChain: chainOf(intermediate, root) })
  assert.equal(created.status, 201, facts(created))
})

test('a chain out of order is refused and the misplaced certificate named', async () => {
  const message = fault(await create({ clientCaChain: chainOf(root, intermediate) }))
  assert.match(message, /certificate 1 \(CN=Example Root, O=Example\) is out of order/)
  const lower = await issue({ name: 'CN=Lower', isAuthority: true, from: intermediate })
  assert.match(
    fault(await create({ clientCaChain: chainOf(intermediate, lower, root) })),
    /certificate 1 \(CN=Example Issuing\) is out of order: its issuer is certificate 3/,
  )
  assert.match(fault(await create({ clientCaChain: intermediate.pem })), /issued by none of the chain/)
})

test('a chain with a user certificate, an expired one or one with a weak signature is refused and the certificate named', async () => {
  const user = await issue({ name: 'CN=alice', from: root })
  assert.match(fault(await create({ clientCaChain: user.pem })), /certificate 1 \(CN=alice\) is no authority/)
  const old = await issue({ name: 'CN=Old Root', isAuthority: true, notAfter: beginning - 1000 })
  assert.match(fault(await create({ clientCaChain: old.pem })), /CN=Old Root\) has expired on 2026-03-02T08:59:59/)
  const weak = await issue({ name: 'CN=Weak', isAuthority: true, from: root, hash: 'SHA-1' })
  assert.match(fault(await create({ clientCaChain: chainOf(weak, root) })), /CN=Weak\) is signed with a weak algorithm/)
  const small = await issue({ name: 'CN=Small', isAuthority: true, rsaBits: 1024 })
  assert.match(fault(await create({ clientCaChain: small.pem })), /CN=Small\) has a weak key/)
  const mute = await issue({ name: 'CN=Mute', isAuthority: true, usages: x509.KeyUsageFlags.digitalSignature })
  assert.match(fault(await create({ clientCaChain: mute.pem })), /CN=Mute\) may not sign certificates/)
  for (const [type, isCritical] of [
    ['2.5.29.36', true],
    // Constraints of names count however they are marked.
    ['2.5.29.30', true],
    ['2.5.29.30', false],
  ] as const) {
    const extensions = [new x509.Extension(type, isCritical, new Uint8Array([0x30, 0x00]))]
    const special = await issue({ name: 'CN=Special', isAuthority: true, extensions })
    const told = fault(await create({ clientCaChain: special.pem }))
    assert.ok(told.includes(`has an extension that is not understood here (${type})`), told)
  }
  const forServers = await issue({ name: 'CN=Web', isAuthority: true, purposes: ['1.3.6.1.5.5.7.3.1'] })
  assert.match(fault(await create({ clientCaChain: forServers.pem })), /CN=Web\) may not issue certificates of clients/)
})

test('all faults of a chain are reported together', async () => {
  const old = await issue({ name: 'CN=Old Root', isAuthority: true, notAfter: beginning - 1000 })
  const user = await issue({ name: 'CN=alice', from: root })
  const result = await create({ clientCaChain: chainOf(user, old) })
  assert.equal(result.errors.length, 2, facts(result))
})

test('a DER file, damaged PEM, a foreign PEM block and an empty chain get different errors', async () => {
  const der = new File([new Uint8Array(root.certificate.rawData)], 'ca.der')
  assert.match(fault(await create({ caCertFileName: der })), /expected PEM, found DER/)
  assert.match(fault(await create({ clientCaChain: 'hello' })), /found no certificate/)
  assert.match(fault(await create({ clientCaChain: root.pem.slice(0, -30) })), /found no certificate/)
  assert.match(
    fault(await create({ clientCaChain: root.pem + intermediate.pem.slice(0, -30) })),
    /begins and does not end/,
  )
  assert.match(
    fault(
      await create({
        clientCaChain: '-----BEGIN CERTIFICATE-----\nTm90IGEgY2VydGlmaWNhdGU=\n-----END CERTIFICATE-----',
      }),
    ),
    /certificate 1 cannot be read/,
  )
  const request = '-----BEGIN CERTIFICATE REQUEST-----\nAA==\n-----END CERTIFICATE REQUEST-----\n'
  assert.match(fault(await create({ clientCaChain: request })), /PEM block "CERTIFICATE REQUEST"/)
  assert.match(fault(await create({ clientCaChain: root.pem.repeat(11) })), /expected 1 to 10 certificates, found 11/)
})

test('a private key in the upload is refused, and no part of it is in the response or in the store', async () => {
  const result = await create({ clientCaChain: root.key + root.pem })
  assert.match(fault(result), /found a private key/)
  const secret = root.key.split('\n')[1] as string
  assert.ok(!JSON.stringify(result).includes(secret))
})

test('a name in use, and a CA that another enabled provider has, are 409', async () => {
  const own = await aRoot('CN=Shared')
  assert.equal((await create({ name: 'first', clientCaChain: own.pem })).status, 201)
  const sameName = await create({ name: 'first', clientCaChain: (await aRoot()).pem })
  assert.equal(sameName.status, 409)
  assert.equal(sameName.errors[0]?.code, 'IAM-20014')
  const sameAuthority = await create({ clientCaChain: own.pem })
  assert.equal(sameAuthority.status, 409)
  assert.equal(sameAuthority.errors[0]?.code, 'IAM-20014')
  assert.equal((await create({ clientCaChain: own.pem, isCertAuthEnabled: false })).status, 201)
})

test('an unknown directory is 404', async () => {
  const unknown = '5d3f6a0e-9f0b-4c39-8f4e-3a1d0c9b7e11'
  const result = await create({ clientCaChain: (await aRoot()).pem, dirSvcExtID: unknown })
  assert.equal(result.status, 404)
  assert.equal(result.errors[0]?.code, 'IAM-20004')
})

test('a CRL that is invalid, expired or signed by another CA is refused; an unreachable CRL is a warning', async () => {
  const own = await aRoot('CN=Publishing')
  const withList = (host: string) =>
    create({ clientCaChain: own.pem, isCrlEnabled: true, crlDps: [`http://${host}/ca.crl`] })
  await publish(app, 'old.simulated', own, { fault: 'expired' })
  assert.match(fault(await withList('old.simulated')), /has run out/)
  await publish(app, 'wrong.simulated', own, { fault: 'wrongSigner' })
  assert.match(fault(await withList('wrong.simulated')), /not signed by CN=Publishing/)
  await publish(app, 'other.simulated', root)
  assert.match(fault(await withList('other.simulated')), /none of the authorities in the chain|another issuer/)
  await app.world
    .collection('web.documents')
    .put('http://text.simulated/ca.crl', { base64: Buffer.from('hello').toString('base64') })
  assert.match(fault(await withList('text.simulated')), /expected a revocation list/)
  const absent = await withList('nowhere.simulated')
  assert.equal(absent.status, 201, facts(absent))
  assert.match(absent.warnings.join(), /cannot be read now/)
})

test('CRL and OCSP URLs that lead to this machine are refused', async () => {
  const own = await aRoot()
  const list = await create({ clientCaChain: own.pem, isCrlEnabled: true, crlDps: ['http://127.0.0.1:9/ca.crl'] })
  assert.match(fault(list), /loopback/)
  const responder = { isOcspEnabled: true, ocspResponder: 'http://169.254.169.254/' }
  assert.match(fault(await create({ clientCaChain: own.pem, ...responder })), /metadata address/)
})

test('malformed CRL and OCSP URLs are refused as malformed', async () => {
  const own = await aRoot()
  for (const url of ['http://[::1/ca.crl', 'http://ca.example.com:99999/']) {
    assert.match(fault(await create({ clientCaChain: own.pem, isCrlEnabled: true, crlDps: [url] })), /it is no URL/)
    const responder = { isOcspEnabled: true, ocspResponder: url }
    assert.match(fault(await create({ clientCaChain: own.pem, ...responder })), /it is no URL/)
  }
})

test('a creation repeated with its request id is replayed although the form has another boundary', async () => {
  const own = await aRoot()
  const requestId = '0f3a5a52-58b3-4c39-9f4e-3a1d0c9b7e77'
  const form = () => providerForm({ name: 'once', clientCaChain: own.pem })
  const first = await app.call('POST', path, { form: form(), requestId })
  const second = await app.call('POST', path, { form: form(), requestId })
  assert.equal(second.status, 201)
  assert.equal(second.data.extId, first.data.extId)
  assert.equal(second.replayed, true)
})
