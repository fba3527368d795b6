/** Both files wait for this one: the runner then mistook tests and hooks of the second for those of the first. */
import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'

await setImmediate()

/** The hook runs for these two tests only. */
export function declareTwoTests(): void {
  let calls = 0
  afterEach(() => {
    calls++
  })
  after(() => assert.equal(calls, 2))
  test('one', () => {})
  test('another', () => {})
}
