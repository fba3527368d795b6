/** Derived from the contract alone: created once for all worlds of a process. */

import { contract } from '@hyperplane/contract'
import packageJson from '../../package.json' with { type: 'json' }
import type { Config } from '../config/config.ts'
import { FailedSignIns } from '../core/access/failed-sign-ins.ts'
import { createPasswords, type Passwords } from '../core/access/passwords.ts'
import { type AnonymousLimit, createAnonymousLimit } from '../core/access/rate-limit.ts'
import { Semaphore } from '../core/concurrency/semaphore.ts'
import { createKinds } from '../core/kinds.ts'
import type { Kinds } from '../core/ports.ts'
import { createRouter, type Router } from '../core/router.ts'
import { realClock } from '../core/time/clock.ts'
import { collectDomains } from '../domains/collected.ts'
import { storeTables } from '../domains/tables.ts'
import type { Table } from '../store/tables.ts'
import type { AppOptions } from './app-options.ts'

export interface Shared {
  readonly kinds: Kinds
  readonly router: Router
  readonly domains: ReturnType<typeof collectDomains>
  readonly tables: ReadonlyMap<string, Table>
  readonly passwords: Passwords
  readonly anonymous: AnonymousLimit
  /** Counts over all worlds: an address that guesses passwords in one is refused in all. */
  readonly failedSignIns: FailedSignIns
  /** Limits threads that read seeds: each needs memory and a core. */
  readonly seedThreads: Semaphore
  readonly version: string
}

type SharedOptions = Pick<AppOptions, 'version' | 'hashCost' | 'passwords' | 'realClock'>

export const createShared = (
  config: Config,
  {
    version = packageJson.version,
    hashCost,
    realClock: real = realClock,
    passwords = createPasswords(hashCost),
  }: SharedOptions = {},
): Shared => ({
  kinds: createKinds(contract),
  router: createRouter(contract, { loose: config.versions === 'loose' }),
  domains: collectDomains(),
  tables: storeTables(),
  passwords,
  anonymous: createAnonymousLimit({ mode: config.rateLimits, now: () => real.now() }),
  failedSignIns: new FailedSignIns({ real, enabled: config.lockout === 'on' }),
  seedThreads: new Semaphore(2),
  version,
})
