/**
 * Ids and chance that follow from what a world is drawn from, and from what they are for: the n-th call, a step of a task, a
 * run of a schedule. So the same calls make the same ids, whatever goes on beside them. Secrets are never drawn from it.
 */

import { hash, randomBytes } from 'node:crypto'
import type { Ids } from '../caller.ts'

/** @param seed equal seeds, equal ids; one that nobody can guess makes ids that nobody can guess */
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
