import { drawsFrom } from '../../core/ids/draws.ts'
import { millisecondsOf } from '../duration.ts'

export type Delay =
  | { readonly fixed: string }
  | { readonly minimum: string; readonly maximum: string }
  | { readonly mean: string; readonly atMost?: string }
  | { readonly median: string; readonly p95: string; readonly atMost?: string }

export const longestDelayMillis = 86_400_000

/** 0 for a text that is not a duration. */
export function draw(delay: Delay, seed: string): number {
  const random = drawsFrom(seed)
  return Math.min(millisecondsOfDelay(delay, random), 'atMost' in delay ? lengthOf(delay.atMost) : longestDelayMillis)
}

function millisecondsOfDelay(delay: Delay, random: () => number): number {
  if ('fixed' in delay) return lengthOf(delay.fixed)
  if ('minimum' in delay) {
    const least = lengthOf(delay.minimum)
    return least + random() * (lengthOf(delay.maximum) - least)
  }
  // 1 - x: a draw may be 0, and the logarithm of 0 is infinite.
  if ('mean' in delay) return -Math.log(1 - random()) * lengthOf(delay.mean)
  const median = lengthOf(delay.median)
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  return median * (lengthOf(delay.p95) / median) ** (normal / deviationsAtP95)
}

/** Standard deviations between the median and the 95th percentile of a normal distribution. */
const deviationsAtP95 = 1.6448536

const lengthOf = (text: string | undefined): number =>
  text === undefined ? longestDelayMillis : (millisecondsOf(text) ?? 0)
