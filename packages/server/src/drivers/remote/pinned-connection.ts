/** Verifies the certificate before sending credentials, and connects to the address that was checked. */
import type { X509Certificate } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import { type AddressGuard, AddressRefusal } from '../../core/access/address-guard.ts'
import { request } from '../../core/node-http.ts'
import type { Clock } from '../../core/time/clock.ts'
import { RemoteFault } from '../remote-managers.ts'

/** Limit for a whole connection: a peer that sends a byte now and then must not block a task or other probes. */
const patienceMillis = 10_000
/** Far above the answers of managers. */
const largestAnswerBytes = 4 * 1024 * 1024

export interface Line {
  readonly guard: AddressGuard
  readonly port: () => number
  readonly real: Pick<Clock, 'setTimer'>
}

export interface Sent {
  readonly method: string
  readonly headers: Record<string, string>
  readonly body?: string
}

export interface Answered {
  readonly status: number
  readonly headers: { get(name: string): string | null }
  text(): Promise<string>
}

export interface Connection {
  readonly socket: TLSSocket
  readonly certificate: X509Certificate
}

/** @throws RemoteFault unreachable, or certificate when it is not the pinned one */
export async function open(line: Line, host: string, pinned: string | undefined): Promise<Connection> {
  const [address] = await addressesOf(line.guard, host)
  const socket = connect({
    host: address as string,
    port: line.port(),
    ...(isIP(host) === 0 ? { servername: host } : {}),
    // Trust is decided below, by the fingerprint.
    rejectUnauthorized: false,
    minVersion: 'TLSv1.2',
  })
  const stop = line.real.setTimer(patienceMillis, () => socket.destroy())
  socket.once('close', stop)
  const certificate = await new Promise<X509Certificate>((resolve, reject) => {
    socket.once('secureConnect', () => {
      // Read at once: the socket does not keep the certificate.
      const shown = socket.getPeerX509Certificate()
      if (shown === undefined) reject(new RemoteFault('certificate', `${host} shows no certificate`))
      else resolve(shown)
    })
    socket.once('error', (cause) => reject(unreachable(host, cause)))
    socket.once('close', () => reject(unreachable(host)))
  }).catch((error) => {
    socket.destroy()
    throw error
  })
  if (pinned === undefined || fingerprintOf(certificate) === pinned) return { socket, certificate }
  socket.destroy()
  throw new RemoteFault('certificate', `${host} shows another certificate than the trusted one`)
}

export const fingerprintOf = ({ fingerprint256 }: X509Certificate): string =>
  fingerprint256.replaceAll(':', '').toLowerCase()

export async function sendPinned(
  line: Line,
  host: string,
  pinned: string,
  path: string,
  sent: Sent,
): Promise<Answered> {
  const { socket } = await open(line, host, pinned)
  try {
    return await over(socket, host, path, sent)
  } finally {
    socket.destroy()
  }
}

export function over(
  socket: TLSSocket,
  host: string,
  path: string,
  { method, headers, body }: Sent,
): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const fail = (cause?: unknown): void => reject(unreachable(host, cause))
    const outgoing = request({
      createConnection: () => socket,
      path,
      method,
      headers: {
        ...headers,
        Host: isIP(host) === 6 ? `[${host}]` : host,
        Connection: 'close',
        ...(body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) }),
      },
    })
    outgoing.on('error', fail)
    outgoing.on('response', (incoming) => void textOf(incoming).then((text) => resolve(answered(incoming, text)), fail))
    outgoing.end(body)
  })
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of incoming) {
    bytes += chunk.length
    if (bytes > largestAnswerBytes) throw new Error('the answer is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

const answered = ({ statusCode = 0, headers }: IncomingMessage, text: string): Answered => ({
  status: statusCode,
  headers: {
    get: (name) => {
      const value = headers[name.toLowerCase()]
      return typeof value === 'string' ? value : null
    },
  },
  text: async () => text,
})

async function addressesOf(guard: AddressGuard, host: string): Promise<readonly string[]> {
  try {
    return await guard.addressesOf(host)
  } catch (cause) {
    if (cause instanceof AddressRefusal) throw new RemoteFault('refused', cause.message, cause)
    throw new RemoteFault('unreachable', `${host}: the name is not known`, cause)
  }
}

function unreachable(host: string, cause?: unknown): RemoteFault {
  return new RemoteFault('unreachable', `${host}: no answer within ${patienceMillis / 1000} s`, cause)
}
