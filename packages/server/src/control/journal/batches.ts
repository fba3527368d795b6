/** Calls on their way to the thread: packed, by the file of their world, in buffers that come back. */
import { longestPacked, pack } from './packed-calls.ts'
import type { CallText, PackedPart } from './protocol.ts'

/** Bytes that may be on their way, of all worlds; more are not kept. */
const maximumUnderWay = 64 * 1024 * 1024
const partBytes = 128 * 1024
/** A batch of as many is full. */
const fullParts = 8
/** Buffers that are kept for the next parts. */
const maximumSpare = 2 * fullParts

interface Part {
  readonly bytes: Buffer<ArrayBuffer>
  length: number
  count: number
}

export class Batches {
  readonly #batches = new Map<string, Part[]>()
  readonly #spare: ArrayBuffer[] = []
  /** Calls that were lost on their way, until their file is told. */
  readonly #lost = new Map<string, number>()
  #underWay = 0

  /** Files for which there is something to take. */
  files(): ReadonlySet<string> {
    return new Set([...this.#batches.keys(), ...this.#lost.keys()])
  }

  /** @returns whether the batch of this file is full */
  add(file: string, call: CallText): boolean {
    const longest = longestPacked(call)
    if (this.#underWay + longest > maximumUnderWay) {
      this.noteLost(file, 1)
      return false
    }
    const parts = this.#partsOf(file)
    const part = this.#partFor(parts, longest)
    const end = pack(call, part.bytes, part.length)
    this.#underWay += end - part.length
    part.length = end
    part.count += 1
    return parts.length > fullParts
  }

  take(file: string): { readonly parts: readonly PackedPart[]; readonly missed: number } {
    const parts = this.#batches.get(file) ?? []
    const missed = this.#lost.get(file) ?? 0
    this.#batches.delete(file)
    this.#lost.delete(file)
    return { parts: parts.map(handedOver), missed }
  }

  /** What was taken is written, or lost for good. */
  giveBack(parts: readonly PackedPart[]): void {
    this.#underWay -= lengthOf(parts)
    for (const { buffer } of parts)
      if (buffer.byteLength === partBytes && this.#spare.length < maximumSpare) this.#spare.push(buffer)
  }

  /** What was taken comes back no more. */
  forgetTaken(): void {
    this.#underWay = 0
    for (const parts of this.#batches.values()) this.#underWay += lengthOf(parts)
  }

  noteLost(file: string, count: number): void {
    this.#lost.set(file, (this.#lost.get(file) ?? 0) + count)
  }

  /** The file goes, or nobody writes to it any more. */
  drop(file: string): void {
    this.#underWay -= lengthOf(this.#batches.get(file) ?? [])
    this.#batches.delete(file)
    this.#lost.delete(file)
  }

  #partsOf(file: string): Part[] {
    let parts = this.#batches.get(file)
    if (parts === undefined) this.#batches.set(file, (parts = []))
    return parts
  }

  /** One with room for so many bytes. */
  #partFor(parts: Part[], bytes: number): Part {
    const begun = parts.at(-1)
    if (begun !== undefined && begun.length + bytes <= begun.bytes.length) return begun
    const spare = bytes > partBytes ? undefined : this.#spare.pop()
    const buffer = spare === undefined ? Buffer.allocUnsafeSlow(Math.max(bytes, partBytes)) : Buffer.from(spare)
    const part = { bytes: buffer, length: 0, count: 0 }
    parts.push(part)
    return part
  }
}

const handedOver = ({ bytes, length, count }: Part): PackedPart => ({ buffer: bytes.buffer, length, count })

const lengthOf = (parts: readonly { readonly length: number }[]): number =>
  parts.reduce((sum, { length }) => sum + length, 0)
