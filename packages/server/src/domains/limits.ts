/** Maximum numbers of entities; 422 names limit and count. Kinds list their limits in `implement`; `collected.ts` collects them. */
import type { Services } from '../core/world.ts'

export interface Limit<N extends string = string> {
  readonly name: N
  readonly maximum: number
}

export const limit = <const N extends string>(name: N, maximum: number): Limit<N> => ({ name, maximum })

/** Tests start the app with lower limits, to avoid creating ten thousand rows. */
export const limitOf = (ctx: { readonly services: Pick<Services, 'limits'> }, { name, maximum }: Limit): number =>
  ctx.services.limits[name] ?? maximum
