import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPasswords, verifyPassword } from './passwords.ts'

const { hash, verifyNone } = createPasswords()

test('a password verifies against its own hash only', async () => {
  const stored = await hash('Correct horse 1!')
  assert.equal(await verifyPassword('Correct horse 1!', stored), true)
  assert.equal(await verifyPassword('correct horse 1!', stored), false)
  assert.equal(await verifyPassword('', stored), false)
})

test('a hash names its algorithm and cost, and two of one password differ', async () => {
  const [first, second] = await Promise.all([hash('x'), hash('x')])
  assert.match(first, /^\$argon2id\$v=19\$m=19456,t=4,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
  assert.notEqual(first, second)
})

test('a letter matches in composed and decomposed form', async () => {
  assert.equal(await verifyPassword('Cafe\u0301', await hash('Caf\u00e9')), true)
})

test('a hash of another program and cost verifies', async () => {
  // From the tests of the reference implementation (phc-winner-argon2, test.c).
  const stored = '$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4'
  assert.equal(await verifyPassword('password', stored), true)
  assert.equal(await verifyPassword('wrong', stored), false)
})

test('no password verifies for a user that does not exist', async () => {
  assert.equal(await verifyNone(''), false)
})

test('a stored text that is no hash is a fault, not a wrong password', async () => {
  for (const stored of ['', 'password', '$argon2i$v=19$m=1024,t=2,p=1$c29tZXNhbHQ$eJZpS+oOkIrdxd24rjgV4ElJXRDsRH1N']) {
    await assert.rejects(verifyPassword('password', stored), /not in the form/)
  }
})
