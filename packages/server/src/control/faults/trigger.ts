import { drawsFrom } from '../../core/ids/draws.ts'
/** At which of the calls that it meets a rule strikes. */

export type Trigger =
  | { readonly nth: number }
  | { readonly next: number }
  | { readonly everyNth: number }
  | { readonly always: boolean }
  | { readonly untilRemoved: boolean; readonly afterCalls?: number }
  | { readonly probability: number; readonly seed?: string }

/** What a trigger looks at. */
export interface Turn {
  /** Which call it is, from 1. */
  readonly call: number
  /** How often the rule struck before. */
  readonly fired: number
  /** Of draws, where the trigger gives none. */
  readonly seed: string
}

/** `next` counts strikes, all others calls: what an earlier rule took the place of is not used up. */
export function isDue(trigger: Trigger | undefined, { call, fired, seed }: Turn): boolean {
  if (trigger === undefined || 'always' in trigger) return true
  if ('nth' in trigger) return call === trigger.nth
  if ('next' in trigger) return fired < trigger.next
  if ('everyNth' in trigger) return call % trigger.everyNth === 0
  if ('untilRemoved' in trigger) return call > (trigger.afterCalls ?? 0)
  // Each call has a draw of its own: a restart goes on with the next one.
  return drawsFrom(`${trigger.seed ?? seed}/call/${call}`)() < trigger.probability
}
