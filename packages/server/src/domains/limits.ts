/**
 * The most that there may be of something. A request beyond it is refused with 422, which names the limit and the count found.
 * Each kind declares its limits beside its rules and lists them in `implement`; `collected.ts` has them all.
 */
import type { Services } from '../core/world.ts'

export interface Limit<N extends string = string> {
  readonly name: N
  readonly maximum: number
}

export const limit = <const N extends string>(name: N, maximum: number): Limit<N> => ({ name, maximum })

/** The limit that holds in this app: tests start it with a lower one instead of making ten thousand rows. */
export const limitOf = (ctx: { readonly services: Pick<Services, 'limits'> }, { name, maximum }: Limit): number =>
  ctx.services.limits[name] ?? maximum
