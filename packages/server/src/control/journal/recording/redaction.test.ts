import assert from 'node:assert/strict'
import { test } from 'node:test'
import { arrayOf, integer, mapOf, object, oneOf, optional, secret, text } from '@hyperplane/contract'
import { holdsSecrets, redacted } from './redaction.ts'

const Login = object('a.v1.Login', { user: text(), password: secret(text()) })
const Token = object('a.v1.Token', { token: secret(text()) })
const Body = object('a.v1.Body', {
  name: text(),
  size: optional(integer()),
  logins: arrayOf(Login),
  by: optional(oneOf(Login, Token)),
  byHost: optional(mapOf(Login)),
})

test('secrets are redacted at every depth, and nothing else', () => {
  const body = {
    $objectType: 'a.v1.Body',
    name: 'x',
    logins: [{ user: 'a', password: 'p1' }],
    by: { token: 'p2' },
    byHost: { one: { user: 'b', password: 'p3' } },
  }
  assert.deepEqual(redacted(Body, body), {
    $objectType: 'a.v1.Body',
    name: 'x',
    logins: [{ user: 'a', password: '[secret]' }],
    by: { token: '[secret]' },
    byHost: { one: { user: 'b', password: '[secret]' } },
  })
})

test('bodies with secrets lose fields that the contract does not declare', () => {
  const body = {
    name: { password: 'p1' },
    passwort: 'p2',
    logins: 'p3',
    by: { pass: 'p4' },
    byHost: ['p5'],
    $reserved: { password: 'p6' },
  }
  const kept = JSON.stringify(redacted(Body, body))
  for (const plain of ['p1', 'p2', 'p3', 'p4', 'p5', 'p6']) assert.ok(!kept.includes(plain), kept)
})

test('holdsSecrets finds schemas with secrets', () => {
  assert.equal(holdsSecrets(Body), true)
  assert.equal(holdsSecrets(object('a.v1.Plain', { name: text() })), false)
  assert.equal(holdsSecrets(undefined), false)
})
