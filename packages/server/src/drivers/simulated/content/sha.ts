/** SHA-1 and SHA-256 that continue from a midstate, which Node's hashes cannot. Source: FIPS 180-4, 6.1 and 6.2. */
/** Signed words: V8 keeps them as integers. */
type Compress = (state: Int32Array, block: Int32Array) => void

const blockBytes = 64

/** @param before bytes that `midstate` covers: whole blocks. @returns lower-case hex */
export function continueDigest(
  algorithm: 'sha1' | 'sha256',
  midstate: string,
  before: number,
  rest: Uint8Array,
): string {
  const state = Int32Array.from({ length: midstate.length / 8 }, (_, word) =>
    Number.parseInt(midstate.slice(8 * word, 8 * word + 8), 16),
  )
  const padded = pad(rest, before + rest.length)
  const view = new DataView(padded.buffer)
  const compress = algorithm === 'sha1' ? compressSha1 : compressSha256
  const block = new Int32Array(16)
  for (let at = 0; at < padded.length; at += blockBytes) {
    for (let word = 0; word < 16; word++) block[word] = view.getInt32(at + 4 * word)
    compress(state, block)
  }
  return Array.from(state, (word) => (word >>> 0).toString(16).padStart(8, '0')).join('')
}

function pad(rest: Uint8Array, totalBytes: number): Uint8Array<ArrayBuffer> {
  const padded = new Uint8Array(Math.ceil((rest.length + 9) / blockBytes) * blockBytes)
  padded.set(rest)
  padded[rest.length] = 0x80
  new DataView(padded.buffer).setBigUint64(padded.length - 8, BigInt(totalBytes) * 8n)
  return padded
}

const rotateLeft = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits))
const rotateRight = (word: number, bits: number): number => (word >>> bits) | (word << (32 - bits))

function mixed1(t: number, b: number, c: number, d: number): number {
  if (t < 20) return ((b & c) | (~b & d)) + 0x5a827999
  if (t < 40) return (b ^ c ^ d) + 0x6ed9eba1
  if (t < 60) return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc
  return (b ^ c ^ d) + 0xca62c1d6
}

const schedule1 = new Int32Array(80)
const compressSha1: Compress = (state, block) => {
  const w = schedule1
  w.set(block)
  for (let t = 16; t < 80; t++) w[t] = rotateLeft(w[t - 3]! ^ w[t - 8]! ^ w[t - 14]! ^ w[t - 16]!, 1)
  let [a, b, c, d, e] = state as unknown as [number, number, number, number, number]
  for (let t = 0; t < 80; t++) {
    const next = (rotateLeft(a, 5) + mixed1(t, b, c, d) + e + w[t]!) | 0
    e = d
    d = c
    c = rotateLeft(b, 30)
    b = a
    a = next
  }
  for (const [index, word] of [a, b, c, d, e].entries()) state[index] = state[index]! + word
}

/** Cube roots of the first 64 primes: the first 32 bits of their fractional parts. */
const constants256 = Int32Array.from(firstPrimes(64), (prime) => fraction(Math.cbrt(prime)))

function firstPrimes(count: number): number[] {
  const primes: number[] = []
  for (let n = 2; primes.length < count; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n)
  return primes
}

function fraction(value: number): number {
  return Math.floor((value - Math.floor(value)) * 2 ** 32)
}

const schedule256 = new Int32Array(64)
const compressSha256: Compress = (state, block) => {
  const w = schedule256
  w.set(block)
  for (let t = 16; t < 64; t++) {
    const [x, y] = [w[t - 15]!, w[t - 2]!]
    const s0 = rotateRight(x, 7) ^ rotateRight(x, 18) ^ (x >>> 3)
    const s1 = rotateRight(y, 17) ^ rotateRight(y, 19) ^ (y >>> 10)
    w[t] = (w[t - 16]! + s0 + w[t - 7]! + s1) | 0
  }
  let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number]
  for (let t = 0; t < 64; t++) {
    const s1 = rotateRight(e, 6) ^ rotateRight(e, 11) ^ rotateRight(e, 25)
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + constants256[t]! + w[t]!) | 0
    const s0 = rotateRight(a, 2) ^ rotateRight(a, 13) ^ rotateRight(a, 22)
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g
    g = f
    f = e
    e = (d + t1) | 0
    d = c
    c = b
    b = a
    a = (t1 + t2) | 0
  }
  for (const [index, word] of [a, b, c, d, e, f, g, h].entries()) state[index] = state[index]! + word
}
