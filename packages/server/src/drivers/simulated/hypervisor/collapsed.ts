import type { DiskFact } from './facts.ts'
import { merged } from './layers.ts'

/** Without layers that are not `kept`: the only layer over one takes its bytes; below several layers it stays. */
export function collapsed(
  layers: ReadonlyMap<string, DiskFact>,
  kept: ReadonlySet<string>,
  now: number,
): ReadonlyMap<string, DiskFact> {
  const left = new Map(layers)
  const collapse = (extId: string, fact: DiskFact): boolean => {
    const [upper, ...others] = [...left].filter(([, { parentExtId }]) => parentExtId === extId)
    if (kept.has(extId) || others.length > 0) return false
    if (upper !== undefined) left.set(upper[0], merged(upper[1], fact, now))
    return left.delete(extId)
  }
  // A removed layer may have been one of several over the one below it.
  while ([...left].some(([extId, fact]) => collapse(extId, fact)));
  return left
}
