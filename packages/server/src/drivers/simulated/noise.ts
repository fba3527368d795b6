/** Noise as a pure function of a key and a time. */
import { drawsFrom } from '../../core/ids/draws.ts'

const keys = new Map<string, number>()
/** Cached: few texts are hashed often. */
export function keyOf(text: string): number {
  let key = keys.get(text)
  if (key === undefined) {
    key = Math.floor(drawsFrom(text)() * 2 ** 32) | 0
    if (keys.size >= 10_000) keys.clear()
    keys.set(text, key)
  }
  return key
}

export function noise(key: number, draw: number, step: number): number {
  let hash = key ^ Math.imul(draw, 0x9e3779b1) ^ Math.imul(step | 0, 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d)
  hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b)
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32
}

/** Interpolates between noise values `period` seconds apart. */
export function smooth(key: number, draw: number, second: number, period: number): number {
  const step = Math.floor(second / period)
  const way = second / period - step
  const ease = way * way * (3 - 2 * way)
  return noise(key, draw, step) * (1 - ease) + noise(key, draw, step + 1) * ease
}
