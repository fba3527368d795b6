import assert from 'node:assert/strict'
import { test } from 'node:test'
import { syslogLines } from '../../core/syslog-counts.ts'
import type { ConnectionEvents } from '../../drivers/syslog.ts'
import { LineQueue } from './line-queue.ts'

const receiver = { address: '192.0.2.1', port: 514, protocol: 'TCP' } as const
const nextTurn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5))

function aTransport(window = 2) {
  const connections: { events: ConnectionEvents; sent: string[]; done: (() => void)[] }[] = []
  const queue = new LineQueue({
    receiver,
    maximum: 4,
    firstPauseMillis: 1,
    lossLine: (count) => `lost ${count}`,
    connect(_, events) {
      const connection = { events, sent: [] as string[], done: [] as (() => void)[] }
      connections.push(connection)
      return {
        window,
        send(line, done) {
          connection.sent.push(line)
          connection.done.push(done)
        },
        close: () => undefined,
      }
    },
  })
  return { queue, connections, last: () => connections.at(-1)! }
}

test('lines wait for the connection, and leave in order as far as the window allows', () => {
  const { queue, last } = aTransport()
  for (const line of ['a', 'b', 'c']) queue.add(line)
  assert.deepEqual(last().sent, [])
  last().events.onOpen()
  assert.deepEqual(last().sent, ['a', 'b'])
  last().done[0]?.()
  assert.deepEqual(last().sent, ['a', 'b', 'c'])
})

test('while the receiver is away the newest lines stay, and one line says how many were lost', async () => {
  const { queue, last } = aTransport(10)
  const before = syslogLines.lost
  for (const line of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) queue.add(line)
  assert.equal(queue.length, 4)
  assert.equal(syslogLines.lost - before, 3)
  last().events.onOpen()
  assert.deepEqual(last().sent, ['lost 3', 'd', 'e', 'f', 'g'])
})

test('lines that were not done are sent again over the next connection, and no others', async () => {
  const { queue, connections, last } = aTransport()
  for (const line of ['a', 'b', 'c']) queue.add(line)
  last().events.onOpen()
  last().done[0]?.()
  last().events.onEnd()
  await nextTurn()
  assert.equal(connections.length, 2)
  last().events.onOpen()
  assert.deepEqual(last().sent, ['b', 'c'])
})

test('a late acknowledgement of an ended connection takes nothing from the queue', async () => {
  const { queue, connections, last } = aTransport()
  queue.add('a')
  last().events.onOpen()
  last().events.onEnd()
  await nextTurn()
  connections[0]?.done[0]?.()
  last().events.onOpen()
  assert.deepEqual(last().sent, ['a'])
  assert.equal(queue.length, 1)
})

test('an idle receiver that went away is called again with the next line', async () => {
  const { queue, connections, last } = aTransport()
  queue.add('a')
  last().events.onOpen()
  last().done[0]?.()
  last().events.onEnd()
  await nextTurn()
  assert.equal(connections.length, 1)
  queue.add('b')
  last().events.onOpen()
  assert.deepEqual(last().sent, ['b'])
})

test('a closed queue counts its remaining lines as lost, and makes no further call', async () => {
  const { queue, connections } = aTransport()
  queue.add('a')
  const before = syslogLines.lost
  queue.close()
  queue.add('b')
  await nextTurn()
  assert.equal(syslogLines.lost - before, 1)
  assert.equal(connections.length, 1)
})
