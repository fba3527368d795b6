/** Plain requests over real sockets, for what the in-process calls cannot show: bytes, headers, both naming profiles. */
import { request } from 'node:http'
import { connect } from 'node:net'
import { adminPassword } from './start-app.ts'

export interface HttpResult {
  readonly status: number
  readonly reason: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  /** The body as JSON; undefined when it is none. */
  readonly json: any
}

export interface HttpOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** null: no credentials. */
  readonly as?: string | null
}

export function http(url: string, path: string, options: HttpOptions = {}): Promise<HttpResult> {
  const { hostname, port } = new URL(url)
  const as = options.as === undefined ? `admin:${adminPassword}` : options.as
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        hostname,
        port,
        path,
        method: options.method ?? 'GET',
        headers: {
          ...(as === null ? {} : { authorization: `Basic ${Buffer.from(as).toString('base64')}` }),
          ...(options.body === undefined
            ? {}
            : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(options.body)) }),
          ...options.headers,
        },
      },
      (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk) => chunks.push(chunk))
        answer.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          let json: unknown
          try {
            json = JSON.parse(text)
          } catch {
            json = undefined
          }
          resolve({
            status: answer.statusCode ?? 0,
            reason: answer.statusMessage ?? '',
            headers: answer.headers,
            text,
            json,
          })
        })
        answer.on('error', reject)
      },
    )
    sent.on('error', reject)
    sent.end(options.body)
  })
}

/** Sends these bytes. @returns everything received until the connection ends */
export function raw(url: string, bytes: string | Uint8Array): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
    const chunks: Buffer[] = []
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.on('close', () => resolve(Buffer.concat(chunks).toString()))
    socket.on('error', (error) => (chunks.length > 0 ? resolve(Buffer.concat(chunks).toString()) : reject(error)))
    socket.setTimeout(5000, () => socket.destroy())
  })
}
