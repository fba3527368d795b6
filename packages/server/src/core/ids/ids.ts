/** Derived from the world's seed and their purpose: equal whatever runs concurrently. Secrets are never derived. */

import { hash, randomBytes } from 'node:crypto'
import type { Ids } from '../caller.ts'

/** @param seed equal seeds give equal ids; use a secret seed where ids must not be guessable */
export function createIds(seed: string): Ids {
  let drawn = 0
  const draw = (): string => hash('sha256', `${seed}\0${drawn++}`)
  return {
    uuid() {
      const hex = draw()
      const variant = ((Number.parseInt(hex[16] as string, 16) & 3) | 8).toString(16)
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
    },
    random: () => Number.parseInt(draw().slice(0, 13), 16) / 2 ** 52,
    secretBytes: randomBytes,
    of: (what) => createIds(`${seed}\0${what}`),
  }
}
