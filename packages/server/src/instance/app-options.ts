import type { HashCost, Passwords } from '../core/access/passwords.ts'
import type { RunnerOptions } from '../core/tasks/runner.ts'
import type { Clock } from '../core/time/clock.ts'
import type { Disk } from '../data-folder/disk.ts'
import type { LimitName } from '../domains/collected.ts'
import type { Drivers } from '../drivers/drivers.ts'
import type { IdleThreads } from '../store/idle-threads.ts'
import type { QueryTime } from '../store/sqlite/sqlite-store.ts'

export interface AppOptions {
  /** false: commits do not wait for the disk. */
  readonly durable?: boolean
  readonly disk?: Disk
  readonly queryTime?: QueryTime
  readonly realClock?: Clock
  readonly beforeStep?: RunnerOptions<Drivers>['beforeStep']
  readonly logLevel?: string
  readonly tell?: (line: string) => void
  /** Called when the memory of removed worlds can be collected. */
  readonly worldsGone?: () => void
  readonly startAt?: number
  readonly hashCost?: HashCost
  /** For many apps in one process, one after another. */
  readonly idleJournalThreads?: IdleThreads
  /** A test decides when a hash is ready. */
  readonly passwords?: Passwords
  readonly version?: string
  readonly limits?: { readonly [N in LimitName | 'worlds']?: number }
}
