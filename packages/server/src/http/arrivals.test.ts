import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { test } from 'node:test'
import { Arrivals } from './arrivals.ts'

const response = {} as ServerResponse
const requests = ['first', 'second', 'third'].map((url) => ({ url }) as IncomingMessage)

function setUp(): { arrivals: Arrivals; urls: (string | undefined)[] } {
  const urls: (string | undefined)[] = []
  return { arrivals: new Arrivals(({ url }) => void urls.push(url)), urls }
}

test('requests that arrive in the same tick are handled together, in the order of arrival', async () => {
  const { arrivals, urls } = setUp()
  for (const request of requests) arrivals.add(request, response)
  assert.deepEqual(urls, [])
  await new Promise(setImmediate)
  assert.deepEqual(urls, ['first', 'second', 'third'])
  arrivals.add(requests[0] as IncomingMessage, response)
  await new Promise(setImmediate)
  assert.deepEqual(urls, ['first', 'second', 'third', 'first'], 'each once')
})
