/** Calls on their way to the journal thread, packed in buffers that are reused. */
import { CallPart, longestPacked, packedLength } from './packed-calls.ts'
import type { CallText, PackedPart } from './protocol.ts'

/** Bytes in flight of all worlds; further calls are dropped and counted as missed. */
const maximumBytesInFlight = 64 * 1024 * 1024
/** Room for two of the longest bodies that are kept. */
const partBytes = 144 * 1024
const maximumParts = 8
const maximumSpare = 2 * maximumParts

export class Batches {
  readonly #batches = new Map<string, CallPart[]>()
  readonly #spare: ArrayBuffer[] = []
  readonly #lost = new Map<string, number>()
  #bytesInFlight = 0

  folders(): ReadonlySet<string> {
    return new Set([...this.#batches.keys(), ...this.#lost.keys()])
  }

  /** @returns true when the batch of this journal is full and should be sent */
  add(folder: string, call: CallText): boolean {
    if (this.#bytesInFlight + reservedBytes(call) > maximumBytesInFlight) {
      this.noteLost(folder, 1)
      return false
    }
    const parts = this.#partsOf(folder)
    const part = this.#partWithRoom(parts, call)
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

  release(parts: readonly PackedPart[]): void {
    this.#bytesInFlight -= lengthOf(parts)
    for (const { buffer } of parts) this.#keepSpare(buffer)
  }

  /** For a dead thread, which will not return its buffers. */
  forgetInFlight(): void {
    this.#bytesInFlight = 0
    for (const parts of this.#batches.values()) this.#bytesInFlight += lengthOf(parts)
  }

  noteLost(folder: string, count: number): void {
    this.#lost.set(folder, (this.#lost.get(folder) ?? 0) + count)
  }

  drop(folder: string): void {
    this.#bytesInFlight -= lengthOf(this.#batches.get(folder) ?? [])
    this.#batches.delete(folder)
    this.#lost.delete(folder)
  }

  /** Copies a part that fills less than half of its buffer: many such buffers could wait for a busy thread. */
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

  #partWithRoom(parts: CallPart[], call: CallText): CallPart {
    const latest = parts.at(-1)
    if (latest?.hasRoom(call) === true) return latest
    const bytes = reservedBytes(call)
    const spare = bytes > partBytes ? undefined : this.#spare.pop()
    const part = new CallPart(spare ?? new ArrayBuffer(Math.max(bytes, partBytes)))
    parts.push(part)
    return part
  }
}

/** An upper bound of the packed size; exact for a long call, which might otherwise get a buffer of its own. */
function reservedBytes(call: CallText): number {
  const longest = longestPacked(call)
  return longest > partBytes ? packedLength(call) : longest
}

const lengthOf = (parts: readonly { readonly length: number }[]): number =>
  parts.reduce((sum, { length }) => sum + length, 0)
