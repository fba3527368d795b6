/**
 * Zeros, then a tail derived from the seed. Digests of gigabytes cost only the tail: the midstate after the zeros is stored for each size.
 * Source: behaviour vmm.md 3.6.
 */
import { createCipheriv, createHash } from 'node:crypto'
import type { ByteRange, Digests } from '../../content-source.ts'
import { continueDigest } from './sha.ts'
import { zeroMidstates } from './zero-midstates.ts'

export interface Content {
  readonly seed: string
  readonly sizeBytes: number
}

const MiB = 1024 ** 2
const tailBytes = 64 * 1024
const chunk = new Uint8Array(MiB)

/** In MiB. */
export const knownSizes: readonly number[] = Object.keys(zeroMidstates).map(Number)

export async function* bytesOf(
  content: Content,
  { first, last }: ByteRange = { first: 0, last: content.sizeBytes - 1 },
): AsyncIterable<Uint8Array> {
  const tail = tailOf(content)
  const tailFrom = content.sizeBytes - tail.length
  let zeros = Math.min(last + 1, tailFrom) - first
  for (; zeros > 0; zeros -= chunk.length) {
    yield zeros < chunk.length ? chunk.subarray(0, zeros) : chunk
    // Yield to the event loop: a reader that keeps up would starve other requests.
    await new Promise(setImmediate)
  }
  if (last >= tailFrom) yield tail.subarray(Math.max(0, first - tailFrom), last + 1 - tailFrom)
}

/** Reads the bytes before the part too, and drops them. */
export async function* partOf(all: AsyncIterable<Uint8Array>, { first, last }: ByteRange): AsyncIterable<Uint8Array> {
  let at = 0
  for await (const bytes of all) {
    const part = bytes.subarray(Math.max(0, first - at), Math.max(0, last + 1 - at))
    if (part.length > 0) yield part
    at += bytes.length
    if (at > last) return
  }
}

/** Empty for a size without a midstate, such as that of a copied disk. */
export function digestsOf(content: Content): Digests {
  const [sha1, sha256] = [digestOf(content, 'sha1'), digestOf(content, 'sha256')]
  return sha1 === undefined || sha256 === undefined ? {} : { sha1, sha256 }
}

/** Costs half of `digestsOf`. */
export function digestOf(content: Content, algorithm: 'sha1' | 'sha256'): string | undefined {
  const midstates = zeroMidstates[content.sizeBytes / MiB]
  if (midstates === undefined) return undefined
  const [sha256, sha1] = midstates
  const tail = tailOf(content)
  return continueDigest(algorithm, algorithm === 'sha1' ? sha1 : sha256, content.sizeBytes - tail.length, tail)
}

export function tailOf({ seed, sizeBytes }: Content): Uint8Array {
  const key = createHash('sha256').update('hyperplane content\0').update(seed).digest()
  const length = Math.min(sizeBytes, tailBytes)
  return createCipheriv('aes-256-ctr', key, Buffer.alloc(16)).update(new Uint8Array(length))
}
