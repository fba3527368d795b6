import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CredentialCache, type KnownCredential } from './credential-cache.ts'

const credential = (extId: string): KnownCredential => ({
  caller: { extId, name: extId, type: 'LOCAL', groups: [], credential: 'basic', tenantId: 't' },
  endsAt: Infinity,
  notedAt: 0,
})

test('what was verified is remembered for a minute, and no longer', () => {
  let now = 0
  const cache = new CredentialCache(() => now)
  const digest = cache.digestOf('basic', 'text')
  cache.remember(digest, credential('a'), cache.stateOf('a'))
  now = 59_999
  assert.equal(cache.get(digest)?.caller.extId, 'a')
  now = 60_000
  assert.equal(cache.get(digest), undefined)
})

test('a change of the identity ends what is remembered of it, and of nobody else', () => {
  const cache = new CredentialCache(() => 0)
  for (const name of ['a', 'b']) cache.remember(cache.digestOf('basic', name), credential(name), cache.stateOf(name))
  cache.forget('a')
  assert.equal(cache.get(cache.digestOf('basic', 'a')), undefined)
  assert.equal(cache.get(cache.digestOf('basic', 'b'))?.caller.extId, 'b')
})

test('what was verified before a change is not remembered after it', () => {
  const cache = new CredentialCache(() => 0)
  const state = cache.stateOf('a')
  cache.forget('a')
  cache.remember(cache.digestOf('basic', 'a'), credential('a'), state)
  assert.equal(cache.get(cache.digestOf('basic', 'a')), undefined)
})

test('digests tell schemes and processes apart', () => {
  const [one, other] = [new CredentialCache(() => 0), new CredentialCache(() => 0)]
  assert.notEqual(one.digestOf('basic', 'x'), one.digestOf('apiKey', 'x'))
  assert.notEqual(one.digestOf('basic', 'x'), other.digestOf('basic', 'x'))
})
