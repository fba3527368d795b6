/** A collector of IPFIX messages (RFC 7011) on a port of this machine, with a decoder of its own. */
import { createSocket } from 'node:dgram'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TlsOptions } from 'node:tls'

export interface Message {
  /** Seconds since 1970. */
  readonly exportTime: number
  readonly sequence: number
  readonly observationDomain: number
  readonly bytes: number
  readonly records: readonly Readonly<Record<string, number | string>>[]
}

export interface Collector {
  readonly port: number
  readonly messages: readonly Message[]
  /** Waits for messages that are on the way. @returns all so far */
  settled(): Promise<readonly Message[]>
  close(): void
}

/** https://www.iana.org/assignments/ipfix */
const names: Readonly<Record<number, string>> = {
  ...{ 1: 'octetDeltaCount', 2: 'packetDeltaCount', 4: 'protocolIdentifier', 7: 'sourceTransportPort' },
  ...{ 8: 'sourceIPv4Address', 11: 'destinationTransportPort', 12: 'destinationIPv4Address', 89: 'forwardingStatus' },
  ...{ 152: 'flowStartMilliseconds', 153: 'flowEndMilliseconds' },
}
const addresses = new Set([8, 12])

type Template = readonly { readonly id: number; readonly length: number }[]

export async function startCollector(): Promise<Collector> {
  const socket = createSocket('udp4')
  socket.unref()
  const templates = new Map<string, Template>()
  const messages: Message[] = []
  socket.on('message', (data) => messages.push(decoded(data, templates)))
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  return {
    port: (socket.address() as AddressInfo).port,
    messages,
    settled: () => settled(messages),
    close: () => socket.close(),
  }
}

export interface StreamCollector extends Omit<Collector, 'close'> {
  /** Connections so far. */
  readonly connections: number
  close(): Promise<void>
}

/** Over TCP, or over TLS with a certificate. @param port default: a free one */
export async function startStreamCollector(tls?: TlsOptions, port = 0): Promise<StreamCollector> {
  const messages: Message[] = []
  const sockets = new Set<Socket>()
  let connections = 0
  const accept = (socket: Socket): void => {
    connections++
    sockets.add(socket)
    const templates = new Map<string, Template>()
    let unread = Buffer.alloc(0)
    socket.on('error', () => undefined)
    socket.on('data', (data: Buffer) => {
      unread = Buffer.concat([unread, data])
      for (let size = 0; unread.length >= 4 && unread.length >= (size = unread.readUInt16BE(2)); ) {
        messages.push(decoded(unread.subarray(0, size), templates))
        unread = unread.subarray(size)
      }
    })
  }
  const server: Server = tls === undefined ? createServer(accept) : createTlsServer(tls, accept)
  server.unref()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    messages,
    settled: () => settled(messages),
    get connections() {
      return connections
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Waits until no more arrive. */
async function settled(messages: readonly Message[]): Promise<readonly Message[]> {
  let known = -1
  while (known !== messages.length) {
    known = messages.length
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  return messages
}

/** @param templates those known so far, by observation domain and id @throws Error for a message that breaks RFC 7011 */
export function decoded(data: Buffer, templates: Map<string, Template>): Message {
  if (data.readUInt16BE(0) !== 10) throw new Error(`version ${data.readUInt16BE(0)}, expected 10`)
  if (data.readUInt16BE(2) !== data.length) throw new Error(`length ${data.readUInt16BE(2)} in ${data.length} bytes`)
  const observationDomain = data.readUInt32BE(12)
  const records: Record<string, number | string>[] = []
  for (let at = 16; at < data.length; ) {
    const [set, length] = [data.readUInt16BE(at), data.readUInt16BE(at + 2)]
    if (length < 4 || at + length > data.length) throw new Error(`set of ${length} bytes at ${at}`)
    const content = data.subarray(at + 4, at + length)
    if (set === 2) {
      const id = content.readUInt16BE(0)
      if (id < 256) throw new Error(`template ${id}`)
      const fields = Array.from({ length: content.readUInt16BE(2) }, (_, index) => ({
        id: content.readUInt16BE(4 + 4 * index),
        length: content.readUInt16BE(6 + 4 * index),
      }))
      if (content.length !== 4 + 4 * fields.length) throw new Error('a template set with another length')
      templates.set(`${observationDomain} ${id}`, fields)
    } else {
      const template = templates.get(`${observationDomain} ${set}`)
      if (template === undefined) throw new Error(`no template ${set}`)
      records.push(...recordsIn(content, template))
    }
    at += length
  }
  return {
    ...{ exportTime: data.readUInt32BE(4), sequence: data.readUInt32BE(8), observationDomain },
    ...{ bytes: data.length, records },
  }
}

function recordsIn(content: Buffer, template: Template): Record<string, number | string>[] {
  const size = template.reduce((sum, { length }) => sum + length, 0)
  if (content.length % size !== 0) throw new Error(`${content.length} bytes of records of ${size}`)
  const found: Record<string, number | string>[] = []
  for (let start = 0; start < content.length; start += size) {
    const record: Record<string, number | string> = {}
    let at = start
    for (const { id, length } of template) {
      const bytes = content.subarray(at, at + length)
      record[names[id] ?? `element ${id}`] = addresses.has(id)
        ? [...bytes].join('.')
        : Number(BigInt(`0x${bytes.toString('hex')}`))
      at += length
    }
    found.push(record)
  }
  return found
}
