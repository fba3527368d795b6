import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { StartRefusal } from '../../core/start-refusal.ts'
import { authorityPath, loadAuthority } from './authority.ts'
import { dayMillis, issueCertificate, makeAuthority } from './make.ts'

const now = new Date('2026-11-24T09:30:00Z')
const later = (days: number) => new Date(now.getTime() + days * dayMillis)

let parent: string
before(() => {
  parent = mkdtempSync(join(tmpdir(), 'hyperplane-authority-'))
})
after(() => rmSync(parent, { recursive: true }))

const newFolder = () => mkdtempSync(join(parent, 'data-'))
const keyPath = (data: string) => join(data, 'tls', 'ca-key.pem')
const serial = (data: string, at = now) => loadAuthority(data, at).certificate.serialNumber
const modeOf = (path: string) => statSync(path).mode & 0o777

test('the authority is created once, and stays', () => {
  const data = newFolder()
  const created = loadAuthority(data, now)
  assert.equal(serial(data), created.certificate.serialNumber)
  assert.equal(readFileSync(authorityPath(data), 'utf8'), created.certificate.toString())
})

test('only the owner can read the key of the authority, also after a copy that lost the file modes', () => {
  if (process.platform === 'win32') return
  const data = newFolder()
  const before = serial(data)
  assert.deepEqual([modeOf(join(data, 'tls')), modeOf(keyPath(data))], [0o700, 0o600])
  chmodSync(keyPath(data), 0o644)
  assert.equal(serial(data), before)
  assert.equal(modeOf(keyPath(data)), 0o600)
})

test('the authority is replaced as soon as it would expire before a new certificate', () => {
  const data = newFolder()
  const before = serial(data)
  assert.equal(serial(data, later(3650 - 826)), before)
  assert.notEqual(serial(data, later(3650 - 825)), before)
})

test('the authority is replaced when its validity has not begun', () => {
  const data = newFolder()
  const before = serial(data, later(30))
  assert.notEqual(serial(data), before)
})

test('the authority is replaced when one of its files is damaged or missing, or the files do not belong together', () => {
  const data = newFolder()
  const changes: readonly (() => void)[] = [
    () => writeFileSync(authorityPath(data), 'damaged'),
    () => writeFileSync(keyPath(data), 'damaged'),
    () => rmSync(authorityPath(data)),
    () => rmSync(keyPath(data)),
    () => writeFileSync(authorityPath(data), makeAuthority(now).certificate.toString()),
  ]
  for (const [index, change] of changes.entries()) {
    const before = serial(data)
    change()
    const replaced = serial(data)
    assert.notEqual(replaced, before, `change ${index}`)
    assert.equal(serial(data), replaced)
  }
})

test('an authority is replaced when it may not issue certificates, or has a key of another type', () => {
  const data = newFolder()
  const { cert, key } = issueCertificate(loadAuthority(data, now), ['localhost'], now)
  writeFileSync(authorityPath(data), cert)
  writeFileSync(keyPath(data), key)
  assert.equal(loadAuthority(data, now).certificate.ca, true)

  const { privateKey } = generateKeyPairSync('ed25519')
  writeFileSync(keyPath(data), privateKey.export({ type: 'pkcs8', format: 'pem' }))
  assert.equal(loadAuthority(data, now).key.asymmetricKeyType, 'ec')
})

test('an unreadable file is refused and not replaced, because it may be intact', () => {
  for (const pathOf of [authorityPath, keyPath]) {
    const data = newFolder()
    mkdirSync(pathOf(data), { recursive: true })
    assert.throws(
      () => loadAuthority(data, now),
      (error) =>
        error instanceof StartRefusal &&
        error.message.startsWith(`${pathOf(data)} cannot be read (EISDIR): correct its permissions, or remove it`),
    )
  }
})

test('a folder that cannot be read or written is refused with a remedy', () => {
  const data = newFolder()
  writeFileSync(join(data, 'tls'), 'not a folder')
  assert.throws(() => loadAuthority(data, now), /ca\.pem cannot be read \(ENOTDIR\)/)
  const other = newFolder()
  mkdirSync(join(other, 'tls', 'ca-key.pem.new', 'in the way'), { recursive: true })
  assert.throws(
    () => loadAuthority(other, now),
    (error) =>
      error instanceof StartRefusal &&
      /ca-key\.pem cannot be written \(.+\): correct the permissions/.test(error.message),
  )
})
