/** Everything that the domains declare, by the keys of the contract. */
import type { AnyResource } from '@hyperplane/contract'
import { type Collected, collect } from '../core/pipeline/collect.ts'
import type { Drivers } from '../drivers/drivers.ts'
import type { Invariant } from './context.ts'
import { domains, type Namespaces } from './index.ts'
import type { Limit } from './limits.ts'

export const collectDomains = (): Collected<Drivers> =>
  collect(
    Object.entries(domains).flatMap(([prefix, kinds]) =>
      Object.values(kinds).map((domain) => [prefix, domain] as const),
    ),
  )

const kinds = Object.values(domains).flatMap((namespace) => Object.values(namespace))

type KindOf<N> = N extends unknown ? N[keyof N] : never
type NameOf<K> = K extends { readonly limits: readonly Limit<infer N>[] } ? N : never
export type LimitName = NameOf<KindOf<Namespaces[keyof Namespaces]>>

/** Every limit by name. An app may be started with lower ones. */
export const limits = Object.fromEntries(
  kinds.flatMap((kind) => kind.limits.map(({ name, maximum }) => [name, maximum])),
) as Readonly<Record<LimitName, number>>

export const collectInvariants = (): readonly Invariant[] => kinds.flatMap(({ invariants }) => invariants)

export const collectRecords = (): readonly AnyResource[] => [...new Set(kinds.flatMap(({ records }) => records))]
