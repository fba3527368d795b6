/** What an instance is opened with. */
import type { pino } from 'pino'
import type { Config } from '../config/config.ts'
import type { Clock, ClockState, WorldClock } from '../core/clock.ts'
import type { Faults } from '../core/faults.ts'
import type { HashCost, Passwords } from '../core/passwords.ts'
import type { Restores } from '../core/ports.ts'
import type { RunnerOptions } from '../core/tasks/runner.ts'
import type { CallRecorder } from '../core/trace.ts'
import type { Disk } from '../data-folder/disk.ts'
import type { DataFolder } from '../data-folder/folder.ts'
import type { LimitName } from '../domains/limits.ts'
import type { Drivers } from '../drivers/drivers.ts'
import type { SimulatedWorld } from '../drivers/simulated/world.ts'
import type { QueryTime } from '../store/sqlite/sqlite-store.ts'
import type { Store } from '../store/store.ts'
import type { Shared } from './process-wide.ts'

/** What only tests set. */
export interface AppOptions {
  /** false: commits do not wait for the disk. */
  readonly durable?: boolean
  /** Of the copies of worlds. */
  readonly disk?: Disk
  readonly queryTime?: QueryTime
  readonly realClock?: Clock
  readonly beforeStep?: RunnerOptions<Drivers>['beforeStep']
  readonly logLevel?: string
  /** Hears what somebody at a terminal wants to know as it happens. */
  readonly tell?: (line: string) => void
  /** Called in a quiet moment after worlds were removed: their memory is garbage now. */
  readonly worldsGone?: () => void
  /** World time at the start, in milliseconds since 1970. */
  readonly startAt?: number
  /** Of passwords, instead of what is safe. */
  readonly hashCost?: HashCost
  /** Instead of those of `hashCost`: a test decides when a hash is ready. */
  readonly passwords?: Passwords
  /** Version that it says to have. */
  readonly version?: string
  /** Lower than what holds otherwise. */
  readonly limits?: { readonly [N in LimitName | 'worlds']?: number }
}

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
