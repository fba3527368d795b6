/** Calls on their way to the thread: packed, by the folder of their journal, in buffers that come back. */
import { CallPart, longestPacked, packedLength } from './packed-calls.ts'
import type { CallText, PackedPart } from './protocol.ts'

/** Bytes that may be on their way, of all worlds; more are not kept. */
const maximumBytesInFlight = 64 * 1024 * 1024
const partBytes = 128 * 1024
/** A batch of as many is full. */
const maximumParts = 8
/** Buffers that are kept for the next parts. */
const maximumSpare = 2 * maximumParts

export class Batches {
  readonly #batches = new Map<string, CallPart[]>()
  readonly #spare: ArrayBuffer[] = []
  /** Calls that were lost on their way, until their journal is told. */
  readonly #lost = new Map<string, number>()
  #bytesInFlight = 0

  /** Journals for which there is something to take. */
  folders(): ReadonlySet<string> {
    return new Set([...this.#batches.keys(), ...this.#lost.keys()])
  }

  /** @returns whether the batch of this journal is full */
  add(folder: string, call: CallText): boolean {
    const longest = reservedBytes(call)
    if (this.#bytesInFlight + longest > maximumBytesInFlight) {
      this.noteLost(folder, 1)
      return false
    }
    const parts = this.#partsOf(folder)
    const part = this.#partWithRoom(parts, longest)
    const { length } = part
    part.add(call)
    this.#bytesInFlight += part.length - length
    return parts.length > maximumParts
  }

  takeBatch(folder: string): { readonly parts: readonly PackedPart[]; readonly missed: number } {
    const parts = this.#batches.get(folder) ?? []
    const missed = this.#lost.get(folder) ?? 0
    this.#batches.delete(folder)
    this.#lost.delete(folder)
    return { parts: parts.map((part) => this.#packedPart(part)), missed }
  }

  /** What was taken is written, or lost for good. */
  release(parts: readonly PackedPart[]): void {
    this.#bytesInFlight -= lengthOf(parts)
    for (const { buffer } of parts) this.#keepSpare(buffer)
  }

  /** What was taken comes back no more. */
  forgetInFlight(): void {
    this.#bytesInFlight = 0
    for (const parts of this.#batches.values()) this.#bytesInFlight += lengthOf(parts)
  }

  noteLost(folder: string, count: number): void {
    this.#lost.set(folder, (this.#lost.get(folder) ?? 0) + count)
  }

  /** The journal goes, or nobody writes to it any more. */
  drop(folder: string): void {
    this.#bytesInFlight -= lengthOf(this.#batches.get(folder) ?? [])
    this.#batches.delete(folder)
    this.#lost.delete(folder)
  }

  /** A buffer that is half empty stays: while the thread is busy, those of many worlds would pile up. */
  #packedPart({ bytes, length, count, sizeBytes }: CallPart): PackedPart {
    if (2 * length > bytes.length) return { buffer: bytes.buffer, length, count, sizeBytes }
    const buffer = bytes.buffer.slice(0, length)
    this.#keepSpare(bytes.buffer)
    return { buffer, length, count, sizeBytes }
  }

  #keepSpare(buffer: ArrayBuffer): void {
    if (buffer.byteLength === partBytes && this.#spare.length < maximumSpare) this.#spare.push(buffer)
  }

  #partsOf(folder: string): CallPart[] {
    let parts = this.#batches.get(folder)
    if (parts === undefined) this.#batches.set(folder, (parts = []))
    return parts
  }

  /** One with room for so many bytes. */
  #partWithRoom(parts: CallPart[], bytes: number): CallPart {
    const begun = parts.at(-1)
    if (begun !== undefined && begun.length + bytes <= begun.bytes.length) return begun
    const spare = bytes > partBytes ? undefined : this.#spare.pop()
    const part = new CallPart(spare ?? new ArrayBuffer(Math.max(bytes, partBytes)))
    parts.push(part)
    return part
  }
}

/** Bytes that it takes at most. Those of a long text are counted: that costs less than a buffer of its own. */
function reservedBytes(call: CallText): number {
  const longest = longestPacked(call)
  return longest > partBytes ? packedLength(call) : longest
}

const lengthOf = (parts: readonly { readonly length: number }[]): number =>
  parts.reduce((sum, { length }) => sum + length, 0)
