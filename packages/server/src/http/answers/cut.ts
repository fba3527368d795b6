import type { ServerResponse } from 'node:http'
import type { Cut } from '../../core/faults.ts'
import type { Answer } from './answer.ts'

/** Headers stay as they are: Content-Length promises more than the client receives. */
export function cutOff(response: ServerResponse, cut: Cut): void {
  const { socket } = response
  const write = response.write.bind(response)
  const left = { bytes: cut === 'dropped' ? 0 : cut.afterBytes }
  /** Held back, because it may be the last byte of the body. */
  let heldBack = Buffer.alloc(0)
  const pass = (chunk: string | Uint8Array): void => {
    const bytes = Buffer.concat([heldBack, typeof chunk === 'string' ? Buffer.from(chunk) : chunk])
    const sent = bytes.subarray(0, Math.min(left.bytes, bytes.length - 1))
    heldBack = bytes.subarray(bytes.length - 1)
    left.bytes -= sent.length
    if (sent.length > 0) write(sent)
  }
  const end = (): void => {
    if (cut === 'dropped') return void response.destroy()
    // Send the head, and the written part of the body, before closing.
    response.flushHeaders()
    socket?.destroySoon()
  }
  Object.assign(response, {
    writeHead: cut === 'dropped' ? () => response : response.writeHead.bind(response),
    write(chunk: string | Uint8Array): boolean {
      if (cut !== 'dropped') pass(chunk)
      if (left.bytes <= 0) end()
      return !response.destroyed
    },
    end(chunk?: string | Uint8Array): ServerResponse {
      if (cut !== 'dropped' && chunk !== undefined) pass(chunk)
      end()
      return response
    },
  })
}

/** For the journal. The status of a dropped answer is 0, as in HAR. */
export function receivedPart(answer: Answer, cut: Cut | undefined): Answer {
  if (cut === undefined) return answer
  if (cut === 'dropped') return { status: 0, headers: {} }
  const { status, headers, body = '' } = answer
  const bytes = Buffer.from(body)
  return { status, headers, body: bytes.subarray(0, Math.min(cut.afterBytes, bytes.length - 1)).toString() }
}
