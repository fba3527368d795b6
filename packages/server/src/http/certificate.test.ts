import assert from 'node:assert/strict'
import { generateKeyPairSync, KeyObject, webcrypto, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, isIP } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { connect, createServer } from 'node:tls'
import 'reflect-metadata'
import * as x509 from '@peculiar/x509'
import { makeServerCertificate } from '../../test/support/server-certificate.ts'
import { StartRefusal } from '../core/start-refusal.ts'
import { certificatePath, loadCertificate } from './certificate.ts'
import { authorityPath, loadAuthority } from './certificates/authority.ts'
import { dayMillis, issueCertificate, type ServerCertificate } from './certificates/make.ts'

const now = new Date('2026-11-24T09:30:00Z')
const later = (days: number) => new Date(now.getTime() + days * dayMillis)

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

const ownNames = ['localhost', '127.0.0.1', '::1']
const inTls = (data: string, file: string): string => join(data, 'tls', file)
const authorityIn = (data: string): X509Certificate => new X509Certificate(readFileSync(authorityPath(data)))
const isIssuedIn = (data: string, cert: string): boolean =>
  new X509Certificate(cert).verify(authorityIn(data).publicKey)

/** @returns the text that a client with `ca` as its only authority receives */
async function greeting({ cert, key }: ServerCertificate, ca: string, host = '127.0.0.1'): Promise<string> {
  const server = createServer({ cert, key }, (socket) => socket.end('hello')).listen(0, host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const client = connect({ port, host, ca })
  client.setEncoding('utf8')
  try {
    const [text] = await once(client, 'data')
    return text
  } finally {
    client.destroy()
    server.close()
  }
}

/** Self-signed, as earlier versions created it. */
async function leaveOldCertificate(data: string, { names = ownNames, from = now, days = 825 } = {}): Promise<string> {
  x509.cryptoProvider.set(webcrypto as never)
  const signingAlgorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const keys = await webcrypto.subtle.generateKey(signingAlgorithm, true, ['sign', 'verify'])
  const old = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=Hyperplane',
    keys: keys as never,
    signingAlgorithm,
    notBefore: from,
    notAfter: new Date(from.getTime() + days * dayMillis),
    extensions: [
      new x509.SubjectAlternativeNameExtension(
        names.map((value) => ({ type: isIP(value) === 0 ? ('dns' as const) : ('ip' as const), value })),
      ),
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
    ],
  })
  const cert = `${old.toString('pem')}\n`
  mkdirSync(join(data, 'tls'), { mode: 0o700 })
  writeFileSync(inTls(data, 'cert.pem'), cert)
  writeFileSync(inTls(data, 'key.pem'), KeyObject.from(keys.privateKey).export({ type: 'pkcs8', format: 'pem' }))
  return cert
}

test('the certificate names every way to reach the service', () => {
  const created = loadCertificate(settings({ host: '2001:db8::7', publicUrl: 'https://hp.example:8443' }), now)
  const certificate = new X509Certificate(created.cert)
  for (const name of ['localhost', 'hp.example']) assert.ok(certificate.checkHost(name), name)
  for (const address of ['127.0.0.1', '::1', '2001:db8::7']) assert.ok(certificate.checkIP(address), address)
  assert.equal(certificate.checkHost('other.example'), undefined)
})

test('the file for clients holds the certificate and its authority; the server sends only the certificate', () => {
  const options = settings()
  const created = loadCertificate(options, now)
  const authority = authorityIn(options.data).toString()
  assert.equal(readFileSync(certificatePath(options), 'utf8'), created.cert + authority)
  assert.equal(created.cert.match(/BEGIN/g)?.length, 1)
  assert.ok(isIssuedIn(options.data, created.cert))
})

test('a client that trusts the file connects', async () => {
  const options = settings()
  const created = loadCertificate(options, new Date())
  assert.equal(await greeting(created, readFileSync(certificatePath(options), 'utf8')), 'hello')
})

test('the certificate of the data folder stays the same, and only the owner can read its key', () => {
  const options = settings()
  const first = loadCertificate(options, now)
  assert.deepEqual(loadCertificate(options, later(800)), first)
  if (process.platform === 'win32') return
  for (const key of ['key.pem', 'ca-key.pem']) {
    assert.equal(statSync(inTls(options.data, key)).mode & 0o777, 0o600)
    chmodSync(inTls(options.data, key), 0o644)
  }
  assert.deepEqual(loadCertificate(options, now), first)
  for (const key of ['key.pem', 'ca-key.pem']) assert.equal(statSync(inTls(options.data, key)).mode & 0o777, 0o600)
})

test('the certificate of the data folder is issued again when it has expired, and clients trust it as before', async () => {
  const options = settings()
  const today = Date.now()
  const first = loadCertificate(options, new Date(today - 825 * dayMillis))
  const trusted = readFileSync(certificatePath(options), 'utf8')
  assert.equal(loadCertificate(options, new Date(today - dayMillis)).cert, first.cert)
  const second = loadCertificate(options, new Date(today))
  assert.notEqual(second.cert, first.cert)
  assert.equal(await greeting(second, trusted), 'hello')
})

test('a certificate that has expired is refused by a client that trusts its authority', async () => {
  const options = settings()
  const past = new Date(Date.now() - 826 * dayMillis)
  const authority = loadAuthority(options.data, past)
  const expired = issueCertificate(authority, ['127.0.0.1'], past)
  await assert.rejects(greeting(expired, authority.certificate.toString()), { code: 'CERT_HAS_EXPIRED' })
})

