/** Answers to the socket: the head at once, then the body. Source: conventions 1, 2.2 (reason phrases). */

import type { ServerResponse } from 'node:http'
import { STATUS_CODES } from '../core/node-http.ts'
import type { RawAnswer } from '../core/reply.ts'
import type { Answer } from './envelope.ts'
import type { Profile } from './profiles/names.ts'
import type { Lingering } from './wire/linger.ts'

/** Names and values in turn, as Node writes them: a header set one by one costs as much as finding the entity. */
export type Head = string[]

export function addHeaders(head: Head, headers: Readonly<Record<string, string>> = {}): void {
  for (const name in headers) head.push(name, headers[name] as string)
}

/** Where an answer goes. */
export interface Way {
  readonly response: ServerResponse
  readonly lingering: Lingering
}

export function send({ response, lingering }: Way, answer: Answer, profile: Profile, head: Head): void {
  addContent(head, answer)
  const start = (all: Head): void => void response.writeHead(answer.status, reasonOf(answer, profile), all)
  lingering.end(response, head, start, isHead(response) ? undefined : answer.body)
}

/** The whole answer as text, for a connection that has no response. */
export function answerText(answer: Answer, profile: Profile, head: Head): string {
  addContent(head, answer)
  let text = `HTTP/1.1 ${answer.status} ${reasonOf(answer, profile)}\r\n`
  for (let index = 0; index < head.length; index += 2) text += `${head[index]}: ${head[index + 1]}\r\n`
  return `${text}\r\n${answer.body ?? ''}`
}

function addContent(head: Head, { headers, body }: Answer): void {
  addHeaders(head, headers)
  if (body !== undefined)
    head.push('Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(body)))
}

function reasonOf({ status }: Answer, profile: Profile): string {
  const reason = STATUS_CODES[status] ?? 'Unknown'
  // Public clients are used to reason phrases in upper case.
  return profile === 'public' ? reason.toUpperCase() : reason
}

/** A HEAD is answered as a GET, without the body. */
export const isHead = ({ req }: ServerResponse): boolean => req.method === 'HEAD'

/** A file or a text with its own media type. */
export async function sendRaw(response: ServerResponse, raw: RawAnswer, head: Head): Promise<void> {
  const withoutBody = isHead(response)
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
