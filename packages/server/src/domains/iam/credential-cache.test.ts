import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CredentialCache, type KnownCredential } from './credential-cache.ts'

const credential = (extId: string, more: Partial<KnownCredential> = {}): KnownCredential => ({
  digest: extId,
  caller: { extId, name: extId, type: 'LOCAL', groups: [], credential: 'basic', tenantId: 't' },
  endsAt: Infinity,
  notedAt: 0,
  ...more,
})

test('a verified credential is cached for exactly a minute', async () => {
  let now = 0
  const cache = new CredentialCache(() => now)
  await cache.verified(async () => credential('a'))
  now = 59_999
  assert.equal(cache.get('a')?.caller.extId, 'a')
  await cache.verified(async () => cache.get('a'))
  now = 60_000
  assert.equal(cache.get('a'), undefined)
})

test('a change of an account removes its cached credentials and no others', async () => {
  const cache = new CredentialCache(() => 0)
  for (const name of ['a', 'b']) await cache.verified(async () => credential(name))
  cache.forget('a')
  assert.equal(cache.get('a'), undefined)
  assert.equal(cache.get('b')?.caller.extId, 'b')
})

for (const [subject, change] of [
  ['its account', (cache: CredentialCache) => cache.forget('a')],
  ['a directory that it comes from', (cache: CredentialCache) => cache.forgetProvider('d')],
] as const)
  test(`a verification runs again when ${subject} changes meanwhile, and its first result counts for nothing`, async () => {
    const cache = new CredentialCache(() => 0)
    let runs = 0
    const outcome = await cache.verified(async () => {
      if (++runs > 1) return 'refused'
      change(cache)
      cache.forget('somebody else')
      return credential('a', { providers: ['d'] })
    })
    assert.deepEqual([outcome, runs], ['refused', 2])
    assert.equal(cache.get('a'), undefined)
  })

test('changes of other accounts and directories do not repeat a verification', async () => {
  const cache = new CredentialCache(() => 0)
  let runs = 0
  await cache.verified(async () => {
    runs++
    cache.forget('b')
    cache.forgetProvider('other')
    return credential('a', { providers: ['d'] })
  })
  assert.equal(runs, 1)
})

test('digests differ between schemes and between processes', () => {
  const [one, other] = [new CredentialCache(() => 0), new CredentialCache(() => 0)]
  assert.notEqual(one.digestOf('basic', 'x'), one.digestOf('apiKey', 'x'))
  assert.notEqual(one.digestOf('basic', 'x'), other.digestOf('basic', 'x'))
})
