import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import type { TrapReceiver } from '../traps.ts'
import { createTrapSender } from './trap-sender.ts'

const sender = createTrapSender({
  guard: { refusalOf: () => undefined },
  real: Date,
  log: { warn: () => undefined },
})
const community = 'public'

const value = (tag: number, ...contents: (Buffer | readonly number[])[]): Buffer => {
  const content = Buffer.concat(contents.map((part) => Buffer.from(part)))
  assert.ok(content.length < 0x80)
  return Buffer.concat([Buffer.from([tag, content.length]), content])
}

/** The inform, with the tag of its PDU replaced. */
function reportTo(inform: Buffer): Buffer {
  const report = Buffer.from(inform)
  report[report.indexOf(community) + community.length] = 0xa8
  return report
}

/** A message that says that it is authenticated. Source: RFC 3412 6, 3414 2.4. */
function version3To(inform: Buffer): Buffer {
  const pdu = inform.indexOf(community) + community.length
  const lengthBytes = (inform[pdu + 1] as number) < 0x80 ? 1 : 1 + ((inform[pdu + 1] as number) & 0x7f)
  const at = pdu + 1 + lengthBytes
  const requestId = inform.subarray(at, at + 2 + (inform[at + 1] as number))
  const [zero, none] = [value(0x02, [0]), value(0x04)]
  const global = value(0x30, requestId, value(0x02, [0x10, 0]), value(0x04, [1]), value(0x02, [3]))
  const security = value(0x30, value(0x04, [1, 2, 3, 4, 5]), zero, zero, none, value(0x04, Buffer.alloc(12)), none)
  const scoped = value(0x30, none, none, value(0xa2, requestId, zero, zero, value(0x30)))
  return value(0x30, value(0x02, [3]), global, value(0x04, security), scoped)
}

const inform = (port: number, protocol: TrapReceiver['protocol']): Promise<void> =>
  sender.send(
    { address: '127.0.0.1', port, protocol, isInform: true, security: { version: 'V2', community } },
    { oid: '1.3.6.1.4.1.8072.2.3.0.1', upTime: 1, values: [] },
  )

for (const [what, answerTo] of [
  ['a report', reportTo],
  ['a message of V3', version3To],
] as const) {
  test(`an inform of V2 that a receiver answers with ${what} is lost, and the next one still leaves`, async () => {
    const station = createSocket('udp4')
    station.on('message', (message, { port }) => station.send(answerTo(message), port))
    await new Promise<void>((resolve) => station.bind(0, '127.0.0.1', resolve))
    for (let turn = 0; turn < 2; turn++)
      await assert.rejects(inform(station.address().port, 'UDP'), /is lost: its answer cannot/)
    station.close()
  })

  test(`an inform of V2 over TCP that a receiver answers with ${what} is lost`, async () => {
    const connections: Socket[] = []
    const station = createServer((connection) => {
      connections.push(connection)
      connection.on('data', (message) => connection.write(answerTo(message)))
    })
    await new Promise<void>((resolve) => station.listen(0, '127.0.0.1', resolve))
    await assert.rejects(inform((station.address() as AddressInfo).port, 'TCP'), /is lost: its answer cannot/)
    for (const connection of connections) connection.destroy()
    station.close()
  })
}
