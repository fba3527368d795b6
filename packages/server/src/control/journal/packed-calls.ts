/**
 * The binary form of calls. As objects they would cost more than the calls: the garbage collector would move each one
 * twice, and `postMessage` would clone it. A call is a header and up to three UTF-8 texts: the members that it shares
 * with other calls; its own members; the answer. Texts that an earlier call of the same part holds are not repeated:
 * clients that poll get the same answer again and again.
 */
import { formatTime, lastTime } from '../../core/time/time.ts'
import type { CallText } from './protocol.ts'

/** Part of the version of stored journals: change it with the layout below. */
export const packing = 'header, shared, own, answer: each text once a part'

/** Offsets in a header: lengths and places are 32-bit numbers, times 64-bit. Places are relative to the part. */
const at = { length: 0, shared: 4, own: 12, answer: 20, began: 28, ended: 36 } as const
const headerBytes = 44
const longestUnit = 3

/** An upper bound of the packed size, without encoding the texts. */
export const longestPacked = ({ shared, own, answer = '' }: CallText): number =>
  headerBytes + (shared.length + own.length + answer.length) * longestUnit

/** The packed size, if no earlier call of the part has the same texts. */
export const packedLength = ({ shared, own, answer = '' }: CallText): number =>
  headerBytes + Buffer.byteLength(shared) + Buffer.byteLength(own) + Buffer.byteLength(answer)

interface Place {
  readonly begin: number
  readonly length: number
}

const nowhere: Place = { begin: 0, length: 0 }

export class CallPart {
  readonly bytes: Buffer<ArrayBuffer>
  length = 0
  count = 0
  sizeBytes = 0
  readonly #places = new Map<string, Place>()

  constructor(buffer: ArrayBuffer) {
    this.bytes = Buffer.from(buffer)
  }

  hasRoom({ shared, own, answer = '' }: CallText): boolean {
    const room = this.bytes.length - this.length - headerBytes
    const missing = [own, ...[shared, answer].filter((text) => !this.#places.has(text))]
    // Measuring a text costs more than an upper bound, which is enough for nearly all calls.
    const longest = missing.reduce((sum, { length }) => sum + length * longestUnit, 0)
    return longest <= room || missing.reduce((sum, text) => sum + Buffer.byteLength(text), 0) <= room
  }

  /** Call only if `hasRoom`, or for an empty part of `packedLength(call)` bytes. */
  add({ began, ended, shared, own, answer }: CallText): void {
    const { bytes, length: header } = this
    this.length += headerBytes
    this.#note(header + at.shared, this.#placeOf(shared))
    this.#note(header + at.own, this.#write(own))
    this.#note(header + at.answer, answer === undefined ? nowhere : this.#placeOf(answer))
    bytes.writeUInt32LE(this.length - header, header + at.length)
    bytes.writeDoubleLE(began, header + at.began)
    bytes.writeDoubleLE(ended, header + at.ended)
    this.count += 1
    this.sizeBytes += sizeOf(bytes, header)
  }

  #placeOf(text: string): Place {
    let place = this.#places.get(text)
    if (place === undefined) this.#places.set(text, (place = this.#write(text)))
    return place
  }

  #note(offset: number, { begin, length }: Place): void {
    this.bytes.writeUInt32LE(begin, offset)
    this.bytes.writeUInt32LE(length, offset + 4)
  }

  #write(text: string): Place {
    const begin = this.length
    const length = this.bytes.write(text, begin)
    this.length += length
    return { begin, length }
  }
}

export class PackedCall {
  readonly #part: Buffer
  readonly #header: number
  readonly end: number

  constructor(part: Buffer, header: number) {
    this.#part = part
    this.#header = header
    this.end = endOf(part, header)
  }

  get sizeBytes(): number {
    return sizeOf(this.#part, this.#header)
  }

  /** @throws SyntaxError for bytes that are not a call */
  document(sequence: number): string {
    const began = this.#part.readDoubleLE(this.#header + at.began)
    if (!(began >= 0 && began <= lastTime)) throw new SyntaxError('no call has such a time')
    const ended = this.#part.readDoubleLE(this.#header + at.ended)
    const micros = Math.max(0, Math.round((ended - began) * 1000))
    const text = `{"sequence":${sequence},"time":"${formatTime(began)}","durationMicros":${micros}${this.#text('shared')}${this.#text('own')}`
    const { length } = placeAt(this.#part, this.#header + at.answer)
    if (length === 0) return `${text}}`
    return `${text}"sizeBytes":${length},"text":${JSON.stringify(this.#text('answer'))}}}`
  }

  #text(name: 'shared' | 'own' | 'answer'): string {
    const { begin, length } = placeAt(this.#part, this.#header + at[name])
    return this.#part.toString('utf8', begin, begin + length)
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
  for (let header = 0; header < part.length; header = endOf(part, header)) sizes.push(sizeOf(part, header))
  return sizes
}

/** The size that bounds count: it includes all texts, whichever call of the part holds them. */
const sizeOf = (part: Buffer, header: number): number =>
  headerBytes +
  part.readUInt32LE(header + at.shared + 4) +
  part.readUInt32LE(header + at.own + 4) +
  part.readUInt32LE(header + at.answer + 4)

const placeAt = (part: Buffer, offset: number): Place => ({
  begin: part.readUInt32LE(offset),
  length: part.readUInt32LE(offset + 4),
})

function endOf(part: Buffer, header: number): number {
  const end = header + part.readUInt32LE(header + at.length)
  if (end < header + headerBytes || end > part.length) throw new SyntaxError('no call has such a length')
  return end
}
