import type { HashCost, Passwords } from '../core/access/passwords.ts'
import type { RunnerOptions } from '../core/tasks/runner.ts'
import type { Clock } from '../core/time/clock.ts'
import type { Disk } from '../data-folder/disk.ts'
import type { LimitName } from '../domains/collected.ts'
import type { Drivers } from '../drivers/drivers.ts'
import type { QueryTime } from '../store/sqlite/sqlite-store.ts'

/** Options that only tests and embedding set. */
export interface AppOptions {
  /** false: commits do not wait for the disk. */
  readonly durable?: boolean
  readonly disk?: Disk
  readonly queryTime?: QueryTime
  readonly realClock?: Clock
  readonly beforeStep?: RunnerOptions<Drivers>['beforeStep']
  readonly logLevel?: string
  /** Receives progress messages for a user at a terminal. */
  readonly tell?: (line: string) => void
  /** Called some time after worlds were removed, when their memory can be collected. */
  readonly worldsGone?: () => void
  /** World time at the start, in milliseconds since 1970. */
  readonly startAt?: number
  readonly hashCost?: HashCost
  /** Replaces the hashing of `hashCost`, so that a test decides when a hash is ready. */
  readonly passwords?: Passwords
  readonly version?: string
  readonly limits?: { readonly [N in LimitName | 'worlds']?: number }
}
