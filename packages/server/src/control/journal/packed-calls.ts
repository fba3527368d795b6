/**
 * Calls as bytes, one after another: as the thread gets them, and as it keeps them until somebody asks. Objects that wait to be
 * handed over cost more than the calls themselves: each would be moved twice by the collector, and copied one by one.
 *
 * A call is the length of all that follows, the length of its head, then head and answer in UTF-8. Lengths are of bytes, in 32
 * bits.
 */
import type { CallText } from './protocol.ts'

const lengthBytes = 4
/** In front of the texts. */
const lengths = 2 * lengthBytes
/** No character takes more for each of its code units. */
const longestUnit = 3

/** Bytes that a call takes at most. */
export const longestPacked = ({ head, answer = '' }: CallText): number =>
  lengths + (head.length + answer.length) * longestUnit

/** @returns where the next call begins */
export function pack({ head, answer }: CallText, into: Buffer, at: number): number {
  const begin = at + lengths
  const headBytes = into.write(head, begin)
  let end = begin + headBytes
  if (answer !== undefined) end += into.write(answer, end)
  into.writeUInt32LE(end - at - lengthBytes, at)
  into.writeUInt32LE(headBytes, at + lengthBytes)
  return end
}

/** Each as it is packed, oldest first. */
export function* callsIn(content: Buffer): Generator<Buffer> {
  for (let at = 0, end = 0; at < content.length; at = end) {
    end = at + lengthBytes + content.readUInt32LE(at)
    yield content.subarray(at, end)
  }
}

/** The whole call as JSON, with its number. */
export function documentOf(sequence: number, call: Buffer): string {
  const headEnd = lengths + call.readUInt32LE(lengthBytes)
  const head = `{"sequence":${sequence},${call.toString('utf8', lengths + 1, headEnd)}`
  if (headEnd === call.length) return `${head}}`
  return `${head}"sizeBytes":${call.length - headEnd},"text":${JSON.stringify(call.toString('utf8', headEnd))}}}`
}
