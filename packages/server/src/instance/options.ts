import type { pino } from 'pino'
import type { Config } from '../config/config.ts'
import type { Faults } from '../core/faults.ts'
import type { Restores } from '../core/ports.ts'
import type { CallRecorder } from '../core/recording/recording.ts'
import type { ClockState, WorldClock } from '../core/time/clock.ts'
import type { DataFolder } from '../data-folder/folder.ts'
import type { SimulatedWorld } from '../drivers/simulated/world.ts'
import type { Store } from '../store/store.ts'
import type { AppOptions } from './app-options.ts'
import type { Shared } from './process-wide.ts'

export interface InstanceOptions {
  readonly name: string
  /** Configuration of the process with the world's own folder (`data`), seed, clock and switches. */
  readonly config: Config
  readonly options: AppOptions
  /** Data folder of the process, which contains the keys. */
  readonly folder: DataFolder
  readonly shared: Shared
  readonly log: pino.Logger
  readonly localUrl: () => string
  readonly exchange: Restores['exchange']
  /** Records the calls of this world; undefined: nothing is recorded. */
  readonly recorder?: CallRecorder | undefined
  /** Injected faults; undefined: fault injection is off. */
  readonly faults?: ((world: Pick<SimulatedWorld, 'seed'> & { readonly clock: WorldClock }) => Faults) | undefined
  /** Clock of the previous instance, whose time continues. */
  readonly clockState?: ClockState
  /** This process closed the store, or copied it from one that it has open: it needs no check for damage. */
  readonly isOwn?: boolean
  /** Password of `admin` in a new world; absent: it is configured or generated. */
  readonly adminPasswordHash?: string
  /** Called when a new store is filled, before tasks and schedules start. */
  readonly whenNew?: (store: Store) => Promise<void>
}
