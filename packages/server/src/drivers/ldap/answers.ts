/**
 * Validates messages before the library parses them: it trusts inner lengths, so a malicious directory could make it loop for ever or end
 * the process. Source: RFC 4511 4.1.1 ff., RFC 2696 (paging), X.690 (lengths).
 */
/** Per connection; a hundred entries with twenty attributes are far below. */
export const maximumAnswerBytes = 4 * 1024 * 1024
/** Each entry costs memory beyond its bytes. */
export const maximumMessages = 20_000

export class BadAnswer extends Error {}

export class Answers {
  #kept: Buffer = Buffer.alloc(0)
  #parts: Buffer[] = []
  #partBytes = 0
  #bytes = 0
  #messages = 0

  /** @throws BadAnswer; later bytes of the connection cannot be trusted */
  take(chunk: Buffer): Buffer[] {
    this.#bytes += chunk.length
    if (this.#bytes > maximumAnswerBytes) throw new BadAnswer(`it sent more than ${maximumAnswerBytes} bytes`)
    this.#parts.push(chunk)
    this.#partBytes += chunk.length
    const messages: Buffer[] = []
    for (let message = this.#next(); message !== undefined; message = this.#next()) messages.push(message)
    return messages
  }

  /** Joins chunks only once the announced length has arrived: many small chunks cost no more than a few large ones. */
  #next(): Buffer | undefined {
    if (this.#kept.length < longestHeader) this.#join()
    const wanted = messageLength(this.#kept)
    if (wanted === undefined || this.#kept.length + this.#partBytes < wanted) return undefined
    this.#join()
    const message = this.#kept.subarray(0, wanted)
    this.#kept = this.#kept.subarray(wanted)
    if (++this.#messages > maximumMessages) throw new BadAnswer(`it sent more than ${maximumMessages} messages`)
    requireMessage(message)
    return message
  }

  #join(): void {
    if (this.#partBytes === 0) return
    this.#kept = Buffer.concat([this.#kept, ...this.#parts])
    this.#parts = []
    this.#partBytes = 0
  }
}

/** A tag, and a length of up to four octets. */
const longestHeader = 6

function messageLength(bytes: Buffer): number | undefined {
  if (bytes.length < 2) return undefined
  if (bytes[0] !== sequence) throw new BadAnswer('it does not speak LDAP')
  const form = bytes[1] as number
  if (form < 0x80) return 2 + form
  const octets = form & 0x7f
  if (octets === 0 || octets > 4) throw new BadAnswer('it sent a message of no definite length')
  if (bytes.length < 2 + octets) return undefined
  const length = 2 + octets + bytes.readUIntBE(2, octets)
  if (length > maximumAnswerBytes) throw new BadAnswer(`it announced a message of ${length} bytes`)
  return length
}

const integer = 0x02
const octets = 0x04
const enumerated = 0x0a
const sequence = 0x30
const set = 0x31

interface Shape {
  readonly tag: number
  readonly parts?: readonly Shape[]
  readonly items?: Shape
  readonly optional?: true
  readonly maximumLength?: number
}

const text: Shape = { tag: octets }
const number: Shape = { tag: integer, maximumLength: 4 }
const attribute: Shape = { tag: sequence, parts: [text, { tag: set, items: text }] }
const resultParts: readonly Shape[] = [
  { tag: enumerated, maximumLength: 4 },
  text,
  text,
  { tag: 0xa3, items: text, optional: true },
]
const operations: ReadonlyMap<number, Shape> = new Map(
  [
    { tag: 0x61, parts: [...resultParts, { tag: 0x87, optional: true }] },
    { tag: 0x64, parts: [text, { tag: sequence, items: attribute }] },
    { tag: 0x65, parts: resultParts },
    { tag: 0x73, items: text },
    // Notice of disconnection.
    { tag: 0x78, parts: [...resultParts, { tag: 0x8a, optional: true }, { tag: 0x8b, optional: true }] },
  ].map((shape) => [shape.tag, shape as Shape]),
)
const controls: Shape = {
  tag: 0xa0,
  optional: true,
  items: {
    tag: sequence,
    parts: [text, { tag: 0x01, maximumLength: 1, optional: true }, { ...text, optional: true }],
  },
}
const pagedResults = '1.2.840.113556.1.4.319'
const pagedValue: Shape = { tag: sequence, parts: [number, text] }

function requireMessage(bytes: Buffer): void {
  const message = elementAt(bytes, 0, bytes.length)
  const id = elementAt(bytes, message.from, message.to)
  const operation = operations.get(bytes[id.to] ?? 0)
  if (operation === undefined) throw new BadAnswer('it sent a message that is no answer')
  const shape: Shape = { tag: sequence, parts: [number, operation, controls] }
  if (requireShape(bytes, 0, bytes.length, shape) !== bytes.length) throw new BadAnswer(malformed)
  requireControls(bytes, elementAt(bytes, id.to, message.to).to, message.to)
}

/** The library parses the value of a paging control only. */
function requireControls(bytes: Buffer, from: number, end: number): void {
  if (from === end) return
  const list = elementAt(bytes, from, end)
  for (let at = list.from; at < list.to; ) {
    const control = elementAt(bytes, at, list.to)
    const type = elementAt(bytes, control.from, control.to)
    if (bytes.toString('latin1', type.from, type.to) === pagedResults) {
      let value = elementAt(bytes, type.to, control.to)
      if (bytes[type.to] === 0x01) value = elementAt(bytes, value.to, control.to)
      if (requireShape(bytes, value.from, value.to, pagedValue) !== value.to) throw new BadAnswer(malformed)
    }
    at = control.to
  }
}

const malformed = 'it sent a malformed message'

function elementAt(bytes: Buffer, at: number, end: number): { readonly from: number; readonly to: number } {
  const form = bytes[at + 1]
  if (at + 2 > end || form === undefined) throw new BadAnswer(malformed)
  const lengthOctets = form < 0x80 ? 0 : form & 0x7f
  const from = at + 2 + lengthOctets
  if (form === 0x80 || lengthOctets > 4 || from > end) throw new BadAnswer(malformed)
  const to = from + (lengthOctets === 0 ? form : bytes.readUIntBE(at + 2, lengthOctets))
  if (to > end) throw new BadAnswer(malformed)
  return { from, to }
}

/** @returns the end of the element */
function requireShape(bytes: Buffer, at: number, end: number, shape: Shape): number {
  if (bytes[at] !== shape.tag) throw new BadAnswer(malformed)
  const { from, to } = elementAt(bytes, at, end)
  if (shape.maximumLength !== undefined && (to === from || to - from > shape.maximumLength))
    throw new BadAnswer(malformed)
  let next = from
  if (shape.items !== undefined) while (next < to) next = requireShape(bytes, next, to, shape.items)
  for (const part of shape.parts ?? []) {
    if (part.optional === true && (next === to || bytes[next] !== part.tag)) continue
    next = requireShape(bytes, next, to, part)
  }
  if ((shape.items ?? shape.parts) !== undefined && next !== to) throw new BadAnswer(malformed)
  return to
}
