import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { checkKey, createSealer, makeKeyCheck, WrongMasterKey } from './secrets.ts'

function memoryStore() {
  let text: string | undefined
  return {
    load: () => text,
    save: (wrapped: string) => {
      text = wrapped
    },
  }
}
const masterKey = () => randomBytes(32)

test('opens every text that it has sealed', () => {
  const sealer = createSealer(masterKey(), memoryStore())
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (plain, about) => {
      assert.equal(sealer.open(sealer.seal(plain, about), about), plain)
    }),
  )
})

test('sealing a text twice gives different results, which reveal nothing', () => {
  const sealer = createSealer(masterKey(), memoryStore())
  const first = sealer.seal('open sesame', 'users/1/password')
  assert.notEqual(first, sealer.seal('open sesame', 'users/1/password'))
  assert.ok(!Buffer.from(first.split('.')[2]!, 'base64url').includes('open sesame'))
})

test('refuses a text that was sealed for another place', () => {
  const sealer = createSealer(masterKey(), memoryStore())
  const sealed = sealer.seal('open sesame', 'users/1/password')
  assert.throws(() => sealer.open(sealed, 'users/2/password'))
})

test('refuses a text with any bit changed, cut short, or of another form', () => {
  const sealer = createSealer(masterKey(), memoryStore())
  const sealed = sealer.seal('open sesame', 'a')
  const [version, id, content] = sealed.split('.') as [string, string, string]
  const bytes = Buffer.from(content, 'base64url')
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const changed = Buffer.from(bytes)
    changed[bit >> 3]! ^= 1 << (bit & 7)
    assert.throws(() => sealer.open(`${version}.${id}.${changed.toString('base64url')}`, 'a'))
  }
  for (let length = 0; length < bytes.length; length++) {
    assert.throws(() => sealer.open(`${version}.${id}.${bytes.subarray(0, length).toString('base64url')}`, 'a'))
  }
  for (const text of ['', 'open sesame', `v2.${id}.${content}`, `${version}.00000000.${content}`]) {
    assert.throws(() => sealer.open(text, 'a'), /was not made with data key/)
  }
})

test('a restart opens earlier texts, with the same master key only', () => {
  const key = masterKey()
  const store = memoryStore()
  const sealed = createSealer(key, store).seal('open sesame', 'a')
  assert.equal(createSealer(key, store).open(sealed, 'a'), 'open sesame')
  assert.throws(() => createSealer(masterKey(), store), WrongMasterKey)
})

test('after rewrap the new master key opens earlier texts, and the old one none', () => {
  const [oldKey, newKey] = [masterKey(), masterKey()]
  const store = memoryStore()
  const sealer = createSealer(oldKey, store)
  const sealed = sealer.seal('open sesame', 'a')
  sealer.rewrap(newKey)
  assert.equal(createSealer(newKey, store).open(sealed, 'a'), 'open sesame')
  assert.throws(() => createSealer(oldKey, store), WrongMasterKey)
})

test('the key check accepts its own key only', () => {
  const key = masterKey()
  const check = makeKeyCheck(key)
  assert.ok(checkKey(key, check))
  assert.ok(!checkKey(masterKey(), check))
  assert.ok(!checkKey(key, ''))
  assert.ok(!check.includes(key.toString('base64url')))
})

test('refuses a master key of another size', () => {
  assert.throws(() => createSealer(randomBytes(16), memoryStore()), /has 32 bytes, not 16/)
})
