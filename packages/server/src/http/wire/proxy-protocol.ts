/** The address of a client whose connection another process forwards. Source: PROXY protocol of HAProxy, version 1. */
import { isIP, type Socket } from 'node:net'

/** With the end of the line. */
const maximumHeaderBytes = 107

/** For a connection that the forwarding process opens for itself. */
export const ownConnectionHeader = 'PROXY UNKNOWN\r\n'

interface Peer {
  readonly address: string
  readonly port: number
}

/** undefined: the client has disconnected. */
export function headerFor({ remoteAddress, remotePort, localAddress, localPort }: Socket): string | undefined {
  // The protocol has no zones (`fe80::1%eth0`).
  const [client, server] = [remoteAddress, localAddress].map((address = '') => address.replace(/%.*/, ''))
  const family = isIP(client ?? '')
  return family === 0 ? undefined : `PROXY TCP${family} ${client} ${server} ${remotePort} ${localPort}\r\n`
}

export function readHeader(line: string): Peer | 'own connection' | undefined {
  if (line === 'PROXY UNKNOWN') return 'own connection'
  const [, family, client = '', server = '', ...ports] =
    /^PROXY TCP([46]) ([\da-fA-F:.]+) ([\da-fA-F:.]+) (0|[1-9]\d{0,4}) (0|[1-9]\d{0,4})$/.exec(line) ?? []
  const isValid = [client, server].every((address) => isIP(address) === Number(family))
  if (!isValid || ports.some((port) => Number(port) > 65_535)) return undefined
  return { address: client, port: Number(ports[0]) }
}

export interface Receivers {
  /** Called with a connection whose `remoteAddress` is that of the client, before its first byte is read. */
  readonly forwarded: (socket: Socket) => void
  readonly own: (socket: Socket) => void
}

/** Closes connections without a whole header at once. Only for sockets that no client can reach. */
export function receive(socket: Socket, { forwarded, own }: Receivers, patienceMillis = 3_000): void {
  const close = (): void => void socket.destroy()
  socket.on('error', close)
  socket.setTimeout(patienceMillis, close)
  socket.once('data', (first: Buffer) => {
    socket.setTimeout(0, close)
    socket.pause()
    const end = first.subarray(0, maximumHeaderBytes).indexOf('\r\n')
    const sender = end < 0 ? undefined : readHeader(first.toString('latin1', 0, end))
    if (sender === undefined) return close()
    process.nextTick(() => socket.resume())
    if (sender === 'own connection') return own(socket)
    setPeer(socket, sender)
    if (first.length > end + 2) socket.unshift(first.subarray(end + 2))
    forwarded(socket)
  })
}

/** Node offers no other way: a TLS socket asks the handle of the socket below it. */
function setPeer(socket: Socket, { address, port }: Peer): void {
  const { _handle: handle } = socket as unknown as { readonly _handle: { getpeername(peer: object): number } | null }
  if (handle === null) return
  handle.getpeername = (peer) => {
    Object.assign(peer, { address, port, family: `IPv${isIP(address)}` })
    return 0
  }
}
