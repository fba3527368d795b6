import assert from 'node:assert/strict'
import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { connect, createServer } from 'node:tls'
import { StartRefusal } from '../start-refusal.ts'
import { certificatePath, loadCertificate } from './certificate.ts'
import { makeSelfSigned } from './self-signed.ts'

const now = new Date('2026-11-24T09:30:00Z')
const later = (days: number) => new Date(now.getTime() + days * 86_400_000)

let parent: string
before(() => {
  parent = mkdtempSync(join(tmpdir(), 'hyperplane-certificate-'))
})
after(() => rmSync(parent, { recursive: true }))

const settings = (more: { host?: string; publicUrl?: string; tlsCert?: string; tlsKey?: string } = {}) => ({
  host: '127.0.0.1',
  data: mkdtempSync(join(parent, 'data-')),
  ...more,
})

const refusedWith = (message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof StartRefusal, String(error))
  assert.match(error.message, message)
  return true
}

test('the self-signed certificate names every way to reach the service', async () => {
  const made = await loadCertificate(settings({ host: '2001:db8::7', publicUrl: 'https://hp.example:8443' }), now)
  const certificate = new X509Certificate(made.cert)
  for (const name of ['localhost', 'hp.example']) assert.ok(certificate.checkHost(name), name)
  for (const address of ['127.0.0.1', '::1', '2001:db8::7']) assert.ok(certificate.checkIP(address), address)
  assert.equal(certificate.checkHost('other.example'), undefined)
})

test('addresses keep their bytes in the certificate', async () => {
  const addresses = ['0.0.0.1', '255.254.253.252', '::', '1::', '1:2:3:4:5:6:7:8', 'fe80::1:0:0:2']
  const certificate = new X509Certificate((await makeSelfSigned(addresses, now)).cert)
  for (const address of addresses) assert.ok(certificate.checkIP(address), address)
})

test('the self-signed certificate is ECDSA P-256, no authority, valid for 825 days, and verifies itself', async () => {
  const certificate = new X509Certificate((await makeSelfSigned(['localhost'], now)).cert)
  assert.deepEqual(certificate.publicKey.asymmetricKeyDetails, { namedCurve: 'prime256v1' })
  assert.equal(certificate.ca, false)
  assert.equal(certificate.validToDate.getTime() - certificate.validFromDate.getTime(), 825 * 86_400_000)
  assert.ok(certificate.verify(certificate.publicKey))
  assert.deepEqual(certificate.keyUsage, ['1.3.6.1.5.5.7.3.1'])
})

test('a validity beyond 2049 is written in the longer form', async () => {
  const certificate = new X509Certificate((await makeSelfSigned(['localhost'], new Date('2049-06-01T00:00:00Z'))).cert)
  assert.equal(certificate.validFromDate.toISOString(), '2049-05-31T23:00:00.000Z')
  assert.equal(certificate.validToDate.toISOString(), '2051-09-03T23:00:00.000Z')
})

test('a client that trusts the certificate connects', async () => {
  const { cert, key } = await makeSelfSigned(['localhost', '127.0.0.1'], new Date())
  const server = createServer({ cert, key }, (socket) => socket.end('hello')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const client = connect({ port, host: '127.0.0.1', ca: cert })
  client.setEncoding('utf8')
  const [greeting] = await once(client, 'data')
  assert.equal(greeting, 'hello')
  client.destroy()
  server.close()
})

test('the certificate of the data folder is kept, and its key is for its owner only', async () => {
  const kept = settings()
  const first = await loadCertificate(kept, now)
  assert.deepEqual(await loadCertificate(kept, later(800)), first)
  assert.equal(readFileSync(certificatePath(kept), 'utf8'), first.cert)
  if (process.platform !== 'win32') assert.equal(statSync(join(kept.data, 'tls', 'key.pem')).mode & 0o777, 0o600)
})

test('the certificate of the data folder is made again when it has expired', async () => {
  const kept = settings()
  const first = await loadCertificate(kept, now)
  const second = await loadCertificate(kept, later(825))
  assert.notEqual(second.cert, first.cert)
  assert.ok(new X509Certificate(second.cert).validToDate > later(1600))
})

test('the certificate of the data folder is made again for a new name, and kept when the name goes', async () => {
  const kept = settings()
  const first = await loadCertificate(kept, now)
  const second = await loadCertificate({ ...kept, publicUrl: 'https://hp.example' }, now)
  assert.notEqual(second.cert, first.cert)
  assert.deepEqual(await loadCertificate(kept, now), second)
  assert.deepEqual(await loadCertificate({ ...kept, host: '0.0.0.0' }, now), second)
})

test('the certificate of the data folder is made again when it is damaged or lacks its key', async () => {
  const kept = settings()
  for (const file of ['cert.pem', 'key.pem']) {
    const before = await loadCertificate(kept, now)
    writeFileSync(join(kept.data, 'tls', file), 'damaged')
    const again = await loadCertificate(kept, now)
    assert.notEqual(again.cert, before.cert)
    assert.ok(new X509Certificate(again.cert).verify(new X509Certificate(again.cert).publicKey))
  }
})

test('a given certificate is used as it is', async () => {
  const folder = mkdtempSync(join(parent, 'given-'))
  const given = await makeSelfSigned(['hp.example'], now)
  const tlsCert = join(folder, 'c.pem')
  const tlsKey = join(folder, 'k.pem')
  writeFileSync(tlsCert, given.cert)
  writeFileSync(tlsKey, given.key)
  const used = settings({ tlsCert, tlsKey })
  assert.deepEqual(await loadCertificate(used, later(2000)), given)
  assert.equal(certificatePath(used), tlsCert)
})

test('refuses given files that are absent, of the wrong kind, or do not belong together', async () => {
  const folder = mkdtempSync(join(parent, 'given-'))
  const tlsCert = join(folder, 'c.pem')
  const tlsKey = join(folder, 'k.pem')
  const load = () => loadCertificate(settings({ tlsCert, tlsKey }), now)
  const { cert, key } = await makeSelfSigned(['hp.example'], now)
  const encrypted = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' },
  }).privateKey

  await assert.rejects(load(), refusedWith(/The certificate .+c\.pem cannot be read \(ENOENT\)/))
  writeFileSync(tlsCert, key)
  await assert.rejects(load(), refusedWith(/The private key .+k\.pem cannot be read \(ENOENT\)/))
  writeFileSync(tlsKey, cert)
  await assert.rejects(load(), refusedWith(/c\.pem holds no certificate/))
  writeFileSync(tlsCert, cert)
  await assert.rejects(load(), refusedWith(/k\.pem holds no private key without a passphrase/))
  writeFileSync(tlsKey, encrypted)
  await assert.rejects(load(), refusedWith(/k\.pem holds no private key without a passphrase/))
  writeFileSync(tlsKey, (await makeSelfSigned(['hp.example'], now)).key)
  await assert.rejects(
    load(),
    refusedWith(/k\.pem does not belong to the certificate .+c\.pem: give PEM files that belong/),
  )
})
