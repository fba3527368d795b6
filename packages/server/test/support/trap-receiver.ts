/** A receiver of SNMP traps and informs on a port of this machine, with the receiving half of the library. */
import { createSocket, type Socket } from 'node:dgram'
import { EventEmitter, once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import snmp, { type User } from 'net-snmp'
import { type AlertObject, notifications, objectIds } from '../../src/domains/clustermgmt/snmp/mib.ts'
import { endOfMessage } from '../../src/drivers/snmp/stream-socket.ts'

export interface ReceivedTrap {
  readonly change: 'opened' | 'closed'
  readonly isInform: boolean
  readonly values: Readonly<Record<AlertObject, string | number>>
}

export interface Receiver {
  readonly port: number
  readonly traps: readonly ReceivedTrap[]
  /** Messages that were refused: wrong community, unknown user, wrong key. */
  readonly refused: readonly Error[]
  /** In the order of arrival, with refused ones. */
  readonly messages: readonly Buffer[]
  /** Waits for messages that are on the way. @returns all so far */
  settled(): Promise<readonly ReceivedTrap[]>
  close(): void
}

interface Options {
  readonly community?: string
  readonly users?: readonly User[]
  readonly protocol?: 'udp4' | 'udp6' | 'tcp'
}

export const monitorUser = (authKey: string, privKey: string): User => ({
  ...{ name: 'monitor', level: snmp.SecurityLevel.authPriv },
  ...{ authProtocol: snmp.AuthProtocols.sha, authKey, privProtocol: snmp.PrivProtocols.aes, privKey },
})

export async function startTrapReceiver({ community, users = [], protocol = 'udp4' }: Options): Promise<Receiver> {
  const traps: ReceivedTrap[] = []
  const refused: Error[] = []
  const messages: Buffer[] = []
  const socket = protocol === 'tcp' ? await streamReceiver() : datagramReceiver(protocol)
  socket.on('message', (message: Buffer) => messages.push(Buffer.from(message)))
  const receiver = snmp.createReceiver(
    { port: 162, engineID: '80001f880574657374', dgramModule: { createSocket: () => socket } },
    (error, message) => {
      if (error === null) traps.push(trapOf(message.pdu))
      else refused.push(error)
    },
  )
  if (community !== undefined) receiver.getAuthorizer().addCommunity(community)
  for (const user of users) receiver.getAuthorizer().addUser(user)
  if (protocol !== 'tcp') await once(socket, 'listening')
  return {
    port: portOf(socket),
    ...{ traps, refused, messages },
    async settled() {
      let known = -1
      while (known !== messages.length) {
        known = messages.length
        await new Promise((resolve) => setTimeout(resolve, 150))
      }
      return traps
    },
    close: () => receiver.close(),
  }
}

const portOf = (socket: { address?: unknown }): number => (socket.address as () => AddressInfo).call(socket).port

function datagramReceiver(protocol: 'udp4' | 'udp6'): Socket {
  const socket = createSocket(protocol)
  socket.unref()
  const bind = socket.bind.bind(socket)
  // The library replaces port 0 by 162.
  socket.bind = () => bind(0, protocol === 'udp4' ? '127.0.0.1' : '::1')
  return socket
}

/** Looks like a socket of datagrams. */
async function streamReceiver() {
  const emitter = new EventEmitter()
  const server = createServer((connection) => {
    let bytes: Buffer = Buffer.alloc(0)
    connection.on('error', () => undefined)
    connection.on('data', (data) => {
      bytes = Buffer.concat([bytes, data])
      for (let end = endOfMessage(bytes); end !== undefined && end <= bytes.length; end = endOfMessage(bytes)) {
        emitter.emit('message', bytes.subarray(0, end), { address: '127.0.0.1', port: 0, connection })
        bytes = bytes.subarray(end)
      }
    })
    connections.push(connection)
  })
  const connections: import('node:net').Socket[] = []
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  server.unref()
  return Object.assign(emitter, {
    bind: () => undefined,
    address: () => server.address(),
    send: (message: Buffer, _: number, __: number, ___: number, ____: string, sent: () => void) =>
      connections.at(-1)?.write(message, sent),
    close() {
      for (const connection of connections) connection.destroy()
      server.close()
    },
  })
}

function trapOf({ type, varbinds }: Parameters<Parameters<typeof snmp.createReceiver>[1]>[1]['pdu']): ReceivedTrap {
  const [, trapOid, ...objects] = varbinds
  const byOid = new Map(objects.map(({ oid, value }) => [oid, Buffer.isBuffer(value) ? value.toString() : value]))
  const values = Object.entries(objectIds).map(([name, oid]) => [name, byOid.get(oid)])
  return {
    change: trapOid?.value === notifications.alertOpened ? 'opened' : 'closed',
    isInform: type === snmp.PduType.InformRequest,
    values: Object.fromEntries(values),
  }
}
