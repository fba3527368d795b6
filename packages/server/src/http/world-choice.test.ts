import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../core/api-error.ts'
import { chosenWorld } from './world-choice.ts'

test('a request that names no world chooses none', () => {
  for (const host of [undefined, 'localhost', 'localhost:9440', '127.0.0.1:9440', '[::1]:9440', 'notlocalhost:1'])
    assert.equal(chosenWorld({ header: undefined, host }), undefined, String(host))
  assert.equal(chosenWorld({ header: '  ', host: 'localhost' }), undefined)
})

test('header, host and port each name a world, in upper or lower case', () => {
  assert.equal(chosenWorld({ header: 'CI-1', host: 'localhost:9440' }), 'ci-1')
  assert.equal(chosenWorld({ header: undefined, host: 'CI-1.localhost:9440' }), 'ci-1')
  assert.equal(chosenWorld({ header: undefined, host: 'ci-1.localhost.' }), 'ci-1')
  assert.equal(chosenWorld({ port: 'ci-1', header: undefined, host: '127.0.0.1:40000' }), 'ci-1')
  assert.equal(chosenWorld({ port: 'ci-1', header: 'ci-1', host: 'Ci-1.LOCALHOST' }), 'ci-1')
})

test('a name that no world can have is still returned, so that the request is refused', () => {
  assert.equal(chosenWorld({ header: undefined, host: 'a.b.localhost' }), 'a.b')
})

test('two different worlds in one request are refused, and the message names both', () => {
  for (const requested of [
    { header: 'one', host: 'two.localhost' },
    { port: 'one', header: 'two', host: 'localhost' },
    { port: 'one', header: undefined, host: 'two.localhost' },
    { port: 'one', header: 'default', host: 'localhost' },
  ]) {
    assert.throws(
      () => chosenWorld(requested),
      (error) => error instanceof ApiError && error.status === 400 && error.key === 'WORLDS_DISAGREE',
    )
  }
  assert.throws(
    () => chosenWorld({ header: 'One', host: 'two.localhost' }),
    /The header X-World \(one\) and the host name \(two\) of the request name different worlds/,
  )
})
