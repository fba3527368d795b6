import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { headerFor, ownConnectionHeader, readHeader, receive } from './proxy-protocol.ts'

const folder = mkdtempSync(join(tmpdir(), 'hyperplane-proxy-'))
const path = join(folder, 'socket')
const http = createHttpServer((request, response) => {
  const { remoteAddress, remotePort } = request.socket
  response.end(`${remoteAddress} ${remotePort}`)
})
const own: Socket[] = []
const forwarded = (socket: Socket) => void http.emit('connection', socket)
const server = createServer((socket) => receive(socket, { forwarded, own: (each) => own.push(each) }, 200))
before(() => once(server.listen(path), 'listening'))
after(() => {
  server.close()
  rmSync(folder, { recursive: true })
})

async function answerTo(...chunks: string[]): Promise<string> {
  const client = connect(path)
  const answer = text(client).catch(() => '')
  for (const chunk of chunks) {
    if (client.writable) client.write(chunk)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return answer
}

const request = 'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'
const longest = `PROXY TCP6 ${'ffff:'.repeat(7)}ffff ${'ffff:'.repeat(7)}ffff 65535 65535`

test('a forwarded request has the address and the port of its client', async () => {
  const line = 'PROXY TCP4 192.0.2.7 198.51.100.1 51000 9440\r\n'
  for (const chunks of [[line + request], [line, request], [`${line}GET / HT`, request.slice(8)]])
    assert.match(await answerTo(...chunks), /^HTTP\/1\.1 200 .*\r\n192\.0\.2\.7 51000(?:\r\n|$)/s)
  assert.match(await answerTo(`${longest}\r\n${request}`), /(?:ffff:){7}ffff 65535/)
})

test('a connection that begins otherwise is closed without an answer', async () => {
  for (const line of [
    request,
    'PROXY TCP4 192.0.2.7 198.51.100.1 51000 9440\n',
    ` PROXY TCP4 192.0.2.7 198.51.100.1 51000 9440\r\n`,
    `${longest}${' '.repeat(10)}\r\n`,
  ])
    assert.equal(await answerTo(line + request), '')
  assert.equal(await answerTo('PROXY TCP4 192.0.2.7 198.5', '1.100.1 51000 9440\r\n', request), '')
})

test('a connection that stays silent is closed', async () => {
  assert.equal(await answerTo(), '')
})

test('a connection of the forwarding process itself stays open and serves no request', async () => {
  const client = connect(path)
  client.write(ownConnectionHeader + request)
  await new Promise((resolve) => setTimeout(resolve, 300))
  assert.equal(own.length, 1)
  own[0]?.destroy()
  assert.equal(await text(client), '')
})

test('a header names two addresses of one family, and two ports', () => {
  for (const line of [
    'PROXY TCP4 192.0.2.7 198.51.100.1 51000',
    'PROXY TCP4 192.0.2.7 198.51.100.1 51000 9440 1',
    'PROXY TCP4 192.0.2.7 198.51.100.1 51000 65536',
    'PROXY TCP4 192.0.2.7 198.51.100.1 051 9440',
    'PROXY TCP4 192.0.2.07 198.51.100.1 51000 9440',
    'PROXY TCP4 192.0.2.7 2001:db8::1 51000 9440',
    'PROXY TCP6 192.0.2.7 198.51.100.1 51000 9440',
    'PROXY TCP4  192.0.2.7 198.51.100.1 51000 9440',
    'PROXY UDP4 192.0.2.7 198.51.100.1 51000 9440',
    'PROXY UNKNOWN 192.0.2.7 198.51.100.1 51000 9440',
    'proxy TCP4 192.0.2.7 198.51.100.1 51000 9440',
    '',
  ])
    assert.equal(readHeader(line), undefined, line)
})

test('the header of a connection is read as its address and port, without the zone', () => {
  const addresses = { localAddress: 'fe80::1%eth0', localPort: 9440, remotePort: 51_000 }
  const socket = { ...addresses, remoteAddress: 'fe80::2%eth0' } as Socket
  const header = headerFor(socket)
  assert.equal(header, 'PROXY TCP6 fe80::2 fe80::1 51000 9440\r\n')
  assert.deepEqual(readHeader(header.trim()), { address: 'fe80::2', port: 51_000 })
  assert.equal(headerFor({ ...addresses, remoteAddress: undefined } as unknown as Socket), undefined)
})
