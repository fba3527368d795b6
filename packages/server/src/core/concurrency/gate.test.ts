/** While one instance takes the place of another. Source: behaviour platform.md 9 (switch). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ApiRequest, Dispatch, Outcome, RefusedRequest } from '../pipeline/request.ts'
import type { CanonicalNames } from '../ports.ts'
import { createGate } from './gate.ts'

const names = {
  taskId: (profile: string, text: string) => (profile === 'spec' ? text : /^prefix:(.*)$/.exec(text)?.[1]),
} as unknown as CanonicalNames
const request = (method: string, path: string, profile: 'spec' | 'public' = 'spec'): ApiRequest =>
  ({ method, path, profile }) as ApiRequest
const taskRead = request('GET', '/platform/v4.3/config/tasks/restore')
const answerOf = (who: string) => async (): Promise<Outcome> => ({ reply: { status: 200, data: who } }) as Outcome
const dataOf = async (outcome: ReturnType<Dispatch>): Promise<unknown> => (await outcome).reply.data

test('a request before the first opening waits for it', async () => {
  const gate = createGate(names)
  const waiting = dataOf(gate.dispatch(taskRead))
  gate.open(answerOf('first'))
  assert.equal(await waiting, 'first')
})

test('requests that wait before a hold continue at the next opening', async () => {
  const gate = createGate(names)
  const waiting = dataOf(gate.dispatch(taskRead))
  await gate.hold()
  await gate.hold()
  gate.open(answerOf('second'))
  assert.equal(await waiting, 'second')
})

test('everything but reads of the restore itself is refused with 503 and Retry-After: 2', async () => {
  const gate = createGate(names)
  gate.open(answerOf('first'))
  await gate.refuse(['restore'])
  const others = [
    request('POST', '/platform/v4.3/config/categories'),
    request('GET', '/platform/v4.3/config/categories'),
    request('GET', '/platform/v4.3/config/tasks/another'),
    request('POST', '/platform/v4.3/config/tasks/restore/$actions/cancel'),
    request('DELETE', '/platform/v4.3/config/tasks/restore'),
    request('GET', '/platform/v4.3/config/tasks/restore', 'public'),
  ]
  for (const other of others)
    await assert.rejects(dataOf(gate.dispatch(other)), ({ refusal }: RefusedRequest) => {
      const { status, headers } = refusal as { status: number; headers: Record<string, string> }
      return status === 503 && headers['Retry-After'] === '2'
    })
  assert.equal(await dataOf(gate.dispatch(taskRead)), 'first')
  const encoded = request('GET', '/platform/v4.3/config/tasks/prefix%3Arestore', 'public')
  assert.equal(await dataOf(gate.dispatch(encoded)), 'first')
  gate.admit()
  assert.equal(await dataOf(gate.dispatch(others[0] as ApiRequest)), 'first')
})

test('refuse resolves when running requests have ended', async () => {
  const gate = createGate(names)
  const end = Promise.withResolvers<Outcome>()
  gate.open(() => end.promise)
  const underWay = gate.dispatch(request('GET', '/platform/v4.3/config/categories'))
  let isDone = false
  const refusing = gate.refuse(['restore']).then(() => {
    isDone = true
  })
  await new Promise(setImmediate)
  assert.equal(isDone, false)
  end.resolve({ reply: { status: 200 } } as Outcome)
  await refusing
  assert.equal((await underWay).reply.status, 200)
})

test('during a hold, reads of the restore wait for the next opening', async () => {
  const gate = createGate(names)
  gate.open(answerOf('first'))
  await gate.refuse(['restore'])
  await gate.hold()
  const waiting = dataOf(gate.dispatch(taskRead))
  gate.open(answerOf('second'))
  assert.equal(await waiting, 'second')
  assert.equal(await dataOf(gate.dispatch(request('GET', '/platform/v4.3/config/categories'))), 'second')
})
