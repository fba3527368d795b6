/** What a new world holds. Ids follow from names, so that each kind's seed can refer to any other's. */

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
  /** Folder for the world's files. */
  readonly folder: string
  readonly clock: TrackingClock
  readonly ids: Ids
  readonly tenantId: string
  /** Id of this manager: see `managerIdOf` in drawn-from.ts. */
  readonly managerExtId: string
  /** Id of the user `admin`. */
  readonly adminId: string
  readonly adminPasswordHash: string
  /** ISO time that many seconds ago. */
  readonly ago: (seconds: number) => string
  /** Size of this manager. */
  readonly tier: 'xsmall' | 'small' | 'large' | 'xlarge'
  readonly version: string
  readonly backup: SeedBackup
  /** Hosts for VMs that are on. */
  readonly places: SeedPlaces
  /** Numbers in [0, 1) that follow from what the world is drawn from, and what they are for. */
  readonly draws: (what: string) => () => number
  /** What the world calls an image or a VM that the demo calls so. */
  readonly nameOf: (name: string) => string
  readonly machinery: SeedMachinery
}

/** What operations need that are carried out for the world while it is made. */
export interface SeedMachinery {
  readonly services: Services
  readonly secrets: SecretReader
  readonly kinds: Kinds
}

/** What writing the demo's restore points takes. */
export interface SeedBackup {
  readonly key: Buffer
  /** All kinds that are stored. */
  readonly tables: ReadonlyMap<string, Table>
  /** Opens what the store sealed. */
  readonly open: (sealed: string, about: string) => string
}
