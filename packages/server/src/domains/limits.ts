/**
 * Maximum numbers of entities. A request that exceeds one is refused with 422, which names the limit and the count.
 * Each kind declares its limits beside its rules and lists them in `implement`; `collected.ts` collects them.
 */
import type { Services } from '../core/world.ts'

export interface Limit<N extends string = string> {
  readonly name: N
  readonly maximum: number
}

export const limit = <const N extends string>(name: N, maximum: number): Limit<N> => ({ name, maximum })

/** The limit of this app: tests start it with a lower one, to avoid creating ten thousand rows. */
export const limitOf = (ctx: { readonly services: Pick<Services, 'limits'> }, { name, maximum }: Limit): number =>
  ctx.services.limits[name] ?? maximum
