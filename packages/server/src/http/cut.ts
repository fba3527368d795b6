/** Answers that do not reach their client whole, on purpose. */
import type { ServerResponse } from 'node:http'
import type { Cut } from '../core/faults.ts'
import type { Answer } from './envelope.ts'

/**
 * Whatever is sent from now on ends as `cut` says: the connection is closed without a word, or within the body. The head
 * promises what it always does.
 */
export function cutOff(response: ServerResponse, cut: Cut): void {
  const { socket } = response
  const writeOn = response.write.bind(response)
  const left = { bytes: cut === 'dropped' ? 0 : cut.afterBytes }
  /** The last byte of what came; whether it is that of the whole body is seen when more comes. */
  let last = Buffer.alloc(0)
  const pass = (chunk: unknown): void => {
    const whole = Buffer.concat([last, typeof chunk === 'string' ? Buffer.from(chunk) : (chunk as Uint8Array)])
    const sent = whole.subarray(0, Math.min(left.bytes, whole.length - 1))
    last = whole.subarray(whole.length - 1)
    left.bytes -= sent.length
    if (sent.length > 0) writeOn(sent)
  }
  const end = (): void => {
    if (cut === 'dropped') return void response.destroy()
    // The head, and what is written so far, leave first.
    response.flushHeaders()
    socket?.destroySoon()
  }
  Object.assign(response, {
    writeHead: cut === 'dropped' ? () => response : response.writeHead.bind(response),
    write(chunk: unknown): boolean {
      if (cut !== 'dropped') pass(chunk)
      if (left.bytes <= 0) end()
      return !response.destroyed
    },
    end(chunk?: unknown): ServerResponse {
      if (cut !== 'dropped' && chunk !== undefined) pass(chunk)
      end()
      return response
    },
  })
}

/** What of the answer reaches its client; of a dropped one, nothing (0, as HAR writes it). */
export function reaching(answer: Answer, cut: Cut | undefined): Answer {
  if (cut === undefined) return answer
  if (cut === 'dropped') return { status: 0, headers: {} }
  const bytes = Buffer.from(answer.body ?? '')
  return { ...answer, body: bytes.subarray(0, Math.min(cut.afterBytes, bytes.length - 1)).toString() }
}
