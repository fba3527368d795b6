/** A light load generator: raw requests over TLS sockets, so that the measurement is dominated by the server. */
import { connect, type TLSSocket } from 'node:tls'

export interface Target {
  readonly host: string
  readonly port: number
}

export interface Get {
  readonly target: Target
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

export interface Measured {
  readonly requests: number
  readonly perSecond: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly statuses: ReadonlyMap<number, number>
}

export interface Answer {
  readonly status: number
  /** Status line and headers. */
  readonly head: string
  readonly body: Buffer
}

/** Answers of one connection, one after another. */
export class Connection {
  readonly #socket: TLSSocket
  #chunks: Buffer[] = []
  #received = 0
  /** Bytes that the answer has at least. */
  #expected = 0
  #waiting: ((answer: Answer) => void) | undefined

  private constructor(socket: TLSSocket) {
    this.#socket = socket
    socket.on('data', (chunk) => {
      this.#chunks.push(chunk)
      this.#received += chunk.length
      // Joined once: after each chunk, this process would cost more than the server for an answer of several megabytes.
      if (this.#received >= this.#expected) this.#deliver(Buffer.concat(this.#chunks))
    })
    // Servers close idle connections: the next request then gets the status 0.
    for (const event of ['error', 'close'])
      socket.on(event, () => this.#answer({ status: 0, head: '', body: Buffer.alloc(0) }))
  }

  static open(target: Target): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: target.host, port: target.port, rejectUnauthorized: false }, () =>
        resolve(new Connection(socket)),
      )
      socket.setNoDelay(true)
      socket.once('error', reject)
    })
  }

  send(request: Buffer): Promise<Answer> {
    return new Promise((resolve) => {
      this.#waiting = resolve
      if (this.#socket.destroyed) this.#answer({ status: 0, head: '', body: Buffer.alloc(0) })
      else this.#socket.write(request)
    })
  }

  close(): void {
    this.#socket.destroy()
  }

  #deliver(received: Buffer): void {
    this.#chunks = [received]
    const end = received.indexOf('\r\n\r\n')
    if (end < 0) return
    const head = received.toString('latin1', 0, end)
    const status = Number(head.slice(9, 12))
    const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
    if (Number.isNaN(status) || (length === undefined && status !== 204))
      throw new Error(`an answer that is not understood: ${head}`)
    const after = end + 4 + Number(length ?? 0)
    this.#expected = after
    if (received.length < after) return
    const body = received.subarray(end + 4, after)
    this.#chunks = [received.subarray(after)]
    this.#received = received.length - after
    this.#expected = 0
    this.#answer({ status, head, body })
  }

  #answer(answer: Answer): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.(answer)
  }
}

export const basic = (password: string): { readonly Authorization: string } => ({
  Authorization: `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`,
})

/** Bytes of a request with Basic credentials. */
export function requestBytes(
  method: string,
  path: string,
  password: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Buffer {
  const content = body === undefined ? '' : JSON.stringify(body)
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'Host: localhost',
    ...Object.entries(basic(password)).map(([name, value]) => `${name}: ${value}`),
    ...(body === undefined ? [] : ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(content)}`]),
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ]
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${content}`)
}

/** Keeps `connections` busy for `seconds`; `next` makes each request. */
export async function load(
  target: Target,
  connections: number,
  seconds: number,
  next: () => Buffer,
): Promise<Measured> {
  const open = await Promise.all(Array.from({ length: connections }, () => Connection.open(target)))
  const times: number[] = []
  const statuses = new Map<number, number>()
  const began = performance.now()
  const until = began + seconds * 1000
  await Promise.all(
    open.map(async (connection) => {
      while (performance.now() < until) {
        const start = performance.now()
        const { status } = await connection.send(next())
        times.push(performance.now() - start)
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
      }
    }),
  )
  const elapsed = (performance.now() - began) / 1000
  for (const connection of open) connection.close()
  times.sort((a, b) => a - b)
  const at = (share: number): number => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0
  return {
    requests: times.length,
    perSecond: times.length / elapsed,
    p50: at(0.5),
    p95: at(0.95),
    p99: at(0.99),
    statuses,
  }
}
