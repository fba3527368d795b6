/** Simulated disks as sparse files: only the tail of `bytes.ts` takes space. */
import { type Content, tailOf } from './bytes.ts'

/** Unit of allocation, in both formats. */
export const grainBytes = 64 * 1024

export interface Grain {
  readonly index: number
  readonly bytes: Uint8Array
}

/** In ascending order; bytes outside the disk are zero. */
export function grainsOf(content: Content): Grain[] {
  const tail = tailOf(content)
  const start = content.sizeBytes - tail.length
  const grains: Grain[] = []
  for (let index = Math.floor(start / grainBytes); index * grainBytes < content.sizeBytes; index++) {
    const bytes = new Uint8Array(grainBytes)
    const from = index * grainBytes - start
    bytes.set(tail.subarray(Math.max(0, from), from + grainBytes), Math.max(0, -from))
    grains.push({ index, bytes })
  }
  return grains
}

export const blocksOf = (bytes: number, blockBytes: number): number => Math.ceil(bytes / blockBytes)

export function* zeros(bytes: number): Generator<Uint8Array> {
  const chunk = new Uint8Array(Math.min(bytes, 2 ** 20))
  for (let left = bytes; left > 0; left -= chunk.length) yield left < chunk.length ? chunk.subarray(0, left) : chunk
}

/** A table of zeros with some entries, in ascending order. */
export function* tableOf(
  bytes: number,
  entries: Iterable<readonly [index: number, entry: Uint8Array]>,
): Generator<Uint8Array> {
  let at = 0
  for (const [index, entry] of entries) {
    yield* zeros(index * entry.length - at)
    yield entry
    at = (index + 1) * entry.length
  }
  yield* zeros(bytes - at)
}

export const groupedBy = (grains: readonly Grain[], size: number): Map<number, Grain[]> =>
  Map.groupBy(grains, ({ index }) => Math.floor(index / size))
