/** Collectors of flow records over UDP, TCP and TLS. Source: behaviour networking.md 1.17; RFC 7011, 10.4. */
import { createSocket, type Socket as DatagramSocket } from 'node:dgram'
import { connect as connectPlain, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { AddressGuard } from '../core/access/address-guard.ts'
import { countMessage, flowMessages } from '../core/flow-counts.ts'
import type { ExporterProgram, FlowCollectors } from './flow-exporting.ts'
import { machineAuthorities } from './machine-authorities.ts'

/** @param now real time @param authorities of the certificates of collectors, PEM; default: those of the machine */
export function createFlowCollectors(
  guard: AddressGuard,
  now: () => number,
  authorities: () => readonly string[] = machineAuthorities,
): FlowCollectors {
  const udp = createUdpCollectors(guard)
  const streams = createStreamCollectors({ guard, now, authorities })
  return {
    refusalOf: udp.refusalOf,
    send: (collector, message) => (collector.protocol === undefined ? udp : streams).send(collector, message),
    close() {
      udp.close()
      streams.close()
    },
  }
}

/** Opens a socket with the first message. */
function createUdpCollectors(guard: AddressGuard): FlowCollectors {
  let socket: DatagramSocket | undefined
  let isClosed = false
  function opened(): DatagramSocket {
    if (socket !== undefined) return socket
    socket = createSocket('udp4')
    socket.unref()
    // Unreachable collectors are reported here: messages over UDP get lost silently.
    socket.on('error', () => undefined)
    return socket
  }
  return {
    refusalOf: (address) => guard.refusalOf(address),
    send({ address, port }, message) {
      if (isClosed || guard.refusalOf(address) !== undefined) return
      opened().send(message, port, address, countMessage)
    },
    close() {
      isClosed = true
      socket?.close()
      socket = undefined
    },
  }
}

type Collector = ExporterProgram['collector']

interface Connection {
  socket?: Socket
  /** Wait after the next failure. */
  pauseSeconds: number
  retryAt: number
}

export interface StreamOptions {
  readonly guard: Pick<AddressGuard, 'refusalOf'>
  readonly now: () => number
  readonly authorities: () => readonly string[]
}

const connectMilliseconds = 5000
const [shortestPause, longestPause] = [1, 60]
/** Idle connections are closed: their exporter may have been deleted. */
const idleMilliseconds = 180_000
/** A collector that does not answer or read loses messages. */
const maximumUnsentBytes = 1024 * 1024

function createStreamCollectors({ guard, now, authorities }: StreamOptions): Pick<FlowCollectors, 'close' | 'send'> {
  const connections = new Map<string, Connection>()
  let isClosed = false

  /** Messages wait in the socket until it is connected; TLS sends none before it has verified the certificate. */
  function open({ address: host, port, protocol }: Collector, connection: Connection): Socket {
    const isSecure = protocol === 'TLS_TCP'
    const socket = isSecure ? connectTls({ host, port, ca: [...authorities()] }) : connectPlain({ host, port })
    socket.unref()
    const timer = setTimeout(() => socket.destroy(new Error('no answer')), connectMilliseconds)
    timer.unref()
    let isConnected = false
    socket.once(isSecure ? 'secureConnect' : 'connect', () => {
      isConnected = true
      clearTimeout(timer)
      connection.pauseSeconds = shortestPause
      socket.setTimeout(idleMilliseconds, () => socket.destroy())
    })
    socket.on('error', () => undefined)
    socket.once('close', () => {
      clearTimeout(timer)
      if (isConnected) return
      connection.retryAt = now() + 1000 * connection.pauseSeconds
      connection.pauseSeconds = Math.min(longestPause, 2 * connection.pauseSeconds)
    })
    return socket
  }

  function socketTo(collector: Collector): Socket | undefined {
    const key = `${collector.protocol} ${collector.address} ${collector.port}`
    const connection = connections.get(key) ?? { pauseSeconds: shortestPause, retryAt: 0 }
    connections.set(key, connection)
    if (connection.socket?.destroyed === false) return connection.socket
    if (now() < connection.retryAt) return undefined
    connection.socket = open(collector, connection)
    return connection.socket
  }

  return {
    send(collector, message) {
      if (isClosed || guard.refusalOf(collector.address) !== undefined) return
      const socket = socketTo(collector)
      if (socket === undefined || socket.writableLength + message.length > maximumUnsentBytes) flowMessages.lost++
      else socket.write(message, countMessage)
    },
    close() {
      isClosed = true
      for (const { socket } of connections.values()) socket?.destroy()
      connections.clear()
    },
  }
}
