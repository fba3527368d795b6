/** SSL certificates of clusters. Source: behaviour clustermgmt.md 1.15, 5 (44, 49). */
import assert from 'node:assert/strict'
import {
  createCipheriv,
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  randomBytes,
  X509Certificate,
} from 'node:crypto'
import { after, before, test } from 'node:test'
import { SSLCertificate } from '@hyperplane/contract/clustermgmt/ssl-certificate'
import { drawsFrom } from '../../../src/core/ids/draws.ts'
import type { CertificateFact } from '../../../src/drivers/simulated/cluster-certificates.ts'
import { integer, octets, oid, sequence } from '../../../src/http/certificates/der.ts'
import { type Issued, issue } from '../../support/authorities.ts'
import { clustermgmt, ids, putFresh, setFault } from '../../support/clustermgmt.ts'
import { aUser } from '../../support/identities.ts'
import { beginning, type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { Steps } from '../../support/steps.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const pathOf = (cluster: string): string => `${clustermgmt}/clusters/${cluster}/ssl-certificate`
const path = pathOf(ids.native)
const put = (body: object, at = path): Promise<CallResult> => putFresh(app, at, body)
const shown = async (at = path): Promise<any> => (await app.call('GET', at)).data
const base64 = (text: string): string => Buffer.from(text).toString('base64')
const pairOf = ({ pem, key }: Issued, privateKeyAlgorithm = 'ECDSA_256') => ({
  publicCertificate: base64(pem),
  privateKey: base64(key),
  privateKeyAlgorithm,
})
const faultsOf = ({ status, errors }: CallResult): string[] => {
  assert.equal(status, 400)
  for (const { errorGroup, message } of errors) assert.equal(errorGroup, 'INVALID_CERTIFICATE', message)
  return errors.map(({ message }) => message)
}
const encrypted = ({ key }: Issued, passphrase: string): string =>
  createPrivateKey(key).export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase }).toString()

test('a cluster shows a self-signed certificate of its own, the same at each read, and no key', async () => {
  const first = await app.call('GET', path)
  assert.equal(first.status, 200)
  assert.deepEqual(Object.keys(first.data).sort(), ['privateKeyAlgorithm', 'publicCertificate'])
  assert.equal(first.data.privateKeyAlgorithm, 'RSA_2048')
  const certificate = new X509Certificate(first.data.publicCertificate)
  assert.equal(certificate.subject, 'CN=hp-native-01')
  assert.equal(certificate.subjectAltName, 'IP Address:10.44.1.10')
  assert.ok(certificate.verify(certificate.publicKey))
  const again = await app.call('GET', path)
  assert.equal(again.data.publicCertificate, first.data.publicCertificate)
  assert.equal(again.etag, first.etag)
  const [one, other] = await Promise.all([shown(pathOf(ids.cloud)), shown(pathOf(ids.cloud))])
  assert.equal(one.publicCertificate, other.publicCertificate)
})

test('44 the key of another certificate, an expired certificate and a wrong algorithm are refused before any task', async () => {
  const [own, other] = await Promise.all([issue({ rsaBits: 2048 }), issue({ rsaBits: 2048 })])
  const swapped = await put({ ...pairOf(own, 'RSA_2048'), privateKey: base64(other.key) })
  assert.deepEqual(faultsOf(swapped), [
    'privateKey: expected the private key of publicCertificate, found the key of another certificate.',
  ])
  assert.match(
    faultsOf(await put(pairOf(await issue({ notAfter: beginning - 1000 }))))[0] as string,
    /^publicCertificate: expected a certificate that is valid at 2026-03-02T09:00:00.*, found one that was valid until 2026-03-02T08:59:59/,
  )
  assert.deepEqual(faultsOf(await put(pairOf(own, 'RSA_4096'))), [
    'privateKeyAlgorithm: expected the algorithm of privateKey, RSA_2048, found RSA_4096.',
  ])
})

