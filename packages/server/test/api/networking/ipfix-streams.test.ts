/** IPFIX over TCP and TLS. Source: behaviour networking.md 1.17; RFC 7011, 10.4. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { after, afterEach, before, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { flowMessages } from '../../../src/core/flow-counts.ts'
import { createFlowCollectors } from '../../../src/drivers/flow-collectors.ts'
import { ipfixMessages } from '../../../src/drivers/ipfix.ts'
import { issueCertificate, makeAuthority } from '../../../src/http/certificates/make.ts'
import { startQuietDemo } from '../../support/events.ts'
import { startStreamCollector } from '../../support/flow-collector.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { exporterBody, exporters } from '../../support/ipfix-exporters.ts'
import type { TestApp } from '../../support/start-app.ts'
import { made, removed } from '../../support/vpcs.ts'

let app: TestApp
before(async () => {
  app = await startQuietDemo({ config: { allowAddress: ['127.0.0.0/8'] } })
})
afterEach(() => checkInvariants(app))
after(() => app.close())

const minute = (): Promise<unknown> => app.clock.advance(60_000 - (app.clock.now() % 60_000))
const record = {
  ...{ source: 1, destination: 2, sourcePort: 3, destinationPort: 4, protocol: 6, isDropped: false },
  ...{ bytes: 5, packets: 6, from: 0, to: 60_000 },
}
const { message } = ipfixMessages([record], { observationDomain: 1, sequence: 0, exportedAt: 60_000 })[0]!
const counted = (): number => flowMessages.sent + flowMessages.lost
async function until(isSo: () => boolean): Promise<void> {
  const end = performance.now() + 20_000
  while (!isSo() && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 10))
  assert.ok(isSo())
}
/** Accepts connections, and reads nothing. */
async function startSilentServer() {
  const sockets: Socket[] = []
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    sockets.push(socket.unref().on('error', () => undefined))
  })
  server.unref()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    sockets,
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
/** Its thread accepts nothing, and its queue is full: the kernel answers no further request for a connection. */
async function startUnreachableServer() {
  const work = `const { parentPort } = require('node:worker_threads')
    const server = require('node:net').createServer()
    server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
      parentPort.postMessage(server.address().port)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
    })`
  const worker = new Worker(work, { eval: true })
  const port = await new Promise<number>((resolve) => worker.once('message', resolve))
  const queued = Array.from({ length: 8 }, () => connect(port, '127.0.0.1').on('error', () => undefined))
  await Promise.all(queued.slice(0, 2).map((socket) => once(socket, 'connect')))
  return {
    port,
    async close() {
      for (const socket of queued) socket.destroy()
      await worker.terminate()
    },
  }
}
const everywhere = { refusalOf: () => undefined, addressesOf: async (host: string) => [host] }

test('hosts send their flows over one TCP connection to a collector', async () => {
  const collector = await startStreamCollector()
  await minute()
  const body = exporterBody('tcp', { collectorIp: '127.0.0.1', collectorPort: collector.port, protocol: 'TCP' })
  const path = await made(app, exporters, body)
  assert.equal((await app.call('GET', path)).data.protocol, 'TCP')
  await minute()
  const first = (await collector.settled()).length
  assert.ok(first > 0)
  await minute()
  const messages = await collector.settled()
  assert.ok(messages.length > first && collector.connections === 1)
  const sequences = new Map<number, number>()
  for (const { observationDomain, sequence, records } of messages) {
    assert.equal(sequence, sequences.get(observationDomain) ?? 0)
    sequences.set(observationDomain, sequence + records.length)
  }
  await removed(app, path)
  await collector.close()
})

