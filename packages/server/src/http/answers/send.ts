/** Source: conventions 1, 2.2 (reason phrases). */

import type { ServerResponse } from 'node:http'
import { STATUS_CODES } from '../../core/node-http.ts'
import type { RawAnswer } from '../../core/reply.ts'
import type { Profile } from '../profiles/names.ts'
import type { Lingering } from '../wire/linger.ts'
import type { Answer } from './answer.ts'
import { addHeaders, type Head } from './head.ts'

export function send(
  response: ServerResponse,
  lingering: Lingering,
  answer: Answer,
  profile: Profile,
  head: Head,
): void {
  const body = answer.bytes ?? answer.body
  const length = addContent(head, answer)
  const start = (all: Head): void => void response.writeHead(answer.status, reasonOf(answer, profile), all)
  // Equal lengths mean ASCII, which needs no encoding.
  const encoding = length === body?.length ? 'latin1' : 'utf8'
  lingering.end(response, head, start, isHead(response) ? undefined : body, encoding)
}

/** For a connection without a response object. */
export function answerText(answer: Answer, profile: Profile, head: Head): string {
  addContent(head, answer)
  let text = `HTTP/1.1 ${answer.status} ${reasonOf(answer, profile)}\r\n`
  for (let index = 0; index < head.length; index += 2) text += `${head[index]}: ${head[index + 1]}\r\n`
  return `${text}\r\n${answer.body ?? ''}`
}

function addContent(head: Head, { headers, body, bytes }: Answer): number {
  addHeaders(head, headers)
  if (body === undefined) return 0
  const length = bytes?.length ?? Buffer.byteLength(body)
  head.push('Content-Type', 'application/json', 'Content-Length', String(length))
  return length
}

function reasonOf({ status }: Answer, profile: Profile): string {
  const reason = STATUS_CODES[status] ?? 'Unknown'
  // Public clients are used to reason phrases in upper case.
  return profile === 'public' ? reason.toUpperCase() : reason
}

export const isHead = ({ req }: ServerResponse): boolean => req.method === 'HEAD'

export async function sendRaw(response: ServerResponse, raw: RawAnswer, status: number, head: Head): Promise<void> {
  const withoutBody = isHead(response)
  head.push('Content-Type', raw.contentType)
  if (raw.fileName !== undefined) head.push('Content-Disposition', `attachment; filename="${raw.fileName}"`)
  if (raw.contentLength !== undefined) head.push('Content-Length', String(raw.contentLength))
  response.writeHead(status, head)
  const { content } = raw
  if (typeof content === 'string' || content instanceof Uint8Array)
    return void response.end(withoutBody ? undefined : content)
  if (withoutBody) {
    // An unread export would keep its snapshot of the store open.
    await content[Symbol.asyncIterator]().return?.()
    return void response.end()
  }
  for await (const chunk of content) {
    if (response.destroyed) return
    if (!response.write(chunk)) await drained(response)
  }
  response.end()
}

/** Also resolves when the connection closes: then the buffer never drains. */
const drained = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done)
      resolve()
    }
    response.once('drain', done).once('close', done)
  })
