import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { Lingering, lingerBounds } from './linger.ts'

interface Line {
  readonly client: Socket
  readonly server: Socket
  readonly closed: Promise<unknown>
}

/** @param run gets new connections, and a function that moves the clock to the next check */
async function on(run: (connection: () => Promise<Line>, timers: (() => void)[], setTimer: Timer) => Promise<void>) {
  const timers: (() => void)[] = []
  const setTimer: Timer = (_ms, check) => {
    timers.push(check)
    return () => void timers.splice(timers.indexOf(check), 1)
  }
  const listening = createServer({ allowHalfOpen: true })
  await once(listening.listen(0, '127.0.0.1'), 'listening')
  const clients: Socket[] = []
  try {
    await run(
      async () => {
        const accepted = once(listening, 'connection')
        const { port } = listening.address() as AddressInfo
        const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => undefined)
        clients.push(client)
        const [server] = (await accepted) as [Socket]
        server.on('error', () => undefined)
        return { client, server, closed: once(server, 'close') }
      },
      timers,
      setTimer,
    )
  } finally {
    for (const client of clients) client.destroy()
    listening.close()
  }
}
type Timer = ConstructorParameters<typeof Lingering>[0]

const watching = (socket: Socket) => (count: (piece: Uint8Array) => void) => void socket.on('data', count)

test('a client that stops sending is disconnected at the next check', () =>
  on(async (connection, timers, setTimer) => {
    const { server, closed } = await connection()
    new Lingering(setTimer).close(server, watching(server))
    assert.equal(timers.length, 1)
    timers.shift()?.()
    await closed
    assert.equal(timers.length, 0)
  }))

test('a client that keeps sending is disconnected after the last check', () =>
  on(async (connection, timers, setTimer) => {
    const { client, server, closed } = await connection()
    new Lingering(setTimer, { ...lingerBounds, checks: 3 }).close(server, watching(server))
    for (let check = 0; check < 2; check++) {
      client.write('more')
      await once(server, 'data')
      assert.equal(server.destroyed, false)
      timers.shift()?.()
    }
    client.write('more')
    await once(server, 'data')
    timers.shift()?.()
    await closed
  }))

test('a client that sends too much is disconnected at once', () =>
  on(async (connection, timers, setTimer) => {
    const { client, server, closed } = await connection()
    new Lingering(setTimer, { ...lingerBounds, bytes: 1000 }).close(server, watching(server))
    client.write(Buffer.alloc(1001))
    await closed
    assert.equal(timers.length, 0)
  }))

test('the number of lingering connections is limited; a connection that ends frees its place', () =>
  on(async (connection, timers, setTimer) => {
    const lingering = new Lingering(setTimer, { ...lingerBounds, connections: 1 })
    const [first, second, third] = [await connection(), await connection(), await connection()]
    lingering.close(first.server, watching(first.server))
    lingering.close(second.server, watching(second.server))
    await second.closed
    first.client.end()
    await first.closed
    lingering.close(third.server, watching(third.server))
    assert.equal(third.server.destroyed, false)
    assert.equal(timers.length, 1)
    lingering.stop()
    await third.closed
  }))

test('a client sees the end of the answer before it has sent everything, and the connection closes when the client ends it', () =>
  on(async (connection, timers, setTimer) => {
    const { client, server, closed } = await connection()
    const lingering = new Lingering(setTimer)
    server.write('the answer')
    lingering.close(server, watching(server))
    assert.equal(lingering.isClosing(server), true)
    const chunks: Buffer[] = []
    client.on('data', (chunk) => chunks.push(chunk))
    await once(client, 'end')
    client.write('the rest')
    await once(server, 'data')
    client.end()
    assert.equal(String(Buffer.concat(chunks)), 'the answer')
    await closed
    assert.equal(timers.length, 0)
  }))