test('44 a body with the algorithm RSA_2048 alone makes a new self-signed certificate with the address of the cluster', async () => {
  const before = await app.call('GET', path)
  const task = await app.task(await put({ privateKeyAlgorithm: 'RSA_2048' }))
  assert.equal(task.status, 'SUCCEEDED')
  assert.equal(task.operation, 'Update SSL Certificate')
  assert.deepEqual(task.clusterExtIds, [ids.native])
  const after = await app.call('GET', path)
  assert.notEqual(after.etag, before.etag)
  const [old, made] = [before, after].map(({ data }) => new X509Certificate(data.publicCertificate))
  assert.notEqual(made?.fingerprint256, old?.fingerprint256)
  assert.equal(made?.subjectAltName, 'IP Address:10.44.1.10')
  const days = ((made?.validToDate.getTime() ?? 0) - (made?.validFromDate.getTime() ?? 0)) / 86_400_000
  assert.equal(days, 825)
})

test('44 the bytes of a ZIP archive as certificate are refused with what was found', async () => {
  const zip = Buffer.concat([Buffer.from('504b0304', 'hex'), randomBytes(200)]).toString('base64')
  const { key } = await issue()
  assert.deepEqual(faultsOf(await put({ publicCertificate: zip, privateKey: key, privateKeyAlgorithm: 'ECDSA_256' })), [
    'publicCertificate: expected a certificate as PEM, or as Base64 of PEM, found a ZIP archive.',
  ])
})

test('all faults are reported together, each with its path, and none quotes a key', async () => {
  const authority = await issue({ name: 'CN=Authority', isAuthority: true })
  const stranger = await issue({ name: 'CN=Stranger', isAuthority: true })
  const expired = await issue({ from: authority, notAfter: beginning - 1 })
  const key = encrypted(expired, 'right')
  const refused = await put({
    publicCertificate: expired.pem,
    privateKey: key,
    passphrase: 'wrong',
    caChain: stranger.pem,
    privateKeyAlgorithm: 'KRB_KEYTAB',
  })
  const faults = faultsOf(refused)
  assert.deepEqual(
    faults.map((fault) => fault.split(':')[0]),
    ['privateKeyAlgorithm', 'passphrase', 'publicCertificate', 'caChain'],
  )
  assert.match(faults[0] as string, /found KRB_KEYTAB, which is not supported for replacement/)
  for (const line of key.split('\n').slice(1, -2)) assert.ok(!JSON.stringify(refused).includes(line))
})

test('a certificate without its key, a key without its certificate, and a lone algorithm other than RSA_2048 are refused', async () => {
  const { pem, key } = await issue()
  const algorithm = { privateKeyAlgorithm: 'ECDSA_256' }
  assert.match(faultsOf(await put({ publicCertificate: pem, ...algorithm }))[0] as string, /^privateKey: expected the/)
  assert.match(faultsOf(await put({ privateKey: key, ...algorithm }))[0] as string, /^publicCertificate: expected the/)
  assert.match(
    faultsOf(await put(algorithm))[0] as string,
    /^privateKeyAlgorithm: expected RSA_2048 .* found ECDSA_256/,
  )
  for (const privateKeyAlgorithm of ['JKS', 'PKCS12', 'RSA_PUBLIC', 'KRB_KEYTAB'])
    assert.match(faultsOf(await put({ privateKeyAlgorithm }))[0] as string, /not supported for replacement/)
  assert.equal((await put({ publicCertificate: pem, privateKey: key })).status, 400)
})

test('an encrypted key needs its passphrase, and is stored without it', async () => {
  const own = await issue({ name: 'CN=locked' })
  const body = { ...pairOf(own), privateKey: encrypted(own, 'Open.Sesame1') }
  assert.match(faultsOf(await put(body))[0] as string, /^passphrase: expected the passphrase .*, found none/)
  assert.match(
    faultsOf(await put({ ...body, passphrase: 'x'.repeat(2000) }))[0] as string,
    /^passphrase: .* not decrypt/,
  )
  assert.equal((await app.task(await put({ ...body, passphrase: 'Open.Sesame1' }))).status, 'SUCCEEDED')
  assert.equal(new X509Certificate((await shown()).publicCertificate).subject, 'CN=locked')
})

