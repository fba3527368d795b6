import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPause } from './pause.ts'

test('the event loop gets a turn after 5 ms of work, and the next one 5 ms later', async () => {
  let [time, turns] = [0, 0]
  const pause = createPause(
    () => time,
    async () => void turns++,
  )
  time = 4
  assert.equal(pause(), undefined)
  time = 6
  await pause()
  assert.equal(turns, 1)
  time = 10
  assert.equal(pause(), undefined)
  time = 11
  await pause()
  assert.equal(turns, 2)
})
