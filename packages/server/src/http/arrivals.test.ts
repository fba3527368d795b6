import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { test } from 'node:test'
import { Arrivals } from './arrivals.ts'

const response = {} as ServerResponse
const requests = ['first', 'second', 'third'].map((url) => ({ url }) as IncomingMessage)

/** What is asked for, in the order in which it is begun. */
function begun(): { arrivals: Arrivals; urls: (string | undefined)[] } {
  const urls: (string | undefined)[] = []
  return { arrivals: new Arrivals(({ url }) => void urls.push(url)), urls }
}

test('what comes in one turn is begun together, in the order in which it came', async () => {
  const { arrivals, urls } = begun()
  for (const request of requests) arrivals.add(request, response)
  assert.deepEqual(urls, [])
  await new Promise(setImmediate)
  assert.deepEqual(urls, ['first', 'second', 'third'])
  arrivals.add(requests[0] as IncomingMessage, response)
  await new Promise(setImmediate)
  assert.deepEqual(urls, ['first', 'second', 'third', 'first'], 'each once')
})
