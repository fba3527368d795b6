/** Everything that the domains declare, by the keys of the contract. */
import { type Collected, collect } from '../core/pipeline/collect.ts'
import type { Drivers } from '../drivers/drivers.ts'
import { domains } from './index.ts'

export const collectDomains = (): Collected<Drivers> =>
  collect(
    Object.entries(domains).flatMap(([prefix, kinds]) =>
      Object.values(kinds).map((domain) => [prefix, domain] as const),
    ),
  )
