/**
 * Calls in binary form: as objects the garbage collector would move them twice and `postMessage` clone them. A header and up to three UTF-8
 * texts: members shared with other calls, own members, answer. Texts of earlier calls in the part are not repeated: polling clients get
 * equal ones.
 */
import { formatTime, lastTime } from '../../core/time/time.ts'
import type { CallText, SentBody } from './protocol.ts'

/** Part of the version of stored journals: change it with the layout below. */
export const packing = 'header, shared, own, answer and its size: each text once a part'

/** Lengths and places are 32-bit numbers, times 64-bit. Places are relative to the part. */
const at = { length: 0, shared: 4, own: 12, answer: 20, answerSize: 28, began: 32, ended: 40 } as const
const headerBytes = 48
const longestUnit = 3

/** An upper bound of the packed size, without encoding the texts. */
export const longestPacked = ({ shared, own, answer }: CallText): number =>
  headerBytes + longestText(shared) + longestText(own) + longestAnswer(answer)

/** The packed size, if no earlier call of the part has the same texts. */
export const packedLength = ({ shared, own, answer }: CallText): number =>
  headerBytes + Buffer.byteLength(shared) + Buffer.byteLength(own) + answerLength(answer)

const longestText = ({ length }: string): number => length * longestUnit
const longestAnswer = (answer?: SentBody): number =>
  answer === undefined ? 0 : (answer.kept?.length ?? longestText(answer.text))
const answerLength = (answer?: SentBody): number =>
  answer === undefined ? 0 : (answer.kept?.length ?? Buffer.byteLength(answer.text))

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
  /** Weak: an answer that was made for one call is garbage before its part is sent. */
  readonly #placesOfSent = new WeakMap<Uint8Array, Place>()

  constructor(buffer: ArrayBuffer) {
    this.bytes = Buffer.from(buffer)
  }

  hasRoom(call: CallText): boolean {
    const room = this.bytes.length - this.length
    const { began, ended, shared, own, isOwnRepeated, answer } = call
    const missing = {
      began,
      ended,
      shared: this.#places.has(shared) ? '' : shared,
      own: isOwnRepeated === true && this.#places.has(own) ? '' : own,
      answer: answer !== undefined && this.#holdsAnswer(answer) ? undefined : answer,
    }
    // Measuring a text costs more than an upper bound, which is enough for nearly all calls.
    return longestPacked(missing) <= room || packedLength(missing) <= room
  }

  /** Call only if `hasRoom`, or for an empty part of `packedLength(call)` bytes. */
  add({ began, ended, shared, own, isOwnRepeated, answer }: CallText): void {
    const { bytes, length: header } = this
    this.length += headerBytes
    const answerPlace = answer === undefined ? nowhere : this.#placeOfAnswer(answer)
    this.#note(header + at.shared, this.#placeOf(shared))
    this.#note(header + at.own, isOwnRepeated === true ? this.#placeOf(own) : this.#write(own))
    this.#note(header + at.answer, answerPlace)
    bytes.writeUInt32LE(answer?.sizeBytes ?? answerPlace.length, header + at.answerSize)
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

  #holdsAnswer({ text, sent }: SentBody): boolean {
    return sent === undefined ? this.#places.has(text) : this.#placesOfSent.has(sent)
  }

  #placeOfAnswer({ text, kept, sent }: SentBody): Place {
    if (sent === undefined) return this.#placeOf(text)
    let place = this.#placesOfSent.get(sent)
    if (place === undefined) this.#placesOfSent.set(sent, (place = this.#write(kept ?? sent)))
    return place
  }

  #note(offset: number, { begin, length }: Place): void {
    this.bytes.writeUInt32LE(begin, offset)
    this.bytes.writeUInt32LE(length, offset + 4)
  }

  #write(text: string | Uint8Array): Place {
    const begin = this.length
    if (typeof text !== 'string') this.bytes.set(text, begin)
    this.length += typeof text === 'string' ? this.bytes.write(text, begin) : text.length
    return { begin, length: this.length - begin }
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
    const sizeBytes = this.#part.readUInt32LE(this.#header + at.answerSize)
    const isCut = sizeBytes > length ? '"isCut":true,' : ''
    return `${text}"sizeBytes":${sizeBytes},${isCut}"text":${JSON.stringify(this.#text('answer'))}}}`
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

/** Much faster than `callsIn`. @throws SyntaxError for bytes that are not calls */
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
