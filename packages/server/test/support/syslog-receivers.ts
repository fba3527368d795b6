/** Receivers of syslog messages in the process of a test. */
import { createSocket } from 'node:dgram'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createFrameReader } from '../../src/drivers/syslog/relp.ts'

export interface Receiver {
  readonly port: number
  readonly messages: string[]
  /** Resolves when a message matches. */
  received(pattern: RegExp): Promise<string>
  /** Connections end, and no new ones are taken until `open`. */
  close(): Promise<void>
  open(): Promise<void>
}

const tooLongMillis = 10_000

async function until<T>(look: () => T | undefined, what: () => string): Promise<T> {
  const end = performance.now() + tooLongMillis
  for (;;) {
    const found = look()
    if (found !== undefined) return found
    if (performance.now() > end) throw new Error(what())
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

const inbox = (messages: string[]): Receiver['received'] => {
  return (pattern) =>
    until(
      () => messages.find((message) => pattern.test(message)),
      () => `no message matches ${pattern}:\n${messages.join('\n')}`,
    )
}

export async function udpReceiver(): Promise<Receiver> {
  const messages: string[] = []
  const socket = createSocket('udp4')
  socket.on('message', (message) => messages.push(message.toString()))
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  return {
    port: socket.address().port,
    messages,
    received: inbox(messages),
    close: () => new Promise((resolve) => socket.close(() => resolve())),
    open: async () => undefined,
  }
}

type Serve = (socket: Socket, onMessage: (message: string) => void) => void

async function streamReceiver(serve: Serve): Promise<Receiver> {
  const messages: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
    serve(socket, (message) => messages.push(message))
  })
  const listen = (port: number): Promise<void> => new Promise((resolve) => server.listen(port, '127.0.0.1', resolve))
  await listen(0)
  const { port } = server.address() as AddressInfo
  return {
    port,
    messages,
    received: inbox(messages),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
    open: () => listen(port),
  }
}

/** Octet counting of RFC 6587. */
export const tcpReceiver = (): Promise<Receiver> =>
  streamReceiver((socket, onMessage) => {
    let rest = Buffer.alloc(0)
    socket.on('data', (bytes) => {
      rest = Buffer.concat([rest, bytes])
      for (;;) {
        const [head, length] = /^(\d+) /.exec(rest.toString('latin1', 0, 12)) ?? []
        if (head === undefined || rest.length < head.length + Number(length)) return
        onMessage(rest.toString('utf8', head.length, head.length + Number(length)))
        rest = rest.subarray(head.length + Number(length))
      }
    })
  })

/** @param acknowledges false: the message is taken, and its acknowledgement is lost with the connection */
export const relpReceiver = (acknowledges: (message: string) => boolean = () => true): Promise<Receiver> =>
  streamReceiver((socket, onMessage) => {
    const answer = (number: number, data: string): void => {
      socket.write(`${number} rsp ${Buffer.byteLength(data)} ${data}\n`)
    }
    const read = createFrameReader(({ number, command, data }) => {
      if (command === 'open') answer(number, '200 OK\nrelp_version=0\nrelp_software=test\ncommands=syslog')
      if (command !== 'syslog') return
      onMessage(data)
      if (acknowledges(data)) answer(number, '200 OK')
      else socket.destroy()
    })
    socket.on('data', (bytes) => {
      if (!read(bytes)) socket.destroy()
    })
  })
