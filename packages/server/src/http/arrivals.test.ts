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
})

test('who asks for it has all begin at once that is there, and each once', async () => {
  const { arrivals, urls } = begun()
  const [first, second, third] = requests as [IncomingMessage, IncomingMessage, IncomingMessage]
  arrivals.add(first, response)
  arrivals.add(second, response)
  arrivals.begin()
  assert.deepEqual(urls, ['first', 'second'])
  arrivals.add(third, response)
  await new Promise(setImmediate)
  assert.deepEqual(urls, ['first', 'second', 'third'])
})
