import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import 'reflect-metadata'
import * as x509 from '@peculiar/x509'
import { type Authority, dayMillis, issueCertificate, makeAuthority } from './make.ts'

const now = new Date('2026-11-24T09:30:00Z')
const later = (days: number) => new Date(now.getTime() + days * dayMillis)
const issued = (names: readonly string[], at = now, authority: Authority = makeAuthority(at)) =>
  new X509Certificate(issueCertificate(authority, names, at).cert)
const read = (certificate: X509Certificate) => new x509.X509Certificate(certificate.raw)
const extensions = (certificate: X509Certificate) =>
  Array.from(read(certificate).extensions, ({ type, critical }) => `${type}${critical ? ' critical' : ''}`)

test('an authority may only sign certificates, and no certificates of other authorities', () => {
  const { certificate } = makeAuthority(now)
  assert.equal(certificate.ca, true)
  assert.ok(certificate.verify(certificate.publicKey))
  assert.deepEqual(certificate.publicKey.asymmetricKeyDetails, { namedCurve: 'prime256v1' })
  assert.deepEqual(extensions(certificate), ['2.5.29.19 critical', '2.5.29.15 critical', '2.5.29.14'])
  assert.equal(read(certificate).getExtension(x509.BasicConstraintsExtension)?.pathLength, 0)
  assert.equal(read(certificate).getExtension(x509.KeyUsagesExtension)?.usages, x509.KeyUsageFlags.keyCertSign)
})

test('two authorities differ in name, key and serial number', () => {
  const [one, other] = [makeAuthority(now).certificate, makeAuthority(now).certificate]
  assert.notEqual(one.subject, other.subject)
  assert.notEqual(one.serialNumber, other.serialNumber)
  assert.ok(!one.publicKey.equals(other.publicKey))
})

test('an issued certificate is for a server, is no authority, and names the key of its issuer', () => {
  const authority = makeAuthority(now)
  const certificate = issued(['localhost'], now, authority)
  assert.ok(certificate.checkIssued(authority.certificate))
  assert.ok(certificate.verify(authority.certificate.publicKey))
  assert.equal(certificate.ca, false)
  assert.deepEqual(certificate.publicKey.asymmetricKeyDetails, { namedCurve: 'prime256v1' })
  assert.deepEqual(certificate.keyUsage, ['1.3.6.1.5.5.7.3.1'])
  const [own, issuer] = [read(certificate), read(authority.certificate)]
  assert.equal(own.getExtension(x509.KeyUsagesExtension)?.usages, x509.KeyUsageFlags.digitalSignature)
  const keyIdOfIssuer = issuer.getExtension(x509.SubjectKeyIdentifierExtension)?.keyId
  assert.match(String(keyIdOfIssuer), /^[0-9a-f]{40}$/)
  assert.equal(own.getExtension(x509.AuthorityKeyIdentifierExtension)?.keyId, keyIdOfIssuer)
  assert.notEqual(own.getExtension(x509.SubjectKeyIdentifierExtension)?.keyId, keyIdOfIssuer)
})

test('names and addresses are encoded byte for byte in the certificate', () => {
  const longest = `${'a'.repeat(63)}.localhost`
  const addresses = [
    '0.0.0.1',
    '255.254.253.252',
    '::',
    '1::',
    '::1',
    '1:2:3:4:5:6:7:8',
    'fe80::1:0:0:2',
    '::ffff:10.0.0.1',
  ]
  const certificate = issued(['localhost', longest, ...addresses])
  for (const name of ['localhost', longest]) assert.equal(certificate.checkHost(name), name)
  for (const address of addresses) assert.ok(certificate.checkIP(address), address)
  assert.equal(certificate.checkHost('other.localhost'), undefined)
})

test('a certificate can hold a hundred names', () => {
  const names = Array.from({ length: 100 }, (_, index) => `name-${index}.example`)
  assert.equal(issued(names).subjectAltName?.split(', ').length, 100)
})

test('an issued certificate is valid from an hour ago for 825 days, but never longer than its issuer', () => {
  const authority = makeAuthority(now)
  const first = issued(['localhost'], now, authority)
  assert.equal(first.validFromDate.toISOString(), '2026-11-24T08:30:00.000Z')
  assert.equal(first.validToDate.getTime() - first.validFromDate.getTime(), 825 * dayMillis)
  const last = issued(['localhost'], later(3000), authority)
  assert.deepEqual(last.validToDate, authority.certificate.validToDate)
})

test('dates after 2049 are written with four digits of the year', () => {
  const certificate = issued(['localhost'], new Date('2049-06-01T00:00:00Z'))
  assert.equal(certificate.validFromDate.toISOString(), '2049-05-31T23:00:00.000Z')
  assert.equal(certificate.validToDate.toISOString(), '2051-09-03T23:00:00.000Z')
  assert.equal(read(certificate).notAfter.toISOString(), '2051-09-03T23:00:00.000Z')
})
