/**
 * Calls as bytes, one after another: as the thread gets them, and as it keeps them until somebody asks. Objects that wait to be
 * handed over cost more than the calls themselves: each would be moved twice by the collector, and copied one by one.
 *
 * A call is the length of all of it, then each of its pieces behind its own length, in UTF-8. Lengths are of the bytes that
 * follow, in 32 bits.
 */
import type { CallPieces } from './protocol.ts'

const lengthBytes = 4
/** No character takes more for each of its code units. */
const longestUnit = 3

/** Bytes that a call takes at most. */
export function longestPacked(pieces: CallPieces): number {
  let units = 0
  for (const piece of pieces) units += piece.length
  return (pieces.length + 1) * lengthBytes + units * longestUnit
}

/** @returns where the next call begins */
export function pack(pieces: CallPieces, into: Buffer, at: number): number {
  let end = at + lengthBytes
  for (const piece of pieces) {
    const length = into.write(piece, end + lengthBytes)
    into.writeUInt32LE(length, end)
    end += lengthBytes + length
  }
  into.writeUInt32LE(end - at - lengthBytes, at)
  return end
}

/** Each as it is packed, oldest first. */
export function* callsIn(content: Buffer): Generator<Buffer> {
  for (let at = 0, end = 0; at < content.length; at = end) {
    end = at + lengthBytes + content.readUInt32LE(at)
    yield content.subarray(at, end)
  }
}

export function unpack(call: Buffer): CallPieces {
  const pieces: string[] = []
  for (let at = lengthBytes; at < call.length; ) {
    const begin = at + lengthBytes
    at = begin + call.readUInt32LE(at)
    pieces.push(call.toString('utf8', begin, at))
  }
  return pieces
}
