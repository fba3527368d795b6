import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import { afterEach, beforeEach, test } from 'node:test'
import type { Config } from '../config/config.ts'
import { StartRefusal } from '../core/start-refusal.ts'
import { FolderInUse } from '../data-folder/folder.ts'
import { Standby, standbySocket } from './standby.ts'

let config: Config
let isLocked: boolean
let standby: Standby
let opened: Promise<string>
const told: string[] = []
const ends: (() => void)[] = []
beforeEach(async () => {
  config = {
    data: mkdtempSync(join(tmpdir(), 'hyperplane-standby-')),
    host: '127.0.0.1',
    port: 0,
    http: true,
  } as Config
  isLocked = true
  told.length = 0
  standby = new Standby(config, (line) => told.push(line), { retryMillis: 20, retries: 20, connections: 2 })
  opened = standby.open(async () => {
    if (isLocked) throw new FolderInUse('locked')
    return 'opened'
  })
  while (standby.server?.listening !== true) await new Promise(setImmediate)
})
afterEach(async () => {
  isLocked = false
  for (const end of ends.splice(0)) end()
  await opened
  await standby.close()
  rmSync(config.data, { recursive: true })
})

const client = () =>
  connect({ port: (standby.server?.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true })

/** @param serve called with each connection of a client */
async function activate(serve: (socket: Socket) => void): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    ends.push(() => socket.destroy())
    socket
      .on('error', () => undefined)
      .once('data', (header) => {
        if (!String(header).startsWith('PROXY UNKNOWN')) serve(socket)
      })
  })
  ends.push(() => server.close())
  await once(server.listen(standbySocket(config)), 'listening')
  return server
}

test('connections wait for a process that becomes active; those beyond the limit are closed', async () => {
  const waiting = [client(), client(), client()]
  const answers = waiting.map((each) => text(each).catch(() => 'closed'))
  assert.equal(await Promise.race(answers), '')
  await activate((socket) => socket.end('answer'))
  assert.deepEqual((await Promise.all(answers)).sort(), ['', 'answer', 'answer'])
})

test('connections that have waited too long are closed, and the operator learns why', async () => {
  assert.equal(await text(client()), '')
  assert.match(told.join('\n'), /has taken no connection for 0\.4 s: .* start every process with --standby/)
})

test('a client that ends its request gets the whole answer, however slowly it reads', async () => {
  const sent = Buffer.alloc(8 * 1024 ** 2, 'request ')
  await activate(async (socket) => socket.end(await buffer(socket)))
  const each = client()
  each.end(sent)
  await new Promise((resolve) => setTimeout(resolve, 100))
  assert.ok(sent.equals(await buffer(each)))
})

test('when a client breaks off, its connection to the active process ends', async () => {
  const accepted = Promise.withResolvers<Socket>()
  await activate(accepted.resolve)
  const each = client()
  each.write('request')
  const socket = await accepted.promise
  each.resetAndDestroy()
  await once(socket.resume(), 'end')
})

test('the lock is tried again as soon as the active process ends', async () => {
  const watched = Promise.withResolvers<Socket>()
  const server = createServer((socket) => watched.resolve(socket))
  await once(server.listen(standbySocket(config)), 'listening')
  const socket = await watched.promise
  await once(socket, 'data')
  isLocked = false
  server.close()
  socket.destroy()
  assert.equal(await opened, 'opened')
  assert.equal(standby.isWaiting, false)
})

test('a data folder whose path is too long for a socket is refused', () => {
  const data = `/${'x'.repeat(100)}`
  assert.throws(
    () => new Standby({ ...config, data }, () => undefined),
    (error) => error instanceof StartRefusal && /is 8 bytes too long for --standby/.test(error.message),
  )
})
