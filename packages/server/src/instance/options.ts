import type { pino } from 'pino'
import type { Config } from '../config/config.ts'
import type { Faults } from '../core/faults.ts'
import type { Restores, ServiceTls } from '../core/ports.ts'
import type { CallRecorder } from '../core/recording/recording.ts'
import type { ClockState, WorldClock } from '../core/time/clock.ts'
import type { DataFolder } from '../data-folder/folder.ts'
import type { SimulatedWorld } from '../drivers/simulated/world.ts'
import type { Store } from '../store/store.ts'
import type { AppOptions } from './app-options.ts'
import type { Shared } from './process-wide.ts'

export interface InstanceOptions {
  readonly name: string
  readonly config: Config
  readonly options: AppOptions
  readonly folder: DataFolder
  readonly shared: Shared
  readonly log: pino.Logger
  readonly localUrl: () => string
  readonly serviceTls?: ServiceTls | undefined
  readonly exchange: Restores['exchange']
  readonly recorder?: CallRecorder | undefined
  readonly faults?: ((world: Pick<SimulatedWorld, 'seed'> & { readonly clock: WorldClock }) => Faults) | undefined
  readonly clockState?: ClockState
  /** Closed by this process, or a copy of an open store: not checked for damage. */
  readonly isOwn?: boolean
  /** Absent: the password is configured or generated. */
  readonly adminPasswordHash?: string
  /** Called before tasks and schedules start. */
  readonly whenNew?: (store: Store) => Promise<void>
}
