export const drawnFrom = (text: string, [least, most]: readonly [number, number]): number =>
  least + (most - least) * drawsFrom(text)()

/** In [0, 1); the same text gives the same numbers. */
export function drawsFrom(text: string): () => number {
  let state = 1779033703 ^ text.length
  for (let index = 0; index < text.length; index++) {
    state = Math.imul(state ^ text.charCodeAt(index), 3432918353)
    state = (state << 13) | (state >>> 19)
  }
  return () => {
    state = Math.imul(state ^ (state >>> 16), 2246822507)
    state = Math.imul(state ^ (state >>> 13), 3266489909)
    state ^= state >>> 16
    state = (state + 0x6d2b79f5) | 0
    return ((state ^ (state >>> 14)) >>> 0) / 4294967296
  }
}