test('a collector that refuses connections is tried again after 1 s, and then after 2 s', async () => {
  const gone = await startStreamCollector()
  const { port } = gone
  await gone.close()
  let now = 0
  const collectors = createFlowCollectors(everywhere, () => now)
  const sendAt = async (time: number): Promise<void> => {
    now = time
    const before = counted()
    collectors.send({ address: '127.0.0.1', port, protocol: 'TCP' }, message)
    await until(() => counted() > before)
  }
  await sendAt(0)
  const early = await startStreamCollector(undefined, port)
  await sendAt(999)
  assert.equal(early.connections, 0)
  await early.close()
  await sendAt(1000)
  const back = await startStreamCollector(undefined, port)
  await sendAt(2999)
  assert.equal(back.connections, 0)
  await sendAt(3000)
  assert.equal((await back.settled()).length, 1)
  collectors.close()
  await back.close()
})

test('messages to a collector whose port does not answer are lost after 5 s, and the connection is tried again 1 s later', async (t) => {
  const server = await startUnreachableServer()
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let now = 0
  const collectors = createFlowCollectors(everywhere, () => now)
  const to = { address: '127.0.0.1', port: server.port, protocol: 'TCP' } as const
  const before = { ...flowMessages }
  const lost = (): number => flowMessages.lost - before.lost
  collectors.send(to, message)
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate)
  t.mock.timers.tick(4999)
  await new Promise(setImmediate)
  assert.equal(lost(), 0)
  t.mock.timers.tick(1)
  t.mock.timers.reset()
  await until(() => lost() === 1)
  now = 999
  collectors.send(to, message)
  assert.equal(lost(), 2)
  now = 1000
  collectors.send(to, message)
  assert.deepEqual([lost(), flowMessages.sent], [2, before.sent])
  collectors.close()
  await until(() => lost() === 3)
  await server.close()
})

test('TLS needs a certificate for the address of the collector from a trusted authority', async () => {
  const authority = makeAuthority(new Date())
  const collector = await startStreamCollector(issueCertificate(authority, ['127.0.0.1'], new Date()))
  const to = { address: '127.0.0.1', port: collector.port, protocol: 'TLS_TCP' } as const
  const trusting = createFlowCollectors(everywhere, Date.now, () => [authority.certificate.toString()])
  trusting.send(to, message)
  const [received] = await collector.settled()
  assert.equal(received?.records[0]?.['octetDeltaCount'], 5)
  trusting.close()
  const others = createFlowCollectors(everywhere, Date.now, () => [])
  const { lost } = flowMessages
  others.send(to, message)
  await until(() => flowMessages.lost > lost)
  assert.equal((await collector.settled()).length, 1)
  others.close()
  await collector.close()
})

test('collectors that do not answer or do not read delay no other exporter', async () => {
  const [unanswering, unread, reading] = [
    await startSilentServer(),
    await startSilentServer(),
    await startStreamCollector(),
  ]
  await minute()
  const paths: string[] = []
  for (const [name, protocol, { port }] of [
    ['unanswering', 'TLS_TCP', unanswering],
    ['unread', 'TCP', unread],
    ['reading', 'TCP', reading],
  ] as const)
    paths.push(
      await made(app, exporters, exporterBody(name, { collectorIp: '127.0.0.1', collectorPort: port, protocol })),
    )
  const { lost } = flowMessages
  await minute()
  await until(() => reading.messages.length > 0)
  // The handshake is still awaited.
  assert.deepEqual([unanswering.sockets.length, unread.sockets.length, flowMessages.lost], [1, 1, lost])
  await until(() => flowMessages.lost > lost)
  for (const path of paths) await removed(app, path)
  for (const collector of [unanswering, unread, reading]) await collector.close()
})

test('at most 1 MiB waits for a collector that does not read; further messages are lost', async () => {
  const unread = await startSilentServer()
  const collectors = createFlowCollectors(everywhere, Date.now)
  const large = new Uint8Array(64 * 1024)
  const before = { ...flowMessages }
  const outcomes = (): number => counted() - before.sent - before.lost
  let messages = 0
  while (flowMessages.lost === before.lost) {
    collectors.send({ address: '127.0.0.1', port: unread.port, protocol: 'TCP' }, large)
    messages++
    await new Promise(setImmediate)
  }
  assert.equal(messages - outcomes(), 16)
  collectors.close()
  await until(() => outcomes() === messages)
  assert.equal(flowMessages.lost - before.lost, 17)
  await unread.close()
})