test('the certificate of the data folder is issued again for a new name, and stays when the name is removed', () => {
  const options = settings()
  const first = loadCertificate(options, now)
  const second = loadCertificate({ ...options, publicUrl: 'https://hp.example' }, now)
  assert.notEqual(second.cert, first.cert)
  assert.ok(isIssuedIn(options.data, first.cert) && isIssuedIn(options.data, second.cert))
  assert.deepEqual(loadCertificate(options, now), second)
  assert.deepEqual(loadCertificate({ ...options, host: '0.0.0.0' }, now), second)
})

test('the certificate of the data folder is issued again when it is damaged, lacks its key, or its authority is gone', () => {
  const options = settings()
  for (const file of ['cert.pem', 'key.pem', 'ca.pem', 'ca-key.pem']) {
    const before = loadCertificate(options, now)
    writeFileSync(inTls(options.data, file), 'damaged')
    const again = loadCertificate(options, now)
    assert.notEqual(again.cert, before.cert, file)
    assert.ok(isIssuedIn(options.data, again.cert), file)
    assert.equal(loadCertificate(options, now).cert, again.cert, file)
  }
})

test('damage at the end of the file for clients is repaired, and the certificate stays', () => {
  const options = settings()
  const first = loadCertificate(options, now)
  const whole = readFileSync(certificatePath(options), 'utf8')
  writeFileSync(certificatePath(options), whole.slice(0, -100))
  assert.deepEqual(loadCertificate(options, now), first)
  assert.equal(readFileSync(certificatePath(options), 'utf8'), whole)
})

test('a certificate of an earlier version stays, and the authority is appended to its file', async () => {
  const options = settings()
  const old = await leaveOldCertificate(options.data)
  assert.equal(loadCertificate(options, later(1)).cert, old)
  const trusted = readFileSync(certificatePath(options), 'utf8')
  assert.equal(trusted, old + authorityIn(options.data).toString())
  assert.equal(loadCertificate(options, later(2)).cert, old)
  assert.equal(readFileSync(certificatePath(options), 'utf8'), trusted)
})

test('clients that trust the file of an earlier version connect, before and after the authority is appended', async () => {
  const options = settings()
  const old = await leaveOldCertificate(options.data, { from: new Date(Date.now() - dayMillis) })
  const current = loadCertificate(options, new Date())
  for (const ca of [old, readFileSync(certificatePath(options), 'utf8')])
    assert.equal(await greeting(current, ca), 'hello')
})

test('a certificate of an earlier version is replaced when it has expired or lacks a name', async () => {
  const expiring = settings()
  const old = await leaveOldCertificate(expiring.data, { days: 10 })
  assert.equal(loadCertificate(expiring, later(9)).cert, old)
  assert.ok(isIssuedIn(expiring.data, loadCertificate(expiring, later(10)).cert))
  const lacking = settings()
  await leaveOldCertificate(lacking.data, { names: ['localhost'] })
  assert.ok(isIssuedIn(lacking.data, loadCertificate(lacking, now).cert))
})

test('an unreadable authority is not replaced', () => {
  const options = settings()
  loadCertificate(options, now)
  const before = readFileSync(inTls(options.data, 'ca.pem'), 'utf8')
  rmSync(inTls(options.data, 'ca-key.pem'))
  mkdirSync(inTls(options.data, 'ca-key.pem'))
  assert.throws(() => loadCertificate(options, now), refusedWith(/ca-key\.pem cannot be read \(EISDIR\)/))
  assert.equal(readFileSync(inTls(options.data, 'ca.pem'), 'utf8'), before)
})

test('a configured certificate is used unchanged, and no other certificate is created', () => {
  const folder = mkdtempSync(join(parent, 'given-'))
  const { ca: _, ...given } = makeServerCertificate(['hp.example'], now)
  const tlsCert = join(folder, 'c.pem')
  const tlsKey = join(folder, 'k.pem')
  writeFileSync(tlsCert, given.cert)
  writeFileSync(tlsKey, given.key)
  const used = settings({ tlsCert, tlsKey })
  assert.deepEqual(loadCertificate(used, later(2000)), given)
  assert.equal(certificatePath(used), tlsCert)
  assert.ok(!existsSync(join(used.data, 'tls')))
})

test('refuses configured files that are absent, of the wrong kind, or do not belong together', () => {
  const folder = mkdtempSync(join(parent, 'given-'))
  const tlsCert = join(folder, 'c.pem')
  const tlsKey = join(folder, 'k.pem')
  const load = () => loadCertificate(settings({ tlsCert, tlsKey }), now)
  const { cert, key } = makeServerCertificate(['hp.example'], now)
  const encrypted = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' },
  }).privateKey

  assert.throws(load, refusedWith(/The certificate .+c\.pem cannot be read \(ENOENT\)/))
  writeFileSync(tlsCert, key)
  assert.throws(load, refusedWith(/The private key .+k\.pem cannot be read \(ENOENT\)/))
  writeFileSync(tlsKey, cert)
  assert.throws(load, refusedWith(/c\.pem holds no certificate/))
  writeFileSync(tlsCert, cert)
  assert.throws(load, refusedWith(/k\.pem holds no private key without a passphrase/))
  writeFileSync(tlsKey, encrypted)
  assert.throws(load, refusedWith(/k\.pem holds no private key without a passphrase/))
  writeFileSync(tlsKey, makeServerCertificate(['hp.example'], now).key)
  assert.throws(load, refusedWith(/k\.pem does not belong to the certificate .+c\.pem: give PEM files that belong/))
})
