/** Flow collectors over TCP and TLS: one connection for each of them. Source: behaviour networking.md 1.17; RFC 7011, 10.4. */
import { connect as connectPlain, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { AddressGuard } from '../core/access/address-guard.ts'
import type { ExporterProgram, FlowCollectors } from './flow-exporting.ts'

type Collector = ExporterProgram['collector']

interface Connection {
  /** Absent: it failed. */
  socket?: Socket
  /** After the next failure. */
  pauseSeconds: number
  /** Milliseconds since 1970. */
  retryAt: number
}

export interface StreamOptions {
  readonly guard: Pick<AddressGuard, 'refusalOf'>
  /** Real time. */
  readonly now: () => number
  /** PEM of those that certificates of collectors may be signed by. */
  readonly authorities: () => readonly string[]
}

const connectMilliseconds = 5000
const [shortestPause, longestPause] = [1, 60]
/** Idle connections are closed: their exporter may be gone. */
const idleMilliseconds = 180_000
/** A collector that does not read loses messages. */
const maximumUnsentBytes = 1024 * 1024

export function createStreamCollectors({
  guard,
  now,
  authorities,
}: StreamOptions): Pick<FlowCollectors, 'close' | 'send'> {
  const connections = new Map<string, Connection>()
  let isClosed = false

  function opened({ address: host, port, protocol }: Collector): Promise<Socket | undefined> {
    const { promise, resolve } = Promise.withResolvers<Socket | undefined>()
    const isSecure = protocol === 'TLS_TCP'
    const socket = isSecure ? connectTls({ host, port, ca: [...authorities()] }) : connectPlain({ host, port })
    socket.unref()
    const timer = setTimeout(() => socket.destroy(new Error('no answer')), connectMilliseconds)
    socket.once(isSecure ? 'secureConnect' : 'connect', () => {
      clearTimeout(timer)
      socket.setTimeout(idleMilliseconds, () => socket.destroy())
      resolve(socket)
    })
    socket.on('error', () => undefined)
    socket.once('close', () => {
      clearTimeout(timer)
      resolve(undefined)
    })
    return promise
  }

  async function connected(collector: Collector): Promise<Socket | undefined> {
    const key = `${collector.protocol} ${collector.address} ${collector.port}`
    const known = connections.get(key) ?? { pauseSeconds: shortestPause, retryAt: 0 }
    connections.set(key, known)
    if (known.socket !== undefined && !known.socket.destroyed) return known.socket
    if (now() < known.retryAt) return undefined
    delete known.socket
    const socket = await opened(collector)
    if (isClosed) socket?.destroy()
    if (socket === undefined || isClosed) {
      known.retryAt = now() + 1000 * known.pauseSeconds
      known.pauseSeconds = Math.min(longestPause, 2 * known.pauseSeconds)
      return undefined
    }
    return Object.assign(known, { socket, pauseSeconds: shortestPause }).socket
  }

  return {
    async send(collector, message) {
      if (isClosed || guard.refusalOf(collector.address) !== undefined) return
      const socket = await connected(collector)
      if (socket !== undefined && socket.writableLength < maximumUnsentBytes) socket.write(message)
    },
    close() {
      isClosed = true
      for (const { socket } of connections.values()) socket?.destroy()
      connections.clear()
    },
  }
}
