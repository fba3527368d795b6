import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { StartRefusal } from '../../core/start-refusal.ts'
import { authorityPath, loadAuthority } from './authority.ts'
import { dayMillis } from './make.ts'
import { createWorldCertificates } from './worlds.ts'

const start = Date.parse('2026-11-24T09:30:00Z')

let parent: string
before(() => {
  parent = mkdtempSync(join(tmpdir(), 'hyperplane-worlds-'))
})
after(() => rmSync(parent, { recursive: true }))

function certificatesOf(worlds: readonly string[], data = mkdtempSync(join(parent, 'data-'))) {
  const logged: string[] = []
  const existing = new Set(worlds)
  const real = { now: start }
  const certificates = createWorldCertificates({
    data,
    folderOf: (name) => (existing.has(name) ? join(data, 'worlds', name) : undefined),
    now: () => real.now,
    log: { error: (details, message) => logged.push(`${message}: ${(details as { err: Error }).err.message}`) },
  })
  return { data, existing, logged, real, ...certificates }
}

test('the authority of the folder issues one certificate for the name of a world, and the world keeps it', () => {
  const { data, certificateOf } = certificatesOf(['alpha', 'beta'])
  const alpha = certificateOf('alpha.localhost')
  assert.ok(alpha !== undefined)
  const certificate = new X509Certificate(alpha.cert)
  assert.equal(certificate.subjectAltName, 'DNS:alpha.localhost')
  assert.ok(certificate.verify(loadAuthority(data, new Date(start)).certificate.publicKey))
  assert.equal(certificateOf('alpha.localhost'), alpha)
  assert.equal(certificateOf('Alpha.LOCALHOST'), alpha)
  assert.notEqual(certificateOf('beta.localhost')?.cert, alpha.cert)
})

test('other names have no certificate, and no file is written for them', () => {
  const { data, certificateOf } = certificatesOf(['alpha', 'a.b', '', '*'])
  const others = ['gamma.localhost', 'localhost', '.localhost', '*.localhost', 'a.b.localhost', 'alpha.localhost.']
  for (const name of [...others, 'alpha.localhost.example', 'alpha', '', `${'a'.repeat(64)}.localhost`, 'ä.localhost'])
    assert.equal(certificateOf(name), undefined, name)
  assert.ok(!existsSync(join(data, 'tls')))
})

test('a certificate is renewed thirty days before it expires', () => {
  const { real, certificateOf } = certificatesOf(['alpha'])
  const first = certificateOf('alpha.localhost')
  real.now += 794 * dayMillis
  assert.equal(certificateOf('alpha.localhost'), first)
  real.now += dayMillis
  const second = certificateOf('alpha.localhost')
  assert.ok(second !== undefined && second !== first)
  assert.ok(new X509Certificate(second.cert).validToDate.getTime() > real.now + 800 * dayMillis)
})

test('a removed world has no certificate', () => {
  const { existing, certificateOf } = certificatesOf(['alpha'])
  assert.ok(certificateOf('alpha.localhost'))
  existing.delete('alpha')
  assert.equal(certificateOf('alpha.localhost'), undefined)
})

test('the cache holds 500 certificates and drops the least recently used one', () => {
  const names = Array.from({ length: 501 }, (_, index) => `w${index}.localhost`)
  const { certificateOf } = certificatesOf(names.map((name) => name.replace('.localhost', '')))
  const first = names.map((name) => certificateOf(name))
  assert.equal(certificateOf('w1.localhost'), first[1])
  assert.notEqual(certificateOf('w0.localhost'), first[0])
  assert.equal(certificateOf('w0.localhost')?.cert, first[0]?.cert)
})

test('the next process uses the same certificate; only the owner can read its key', () => {
  const before = certificatesOf(['alpha'])
  const current = before.certificateOf('alpha.localhost')
  assert.ok(current !== undefined)
  const after = certificatesOf(['alpha'], before.data)
  assert.deepEqual({ ...after.certificateOf('alpha.localhost') }, { ...current })
  const key = join(before.data, 'worlds', 'alpha', 'tls', 'world-key.pem')
  assert.equal(readFileSync(key, 'utf8'), current.key)
  assert.equal(statSync(key).mode & 0o077, 0)
})

test('a stored certificate of another authority, or for another name, is not used', () => {
  const { data, existing, certificateOf } = certificatesOf(['alpha', 'beta'])
  const alpha = certificateOf('alpha.localhost')
  certificateOf('beta.localhost')
  const folder = (name: string): string => join(data, 'worlds', name, 'tls')
  cpSync(folder('alpha'), folder('beta'), { recursive: true })
  const next = certificatesOf([...existing], data)
  assert.ok(new X509Certificate(next.certificateOf('beta.localhost')?.cert ?? '').checkHost('beta.localhost'))
  rmSync(join(data, 'tls'), { recursive: true })
  const last = certificatesOf([...existing], data)
  assert.notEqual(last.certificateOf('alpha.localhost')?.cert, alpha?.cert)
})

test('a world that is created again under the same name gets another certificate', () => {
  const { data, certificateOf } = certificatesOf(['alpha'])
  const first = certificateOf('alpha.localhost')
  rmSync(join(data, 'worlds', 'alpha'), { recursive: true })
  assert.notEqual(certificateOf('alpha.localhost')?.cert, first?.cert)
})

test('a certificate that cannot be stored is used nevertheless, and the failure is logged', () => {
  const { data, logged, certificateOf } = certificatesOf(['alpha'])
  mkdirSync(join(data, 'worlds'))
  writeFileSync(join(data, 'worlds', 'alpha'), 'no folder')
  const current = certificateOf('alpha.localhost')
  assert.ok(current)
  assert.equal(certificateOf('alpha.localhost'), current)
  assert.match(logged.join(), /^storing the certificate of a world failed/)
})

test('asking for the file for clients creates the authority before the first connection', () => {
  const { data, certificateOf, trustedPath } = certificatesOf(['alpha'])
  const trusted = new X509Certificate(readFileSync(trustedPath(), 'utf8'))
  assert.equal(trustedPath(), authorityPath(data))
  assert.ok(new X509Certificate(certificateOf('alpha.localhost')?.cert ?? '').verify(trusted.publicKey))
})

test('an unreadable authority is logged, and works as soon as it can be read', () => {
  const { data, logged, certificateOf, trustedPath } = certificatesOf(['alpha'])
  mkdirSync(authorityPath(data), { recursive: true })
  assert.equal(certificateOf('alpha.localhost'), undefined)
  assert.match(logged.join('\n'), /^issuing the certificate of a world failed.+ca\.pem cannot be read \(EISDIR\)/)
  assert.throws(trustedPath, StartRefusal)
  rmSync(authorityPath(data), { recursive: true })
  assert.ok(certificateOf('alpha.localhost'))
  assert.equal(logged.length, 1)
})
