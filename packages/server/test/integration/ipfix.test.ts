/** Flow records, decoded by an implementation that is not ours: Python's netflow. Source: behaviour networking.md 1.17; RFC 7011. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { existsSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { decoded } from '../support/flow-collector.ts'
import { exporterBody, exporters } from '../support/ipfix-exporters.ts'
import { startApp } from '../support/start-app.ts'
import { made } from '../support/vpcs.ts'

const python = fileURLToPath(new URL('.venv/bin/python', import.meta.url))
const program = fileURLToPath(new URL('ipfix_peer.py', import.meta.url))

test('another decoder reads the same flows, addresses, counters and times', async () => {
  assert.ok(existsSync(python), 'netflow is not there: run packages/server/test/integration/install-ipfix.sh')
  const socket = createSocket('udp4')
  const received: Buffer[] = []
  socket.on('message', (message) => received.push(message))
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  const app = await startApp({ config: { allowAddress: ['127.0.0.0/8'] } })
  try {
    const collectorPort = (socket.address() as AddressInfo).port
    await made(app, exporters, exporterBody('decoded', { collectorIp: '127.0.0.1', collectorPort }))
    for (const _ of [1, 2]) {
      await app.clock.advance(60_000)
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
    const input = received.map((message) => `${message.toString('hex')}\n`).join('')
    const theirs = JSON.parse(execFileSync(python, [program], { input, encoding: 'utf8' }))
    const templates = new Map()
    const ours = received.map((message) => decoded(message, templates))
    assert.ok(ours.length > 2 && ours.some(({ sequence }) => sequence > 0))
    assert.equal(theirs.length, ours.length)
    for (const [index, { bytes, records, ...header }] of ours.entries()) {
      const { length, records: found, ...theirHeader } = theirs[index]
      assert.deepEqual([length, theirHeader], [bytes, header])
      assert.deepEqual(found.map(withAddresses), records)
    }
  } finally {
    socket.close()
    await app.close()
  }
})

/** The decoder writes addresses as numbers. */
const withAddresses = (record: Readonly<Record<string, number>>): object => {
  const text = (name: string): string => [24, 16, 8, 0].map((bits) => (record[name]! >>> bits) & 255).join('.')
  return {
    ...record,
    sourceIPv4Address: text('sourceIPv4Address'),
    destinationIPv4Address: text('destinationIPv4Address'),
  }
}
