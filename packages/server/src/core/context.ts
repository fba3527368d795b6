/** What handlers and task steps receive. Time, ids, the store and the outside world are handed in, never reached for. */
import type { Operation } from '@hyperplane/contract'
import type { Field, Selection, TypedFilter, TypedOrderby } from '../odata/index.ts'
import type { Reader, Row, Transaction } from '../store/store.ts'
import type { AddressGuard } from './address-guard.ts'
import type { AttendingClock } from './clock.ts'
import type { EntityTags } from './etag.ts'
import type { Passwords } from './passwords.ts'
import type { Dispatch } from './pipeline/request.ts'
import type {
  AccessControl,
  Authenticator,
  CanonicalNames,
  ClientCertificates,
  Kinds,
  Restores,
  ServiceIdentity,
  Snapshots,
} from './ports.ts'
import type { Tier } from './rate-limit.ts'
import type { Router } from './router.ts'
import type { StartTask } from './tasks/define-task.ts'
import type { TaskRunner } from './tasks/runner.ts'

/** The identity that a request acts for. */
export interface Caller {
  readonly extId: string
  readonly name: string
  readonly type: 'LOCAL' | 'LDAP' | 'SAML' | 'SERVICE_ACCOUNT' | 'SYSTEM'
  /** Ids of the user groups that it belongs to. */
  readonly groups: readonly string[]
  readonly credential: 'basic' | 'apiKey' | 'certificate' | 'none'
  readonly credentialId?: string
  /** Source address of the request. */
  readonly address?: string
  readonly tenantId: string
  /** The password works only for changing it. */
  readonly mustChangePassword?: boolean
}

/** The system's own work: schedules, retention, drift checks. Source: platform.md 2. */
export const systemCaller = (tenantId: string): Caller => ({
  extId: '00000000-0000-0000-0000-000000000000',
  name: 'system',
  type: 'SYSTEM',
  groups: [],
  credential: 'none',
  tenantId,
})

/** Random things. Handed in, so that a seeded world is the same every time. */
export interface Ids {
  /** A UUID v4, lower case. */
  uuid(): string
  /** Uniform in [0, 1). */
  random(): number
  /** Cryptographically strong, never seeded. */
  secretBytes(length: number): Buffer
  /** Those for one thing: they do not depend on what is drawn beside it. */
  of(what: string): Ids
}

/** What every operation of one world shares. `D`: the drivers of the outside world, fixed in `domains/context.ts`. */
export interface World<D> {
  readonly tenantId: string
  readonly clock: AttendingClock
  readonly ids: Ids
  readonly drivers: D
  readonly secrets: SecretReader
  readonly services: Services
}

/** The machinery itself, for the few kinds that are part of it (tasks, batches, domain managers). */
export interface Services {
  readonly dispatch: Dispatch
  readonly router: Router
  readonly names: CanonicalNames
  readonly runner: TaskRunner<any>
  readonly tags: EntityTags
  readonly access: AccessControl
  readonly authenticator: Authenticator
  readonly clientCertificates: ClientCertificates
  readonly passwords: Passwords
  readonly identity: ServiceIdentity
  /** Origin under which clients reach this service, as far as it is known: configured, else that of the port. */
  publicUrl(): string
  /** Judges every host that a client names before it is called. */
  readonly addressGuard: AddressGuard
  /** Of hosts that are registered. */
  readonly registrationGuard: AddressGuard
  readonly snapshots: Snapshots
  readonly restores: Restores
  /** Size of this manager: the tier of the rate limits. */
  readonly tier: Tier
  readonly version: string
  /** Folder for files of the world (backup places, image content). */
  readonly dataFolder: string
  /** Limits that this app was started with, by name; see `domains/limits.ts` for what holds otherwise. */
  readonly limits: Readonly<Record<string, number>>
}

/** Opens what the store sealed. */
export interface SecretReader {
  /** `value` as it stands in the document; undefined when there is none. */
  open(kind: string, extId: string, path: string, value: unknown): string | undefined
}

export interface RequestInput {
  readonly path: Readonly<Record<string, string>>
  readonly query: QueryOptions
  readonly body: any
  readonly headers: {
    readonly ifMatch?: string
    readonly requestId?: string
    readonly clusterId?: string
    readonly lastEventId?: string
  }
  /** Where parts of its form lie that are kept in files, by name. Whoever moves one away has it. */
  readonly files?: Readonly<Record<string, string>>
  /** What the operation's `prepare` answered. */
  readonly prepared?: unknown
}

/** Query options after validation, parsed. */
export interface QueryOptions {
  readonly page: number
  readonly limit: number
  readonly filter?: TypedFilter
  readonly orderby?: readonly TypedOrderby[]
  readonly select?: Selection
  readonly expand: readonly ExpandOption[]
  /** `$apply=groupby(…)`: the fields whose distinct combinations are answered. */
  readonly groupby?: readonly Field[]
  readonly dryRun: boolean
  /** Further parameters that the operation declares. */
  readonly parameters: Readonly<Record<string, any>>
}

export interface ExpandOption {
  readonly name: string
  readonly filter?: TypedFilter
  readonly orderby?: readonly TypedOrderby[]
  readonly select?: Selection
}

export interface ReadContext<D = unknown, T = any> extends World<D> {
  readonly operation: Operation
  readonly caller: Caller
  readonly store: Reader
  readonly kinds: Kinds
  /** The entity that the path names; the pipeline found it, and checked that the caller may see and use it. */
  readonly target: T
  readonly row: Row<T> | undefined
  /** Entities that the other path parameters name, by parameter. */
  readonly parents: Readonly<Record<string, any>>
  /** API version of the request, `v4.2`. */
  readonly version: string
  /** Rows of this kind that the caller may see; undefined: all. */
  scopeOf(kind: string): Promise<TypedFilter | 'none' | undefined>
  /** Unknown fields and options of the request: refused, or ignored with a warning. */
  readonly unknown: 'refuse' | 'ignore'
  /** Says something to the caller beside a success (`metadata.messages`). */
  warn(message: string): void
  /** Notes a use (`lastUsedTime`): written in a transaction of its own that the answer does not wait for. */
  noteUse(write: (transaction: Transaction) => Promise<void>): void
}

export interface WriteContext<D = unknown, T = any> extends ReadContext<D, T> {
  readonly store: Transaction
  readonly dryRun: boolean
  readonly startTask: StartTask
  /** Runs after the transaction committed: invalidations, wake-ups. */
  afterCommit(work: () => void): void
}
