/** Answers to the socket: the head at once, then the body. Source: conventions 1, 2.2 (reason phrases). */
import type { ServerResponse } from 'node:http'
import type { RawAnswer } from '../core/handlers.ts'
import { STATUS_CODES } from '../core/node-http.ts'
import type { Answer } from './envelope.ts'
import type { Profile } from './profiles/names.ts'

/** Names and values in turn, as Node writes them: a header set one by one costs as much as finding the entity. */
export type Head = string[]

export function addHeaders(head: Head, headers: Readonly<Record<string, string>> = {}): void {
  for (const name in headers) head.push(name, headers[name] as string)
}

/** @param withoutBody the request was HEAD */
export function send(
  response: ServerResponse,
  answer: Answer,
  profile: Profile,
  head: Head,
  withoutBody = false,
): void {
  addHeaders(head, answer.headers)
  if (answer.body !== undefined)
    head.push('Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(answer.body)))
  // Public clients are used to reason phrases in upper case.
  const reason = STATUS_CODES[answer.status] ?? 'Unknown'
  response.writeHead(answer.status, profile === 'public' ? reason.toUpperCase() : reason, head)
  response.end(withoutBody ? undefined : answer.body)
}

/** A file or a text with its own media type. */
export async function sendRaw(
  response: ServerResponse,
  raw: RawAnswer,
  head: Head,
  withoutBody: boolean,
): Promise<void> {
  head.push('Content-Type', raw.contentType)
  if (raw.fileName !== undefined) head.push('Content-Disposition', `attachment; filename="${raw.fileName}"`)
  if (raw.contentLength !== undefined) head.push('Content-Length', String(raw.contentLength))
  response.writeHead(200, head)
  const { content } = raw
  if (typeof content === 'string' || content instanceof Uint8Array)
    return void response.end(withoutBody ? undefined : content)
  if (withoutBody) {
    // What it holds open for its reader is given up.
    await content[Symbol.asyncIterator]().return?.()
    return void response.end()
  }
  for await (const chunk of content) {
    if (response.destroyed) return
    if (!response.write(chunk)) await drained(response)
  }
  response.end()
}

/** A client that went away never drains. */
const drained = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done)
      resolve()
    }
    response.once('drain', done).once('close', done)
  })
