import type { HashCost, Passwords } from '../core/access/passwords.ts'
import type { RunnerOptions } from '../core/tasks/runner.ts'
import type { Clock } from '../core/time/clock.ts'
import type { Disk } from '../data-folder/disk.ts'
import type { LimitName } from '../domains/limits.ts'
import type { Drivers } from '../drivers/drivers.ts'
import type { QueryTime } from '../store/sqlite/sqlite-store.ts'

/** Options that only tests and embedding set. */
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