test('a key whose encryption would keep the service busy for minutes is refused at once', async () => {
  const own = await issue()
  const cipher = sequence(oid('2.16.840.1.101.3.4.1.42'), octets(randomBytes(16)))
  const locked = (derivation: string, ...parameters: readonly Buffer[]): Buffer => {
    const how = sequence(sequence(oid(derivation), sequence(...parameters)), cipher)
    return sequence(sequence(oid('1.2.840.113549.1.5.13'), how), octets(randomBytes(144)))
  }
  const pem = (label: string, ...lines: readonly string[]): string =>
    [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----\n`].join('\n')
  const pbkdf2 = '1.2.840.113549.1.5.12'
  const tenMillion = integer(0, 0x98, 0x96, 0x80)
  const slow = locked(pbkdf2, octets(randomBytes(8)), tenMillion)
  const longSalt = locked(pbkdf2, octets(randomBytes(200)), tenMillion)
  // N 16384, r 8, p 1000.
  const costs = [integer(0x40, 0), integer(8), integer(3, 0xe8)]
  const scrypt = locked('1.3.6.1.4.1.11591.4.11', octets(randomBytes(8)), ...costs)
  const salt = randomBytes(16)
  const fast = createHash('md5').update('right').update(salt.subarray(0, 8)).digest()
  const hiding = createCipheriv('aes-128-cbc', fast, salt)
  const hidden = Buffer.concat([hiding.update(slow), hiding.final()]).toString('base64')
  const headers = ['Proc-Type: 4,ENCRYPTED', `DEK-Info: AES-128-CBC,${salt.toString('hex')}`, '']
  const base64Lines = (hidden.match(/.{1,64}/g) ?? []) as string[]
  const label = 'ENCRYPTED PRIVATE KEY'
  for (const [privateKey, found] of [
    [pem(label, slow.toString('base64')), '10,000,000 iterations'],
    [pem(label, longSalt.toString('base64')), 'a salt of 200 bytes'],
    [pem(label, scrypt.toString('base64')), 'scrypt'],
    [pem(label, ...headers, ...base64Lines), 'one that is damaged'],
    [pem('PRIVATE KEY', ...headers, ...base64Lines), 'one that is damaged'],
  ] as const) {
    const began = performance.now()
    assert.deepEqual(faultsOf(await put({ ...pairOf(own), privateKey, passphrase: 'right' })), [
      `privateKey: expected a key encrypted with PBES2 and PBKDF2 of at most 1,000,000 iterations, found ${found}.`,
    ])
    assert.ok(performance.now() - began < 1000, found)
  }
})

test('a key that is encrypted as RFC 1421 says is opened', async () => {
  const own = await issue({ name: 'CN=older' })
  const cipher = { cipher: 'aes-256-cbc', passphrase: 'Open.Sesame1' }
  const privateKey = createPrivateKey(own.key).export({ type: 'sec1', format: 'pem', ...cipher })
  const task = await app.task(await put({ ...pairOf(own), privateKey, passphrase: cipher.passphrase }))
  assert.equal(task.status, 'SUCCEEDED')
})

test('a chain in order is shown after the certificate; one out of order, or of another authority, is refused', async () => {
  const root = await issue({ name: 'CN=Root', isAuthority: true })
  const middle = await issue({ name: 'CN=Middle', isAuthority: true, from: root })
  const leaf = await issue({ name: 'CN=leaf', from: middle })
  const refused = faultsOf(await put({ ...pairOf(leaf), caChain: base64(root.pem + middle.pem) }))
  assert.deepEqual(refused, [
    'caChain: expected as certificate 1 the issuer of publicCertificate, found another certificate.',
    'caChain: expected as certificate 2 the issuer of certificate 1, found another certificate.',
  ])
  assert.match(
    faultsOf(await put({ ...pairOf(middle), caChain: root.pem }))[0] as string,
    /found that of an authority \(CA:TRUE\)/,
  )
  const sent = { ...pairOf(leaf), caChain: base64(middle.pem + root.pem) }
  assert.equal((await app.task(await put(sent))).status, 'SUCCEEDED')
  const { caChain, publicCertificate, privateKeyAlgorithm } = await shown()
  assert.equal(privateKeyAlgorithm, 'ECDSA_256')
  assert.equal(new X509Certificate(publicCertificate).subject, 'CN=leaf')
  assert.equal(caChain.match(/BEGIN CERTIFICATE/g).length, 2)
  // What a GET returned is no replacement: it lacks the key.
  assert.equal((await put(await shown())).status, 400)
})

test('a weak signature, and keys that no algorithm of the interface names, are refused', async () => {
  assert.match(
    faultsOf(await put(pairOf(await issue({ hash: 'SHA-1' }))))[0] as string,
    /SHA-256 or stronger, found ecdsa-with-SHA1/,
  )
  for (const [kind, found] of [
    ['ed25519', 'ED25519'],
    ['x25519', 'X25519'],
  ] as const) {
    const privateKey = generateKeyPairSync(kind as 'ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })
    const faults = faultsOf(await put({ ...pairOf(await issue()), privateKey }))
    assert.ok(
      faults.some((fault) => fault.includes(`the algorithm of privateKey, ${found}`)),
      faults.join(),
    )
  }
  const small = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey.export({ type: 'pkcs8', format: 'pem' })
  const faults = faultsOf(await put({ ...pairOf(await issue(), 'RSA_2048'), privateKey: small }))
  assert.ok(faults.some((fault) => fault.includes('RSA_1024')))
})

test('damaged certificates and keys are answered with 400 whatever they are', async () => {
  const own = await issue({ rsaBits: 2048 })
  const { pem, key } = own
  const garbage = [
    '',
    ' ',
    'no certificate',
    '====',
    '\u0000',
    randomBytes(3000).toString('base64'),
    pem.slice(0, 300),
    pem.replace('-----END CERTIFICATE-----', ''),
    pem.replace(/\n[A-Za-z0-9+/]{10}/, '\nAAAAAAAAAA'),
    pem + pem,
    '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----',
    '-----BEGIN CERTIFICATE-----'.repeat(2000),
    `-----BEGIN CERTIFICATE-----\n${randomBytes(900).toString('base64')}\n-----END CERTIFICATE-----`,
    `-----BEGIN PRIVATE KEY-----\n${randomBytes(900).toString('base64')}\n-----END PRIVATE KEY-----`,
    '-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----',
    Buffer.from(pem.replace(/-----[A-Z ]+-----|\s/g, ''), 'base64').toString('base64'),
    `${pem}${'A'.repeat(70_000)}`,
  ]
  const bytes = Buffer.from(pem.replace(/-----[A-Z ]+-----|\s/g, ''), 'base64')
  for (let turn = 0; turn < 60; turn++) {
    const damaged = Buffer.from(bytes)
    const random = drawsFrom(`certificate ${turn}`)
    for (let flips = 0; flips <= turn % 4; flips++) damaged[Math.floor(random() * 120)] = Math.floor(random() * 256)
    garbage.push(`-----BEGIN CERTIFICATE-----\n${damaged.toString('base64')}\n-----END CERTIFICATE-----\n`)
  }
  for (const text of garbage) {
    for (const body of [
      { publicCertificate: text, privateKey: key },
      { publicCertificate: pem, privateKey: text },
      { publicCertificate: pem, privateKey: key, caChain: text },
    ]) {
      const answer = await put({ ...body, privateKeyAlgorithm: 'RSA_2048' })
      // A changed serial number or date leaves a certificate intact, but its signature then fits nobody.
      if (answer.status === 202) await app.task(answer)
      else assert.equal(answer.status, 400, text.slice(0, 80))
    }
  }
})

test('of two updates with the same entity tag one is 412, also for a cluster that never had another certificate', async () => {
  const at = pathOf(ids.extern)
  const { etag } = await app.call('GET', at)
  const update = () => app.call('PUT', at, { body: { privateKeyAlgorithm: 'RSA_2048' }, ifMatch: etag as string })
  const answers = await Promise.all([update(), update()])
  assert.deepEqual(answers.map(({ status }) => status).sort(), [202, 412])
  for (const answer of answers) if (answer.status === 202) await app.task(answer)
  assert.equal((await app.call('PUT', at, { body: { privateKeyAlgorithm: 'RSA_2048' } })).status, 428)
})

test('a cluster that refuses the switch has the previous certificate again, and one that is unreachable is 503', async () => {
  const before = await shown()
  await setFault(app, ids.native, { refuses: ['switchCertificate'] })
  const refused = await app.task(await put(pairOf(await issue({ name: 'CN=refused' }))))
  assert.equal(refused.status, 'FAILED')
  await setFault(app, ids.native)
  assert.deepEqual(await shown(), before)
  const facts = app.world.collection<CertificateFact>('hardware.certificates')
  assert.equal(facts.get(ids.native)?.staged, undefined)
  await setFault(app, ids.native, { isDown: true })
  const unreachable = await put(pairOf(await issue()))
  assert.equal(unreachable.status, 503)
  await setFault(app, ids.native)
})

test('a handshake that shows another certificate gives the cluster its previous one', async () => {
  const steps = new Steps()
  const other = await startApp({ beforeStep: steps.beforeStep })
  const before = (await other.call('GET', path)).data
  const release = steps.hold('clustermgmt.update-ssl-certificate verify by handshake')
  const started = await putFresh(other, path, pairOf(await issue({ name: 'CN=switched' })))
  const facts = other.world.collection<CertificateFact>('hardware.certificates')
  while (facts.get(ids.native)?.switched === undefined) await new Promise(setImmediate)
  const switched = facts.get(ids.native) as CertificateFact
  await facts.put(ids.native, { ...switched, shown: (await issue({ name: 'CN=drifted' })).pem })
  release()
  assert.equal((await other.task(started)).status, 'FAILED')
  assert.deepEqual((await other.call('GET', path)).data, before)
  await other.close()
})

test('an administrator of one cluster neither sees nor replaces the certificate of another', async () => {
  const as = await aUser(app, ['Cluster Admin'], { cluster: { uuid: { eq: ids.native } } })
  const own = await app.call('GET', path, { as })
  assert.equal(own.status, 200)
  const foreign = pathOf(ids.cloud)
  assert.equal((await app.call('GET', foreign, { as })).status, 404)
  const { etag } = await app.call('GET', foreign)
  const body = { privateKeyAlgorithm: 'RSA_2048' }
  assert.equal((await app.call('PUT', foreign, { body, ifMatch: etag as string, as })).status, 404)
  const viewer = await aUser(app, ['Cluster Viewer'])
  assert.equal((await app.call('GET', path, { as: viewer })).status, 200)
  assert.equal((await app.call('PUT', path, { body, ifMatch: own.etag as string, as: viewer })).status, 403)
  assert.equal((await app.call('GET', path, { as: await aUser(app, ['Storage Admin']) })).status, 403)
})

test('the manager of a service with plain HTTP, and only v4.2, has the certificate as other clusters do', async () => {
  const at = pathOf(ids.manager)
  assert.equal(new X509Certificate((await shown(at)).publicCertificate).subject, 'CN=PC_10.44.1.9')
  assert.equal((await app.task(await put(pairOf(await issue({ name: 'CN=manager' })), at))).status, 'SUCCEEDED')
  assert.equal(new X509Certificate((await shown(at)).publicCertificate).subject, 'CN=manager')
})

test('49 the certificate is unknown to v4.0', async () => {
  const v40 = path.replace('v4.2', 'v4.0')
  assert.equal((await app.call('GET', v40)).status, 404)
  assert.equal((await app.call('PUT', v40, { body: {} })).errors[0]?.code, 'PLAT-10001')
  assert.equal((await app.call('GET', pathOf(ids.baseline))).status, 404)
})

test('the key of another cluster stays there; the one of the manager is kept, sealed', async () => {
  const keyOf = async (cluster: string): Promise<unknown> => {
    const task = await app.task(await put(pairOf(await issue()), pathOf(cluster)))
    assert.equal(task.status, 'SUCCEEDED')
    return (await app.store.get(SSLCertificate, cluster))?.privateKey
  }
  assert.equal(await keyOf(ids.native), undefined)
  assert.deepEqual(Object.keys((await keyOf(ids.manager)) as object), ['$sealed'])
})
