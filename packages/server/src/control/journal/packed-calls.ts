/**
 * The binary form of calls. As objects they would cost more than the calls: the garbage collector would move each one
 * twice, and `postMessage` would clone it. A call is a header and up to three UTF-8 texts: the members that it shares
 * with other calls, unless an earlier call of the same part holds them; its own members; the answer.
 */
import { formatTime, lastTime } from '../../core/time/time.ts'
import type { CallText } from './protocol.ts'

/** Part of the version of stored journals: change it with the layout below. */
export const packing = 'header, shared, own, answer'

/** Offsets in a header: lengths and places are 32-bit numbers, times 64-bit. Places are relative to the part. */
const at = { length: 0, shared: 4, sharedLength: 8, ownLength: 12, began: 16, ended: 24 } as const
const headerBytes = 32
const longestUnit = 3

/** An upper bound of the packed size, without encoding the texts. */
export const longestPacked = ({ shared, own, answer = '' }: CallText): number =>
  headerBytes + (shared.length + own.length + answer.length) * longestUnit

/** The packed size, if no earlier call of the part has the shared text. */
export const packedLength = ({ shared, own, answer = '' }: CallText): number =>
  headerBytes + Buffer.byteLength(shared) + Buffer.byteLength(own) + Buffer.byteLength(answer)

interface Shared {
  readonly place: number
  readonly length: number
}

/** The size that bounds count: it includes the shared text, whichever call of the part holds it. */
const sizeOf = ({ place, length }: Shared, header: number, end: number): number =>
  end - header + (place === header + headerBytes ? 0 : length)

export class CallPart {
  readonly bytes: Buffer<ArrayBuffer>
  length = 0
  count = 0
  sizeBytes = 0
  readonly #shared = new Map<string, Shared>()

  constructor(buffer: ArrayBuffer) {
    this.bytes = Buffer.from(buffer)
  }

  /** The buffer must have room for `longestPacked(call)` or `packedLength(call)` bytes. */
  add({ began, ended, shared, own, answer }: CallText): void {
    const { bytes, length: header } = this
    let end = header + headerBytes
    let position = this.#shared.get(shared)
    if (position === undefined) {
      position = { place: end, length: bytes.write(shared, end) }
      this.#shared.set(shared, position)
      end += position.length
    }
    const ownLength = bytes.write(own, end)
    end += ownLength
    if (answer !== undefined) end += bytes.write(answer, end)
    bytes.writeUInt32LE(end - header, header + at.length)
    bytes.writeUInt32LE(position.place, header + at.shared)
    bytes.writeUInt32LE(position.length, header + at.sharedLength)
    bytes.writeUInt32LE(ownLength, header + at.ownLength)
    bytes.writeDoubleLE(began, header + at.began)
    bytes.writeDoubleLE(ended, header + at.ended)
    this.length = end
    this.count += 1
    this.sizeBytes += sizeOf(position, header, end)
  }
}

export class PackedCall {
  readonly #part: Buffer
  readonly #header: number
  readonly #shared: Shared
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

  /** @throws SyntaxError for bytes that are not a call */
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

/** Oldest first. @throws SyntaxError for bytes that are not calls */
export function* callsIn(part: Buffer): Generator<PackedCall> {
  for (let header = 0; header < part.length; ) {
    const call = new PackedCall(part, header)
    yield call
    header = call.end
  }
}

/** Oldest first; much faster than `callsIn`. @throws SyntaxError for bytes that are not calls */
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
