import { drawsFrom } from '../../core/ids/draws.ts'

export type Trigger =
  | { readonly nth: number }
  | { readonly next: number }
  | { readonly everyNth: number }
  | { readonly always: boolean }
  | { readonly untilRemoved: boolean; readonly afterCalls?: number }
  | { readonly probability: number; readonly seed?: string }

export interface Turn {
  readonly call: number
  readonly fired: number
  readonly seed: string
}

/** `next` counts strikes and not calls: a call that an earlier rule ended does not use it up. */
export function isDue(trigger: Trigger | undefined, { call, fired, seed }: Turn): boolean {
  if (trigger === undefined || 'always' in trigger) return true
  if ('nth' in trigger) return call === trigger.nth
  if ('next' in trigger) return fired < trigger.next
  if ('everyNth' in trigger) return call % trigger.everyNth === 0
  if ('untilRemoved' in trigger) return call > (trigger.afterCalls ?? 0)
  // Each call is drawn by its number, so that draws continue after a restart.
  return drawsFrom(`${trigger.seed ?? seed}/call/${call}`)() < trigger.probability
}
