/**
 * Calls as bytes, one after another: as the thread gets them, and as it keeps them until somebody asks. Objects that wait to be
 * handed over cost more than the calls themselves: each would be moved twice by the collector, and copied one by one.
 *
 * A call is a header, then its texts in UTF-8: what it shares with other calls, unless one before it in the same part has brought
 * that; its own members; the answer.
 */
import { formatTime, lastTime } from '../../core/time/time.ts'
import type { CallText } from './protocol.ts'

/** Named anew with each change of what follows. */
export const packing = 'header, shared, own, answer'

/** Where the numbers of a header stand: lengths and places in 32 bits, times in 64. Places count from the beginning of the part. */
const at = { length: 0, shared: 4, sharedLength: 8, ownLength: 12, began: 16, ended: 24 } as const
const headerBytes = 32
/** No character takes more for each of its code units. */
const longestUnit = 3

/** Bytes that a call takes at most. */
export const longestPacked = ({ shared, own, answer = '' }: CallText): number =>
  headerBytes + (shared.length + own.length + answer.length) * longestUnit

/** The same, counted. */
export const packedLength = ({ shared, own, answer = '' }: CallText): number =>
  headerBytes + Buffer.byteLength(shared) + Buffer.byteLength(own) + Buffer.byteLength(answer)

interface Shared {
  readonly place: number
  readonly length: number
}

/** The same whatever calls came before it. */
const sizeOf = ({ place, length }: Shared, header: number, end: number): number =>
  end - header + (place === header + headerBytes ? 0 : length)

/** Calls that are handed over together, in a buffer of their own. */
export class CallPart {
  readonly bytes: Buffer<ArrayBuffer>
  /** Bytes that are taken. */
  length = 0
  count = 0
  /** What its calls would take by themselves. */
  sizeBytes = 0
  /** Where each text that calls share stands. */
  readonly #shared = new Map<string, Shared>()

  constructor(buffer: ArrayBuffer) {
    this.bytes = Buffer.from(buffer)
  }

  /** There must be room for as much as it takes at most. */
  add({ began, ended, shared, own, answer }: CallText): void {
    const { bytes, length: header } = this
    let end = header + headerBytes
    let told = this.#shared.get(shared)
    if (told === undefined) {
      told = { place: end, length: bytes.write(shared, end) }
      this.#shared.set(shared, told)
      end += told.length
    }
    const ownLength = bytes.write(own, end)
    end += ownLength
    if (answer !== undefined) end += bytes.write(answer, end)
    bytes.writeUInt32LE(end - header, header + at.length)
    bytes.writeUInt32LE(told.place, header + at.shared)
    bytes.writeUInt32LE(told.length, header + at.sharedLength)
    bytes.writeUInt32LE(ownLength, header + at.ownLength)
    bytes.writeDoubleLE(began, header + at.began)
    bytes.writeDoubleLE(ended, header + at.ended)
    this.length = end
    this.count += 1
    this.sizeBytes += sizeOf(told, header, end)
  }
}

/** One call of a part. */
export class PackedCall {
  readonly #part: Buffer
  readonly #header: number
  readonly #shared: Shared
  /** Where the next one begins. */
  readonly end: number

  constructor(part: Buffer, header: number) {
    this.#part = part
    this.#header = header
    this.end = endOf(part, header)
    this.#shared = sharedOf(part, header)
  }

  get sizeBytes(): number {
    return sizeOf(this.#shared, this.#header, this.end)
  }

  /** The whole call as JSON, with its number. @throws SyntaxError where it cannot be one */
  document(sequence: number): string {
    const began = this.#part.readDoubleLE(this.#header + at.began)
    if (!(began >= 0 && began <= lastTime)) throw new SyntaxError('no call has such a time')
    const ended = this.#part.readDoubleLE(this.#header + at.ended)
    const micros = Math.max(0, Math.round((ended - began) * 1000))
    const { place, length } = this.#shared
    const header = this.#header + headerBytes
    const ownPlace = place === header ? header + length : header
    const answerPlace = ownPlace + this.#part.readUInt32LE(this.#header + at.ownLength)
    const head = `{"sequence":${sequence},"time":"${formatTime(began)}","durationMicros":${micros}${this.#text(place, place + length)}`
    const own = this.#text(ownPlace, answerPlace)
    const sizeBytes = this.end - answerPlace
    if (sizeBytes === 0) return `${head}${own}}`
    return `${head}${own}"sizeBytes":${sizeBytes},"text":${JSON.stringify(this.#text(answerPlace, this.end))}}}`
  }

  #text(from: number, to: number): string {
    return this.#part.toString('utf8', from, to)
  }
}

/** Oldest first. @throws SyntaxError where there are none */
export function* callsIn(part: Buffer): Generator<PackedCall> {
  for (let header = 0; header < part.length; ) {
    const call = new PackedCall(part, header)
    yield call
    header = call.end
  }
}

/** What each counts, oldest first: far quicker than to ask them. @throws SyntaxError where there are none */
export function sizesIn(part: Buffer): number[] {
  const sizes: number[] = []
  for (let header = 0; header < part.length; ) {
    const end = endOf(part, header)
    sizes.push(sizeOf(sharedOf(part, header), header, end))
    header = end
  }
  return sizes
}

const sharedOf = (part: Buffer, header: number): Shared => ({
  place: part.readUInt32LE(header + at.shared),
  length: part.readUInt32LE(header + at.sharedLength),
})

function endOf(part: Buffer, header: number): number {
  const end = header + part.readUInt32LE(header + at.length)
  if (end < header + headerBytes || end > part.length) throw new SyntaxError('no call has such a length')
  return end
}
