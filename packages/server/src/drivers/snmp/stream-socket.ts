/**
 * SNMP over TCP for a library that knows UDP only: sockets like `node:dgram`, each with one connection. Messages follow each other without
 * separators; each states its length. Source: RFC 3430 2.1; ITU-T X.690 8.1.
 */
import { EventEmitter } from 'node:events'
import { connect, type Socket } from 'node:net'

const patienceMilliseconds = 10_000
const maximumMessageBytes = 65_535

export const streamSockets = { createSocket: (): StreamSocket => new StreamSocket() }

class StreamSocket extends EventEmitter {
  #connection: Socket | undefined
  #received: Buffer = Buffer.alloc(0)

  send(
    message: Uint8Array,
    offset: number,
    length: number,
    port: number,
    address: string,
    sent: (error: Error | null) => void,
  ): void {
    if (this.#connection === undefined || this.#connection.destroyed) this.#connection = this.#connected(port, address)
    this.#connection.write(message.subarray(offset, offset + length), (error) => sent(error ?? null))
  }

  close(): void {
    // Written messages still leave; the time-out cuts off a receiver that reads nothing.
    this.#connection?.end()
    this.emit('close')
  }

  ref(): void {
    this.#connection?.ref()
  }

  unref(): void {
    this.#connection?.unref()
  }

  #connected(port: number, host: string): Socket {
    const connection = connect({ port, host })
    connection.unref()
    connection.setTimeout(patienceMilliseconds, () => connection.destroy(new Error(`${host}:${port} does not answer`)))
    // Reported to the callbacks of the writes.
    connection.on('error', () => undefined)
    connection.on('data', (data) => this.#receive(data))
    return connection
  }

  #receive(data: Buffer): void {
    this.#received = Buffer.concat([this.#received, data])
    for (let end = endOfMessage(this.#received); end !== undefined; end = endOfMessage(this.#received)) {
      if (end > maximumMessageBytes) {
        this.#connection?.destroy(new Error(`a message of ${end} bytes`))
        return
      }
      if (end > this.#received.length) return
      this.emit('message', this.#received.subarray(0, end))
      this.#received = this.#received.subarray(end)
    }
  }
}

/** Undefined: its length has not arrived yet. A length of more than four bytes is infinite. */
export function endOfMessage(bytes: Uint8Array): number | undefined {
  const first = bytes[1]
  if (first === undefined) return undefined
  if (first < 0x80) return 2 + first
  const size = first & 0x7f
  if (size === 0 || size > 4) return Number.POSITIVE_INFINITY
  if (bytes.length < 2 + size) return undefined
  const length = bytes.subarray(2, 2 + size).reduce((sum, byte) => sum * 256 + byte, 0)
  return 2 + size + length
}
