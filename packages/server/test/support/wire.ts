/** Bytes to a server and back, with TLS or without, for requests that no client would send. */
import assert from 'node:assert/strict'
import { connect as connectPlain, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { adminPassword } from './start-app.ts'

export interface WireAnswer {
  readonly status: number
  readonly reason: string
  /** By names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export const basic = (credentials = `admin:${adminPassword}`): string =>
  `Authorization: Basic ${Buffer.from(credentials).toString('base64')}`

export function connectTo(url: string): Socket {
  const { protocol, port } = new URL(url)
  const to = { host: '127.0.0.1', port: Number(port) }
  return protocol === 'https:' ? connectTls({ ...to, rejectUnauthorized: false }) : connectPlain(to)
}

/** Sends all pieces without looking at an answer, and resolves with what came when the server has ended the connection. */
export function exchange(url: string, ...pieces: readonly (string | Uint8Array)[]): Promise<Buffer> {
  const socket = connectTo(url)
  const chunks: Buffer[] = []
  return new Promise((resolve, reject) => {
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.on('close', () => resolve(Buffer.concat(chunks)))
    socket.on('error', reject)
    for (const piece of pieces) socket.write(piece)
  })
}

/** All answers of a connection that the server ends; fails on other bytes. */
export function answersIn(bytes: Buffer): WireAnswer[] {
  const answers: WireAnswer[] = []
  let rest = bytes
  while (rest.length > 0) {
    const end = rest.indexOf('\r\n\r\n')
    assert.ok(end >= 0, `no whole head: ${rest.toString('latin1', 0, 300)}`)
    const [first = '', ...lines] = rest.toString('latin1', 0, end).split('\r\n')
    const [, status, reason = ''] = /^HTTP\/1\.1 (\d{3}) (.*)$/.exec(first) ?? assert.fail(first.slice(0, 300))
    const headers = Object.fromEntries(
      lines.map((line) => [line.split(': ')[0]?.toLowerCase(), line.replace(/^[^:]*: /, '')]),
    )
    const length = Number(headers['content-length'] ?? 0)
    const body = rest.subarray(end + 4, end + 4 + length)
    assert.equal(body.length, length, 'the body is shorter than its head says')
    answers.push({ status: Number(status), reason, headers, body: body.toString() })
    rest = rest.subarray(end + 4 + length)
  }
  return answers
}

/** Checks what every refusal has in common. Source: behaviour conventions 1. */
export function isRefusal(answer: WireAnswer, status: number | undefined, about = ''): any {
  const { headers } = answer
  const told = `${about}: ${answer.status} ${JSON.stringify(headers)} ${answer.body.slice(0, 300)}`
  if (status !== undefined) assert.equal(answer.status, status, told)
  const json = JSON.parse(answer.body)
  assert.deepEqual(
    Object.keys(json).filter((name) => name !== 'metadata' && name !== 'data' && !name.startsWith('$')),
    [],
    told,
  )
  const { error } = json.data
  assert.ok(Array.isArray(error) ? error.length > 0 : error.validationErrorMessages.length > 0, told)
  assert.match(headers['content-type'] ?? '', /^application\/json/, told)
  assert.equal(headers['cache-control'], 'no-store', told)
  assert.equal(headers['x-content-type-options'], 'nosniff', told)
  assert.match(headers['x-hyperplane-names'] ?? '', /^(?:spec|public)$/, told)
  assert.ok(headers[headers['x-hyperplane-names'] === 'spec' ? 'svc-request-id' : 'ntnx-request-id'], told)
  assert.ok(headers['date'], told)
  assert.equal(headers['set-cookie'], undefined, told)
  return json
}
