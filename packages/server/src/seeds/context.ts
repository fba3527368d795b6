/** Ids are derived from names, so that each seed can refer to entities of any other. */

import type { Ids } from '../core/caller.ts'
import type { Kinds } from '../core/ports.ts'
import type { TrackingClock } from '../core/time/clock.ts'
import type { SecretReader, Services } from '../core/world.ts'
import type { Drivers } from '../drivers/drivers.ts'
import type { SimulatedWorld } from '../drivers/simulated/world.ts'
import type { Transaction } from '../store/store.ts'
import type { Table } from '../store/tables.ts'
import type { SeedPlaces } from './demo/places.ts'

export interface SeedContext {
  readonly store: Transaction
  /** The simulated infrastructure, written in the same transaction. */
  readonly world: SimulatedWorld
  readonly drivers: Drivers
  readonly folder: string
  readonly clock: TrackingClock
  readonly ids: Ids
  readonly tenantId: string
  /** See `managerIdOf` in instance/identity.ts. */
  readonly managerExtId: string
  readonly adminId: string
  readonly adminPasswordHash: string
  readonly ago: (seconds: number) => string
  readonly tier: 'xsmall' | 'small' | 'large' | 'xlarge'
  readonly version: string
  readonly backup: SeedBackup
  /** Hosts for VMs that are on. */
  readonly places: SeedPlaces
  /** In [0, 1), for a purpose, derived from the world's random seed. */
  readonly draws: (what: string) => () => number
  /** The name in this world of an image or VM of the demo. */
  readonly nameOf: (name: string) => string
  readonly machinery: SeedMachinery
}

export interface SeedMachinery {
  readonly services: Services
  readonly secrets: SecretReader
  readonly kinds: Kinds
}

export interface SeedBackup {
  readonly key: Buffer
  readonly tables: ReadonlyMap<string, Table>
  readonly open: (sealed: string, about: string) => string
}
