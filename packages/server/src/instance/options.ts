/** What an instance is opened with. */

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
  /** Name of the world. */
  readonly name: string
  /** As for the process, but for what a world has of its own: its folder (`data`), seed, clock and switches. */
  readonly config: Config
  readonly options: AppOptions
  /** Of the process: where the keys lie. */
  readonly folder: DataFolder
  readonly shared: Shared
  readonly log: pino.Logger
  readonly localUrl: () => string
  readonly exchange: Restores['exchange']
  /** Of the calls of this world; undefined: nobody records them. */
  readonly recorder?: CallRecorder | undefined
  /** What goes wrong on purpose in this world; undefined: nobody may ask for that. */
  readonly faults?: ((world: Pick<SimulatedWorld, 'seed'> & { readonly clock: WorldClock }) => Faults) | undefined
  /** Of the instance before it: its time goes on. */
  readonly clockState?: ClockState
  /** Its store was closed by this process, or copied from one that was. */
  readonly isOwn?: boolean
  /** Of a new world whose `admin` keeps the password that another world has. */
  readonly adminPasswordHash?: string
  /** Once it is filled, before anything happens in it. */
  readonly whenNew?: (store: Store) => Promise<void>
}
