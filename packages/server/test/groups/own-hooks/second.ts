import './shared.ts'
import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'

let calls = 0
afterEach(() => {
  calls++
})
after(() => assert.equal(calls, 2))

test('one', () => {})
test('another', () => {})
