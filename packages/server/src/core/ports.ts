/** Interfaces that the domains implement for core, which knows no identity system and no kind. */

import type { Operation, Resource } from '@hyperplane/contract'
import type { RoleName } from '@hyperplane/contract/roles'
import type { TypedFilter } from '../odata/index.ts'
import type { Store, Transaction } from '../store/store.ts'
import type { Caller } from './caller.ts'

export interface Credentials {
  readonly authorization?: string | undefined
  readonly apiKey?: string | undefined
  readonly certificate?: ClientCertificate | undefined
  readonly address: string
  readonly basicOnly: boolean
}

/** The certificate is not verified yet. */
export interface ClientCertificate {
  readonly raw: Uint8Array
  /** Other certificates of the handshake, DER. Empty on a resumed connection. */
  readonly presented: readonly Uint8Array[]
}

export interface Authenticator {
  /** @throws ApiError 401, or 429 after too many failures from one address */
  authenticate(credentials: Credentials): Promise<Caller>
  /** The caller, if the credentials were verified a moment ago. undefined: `authenticate` decides. */
  known?(credentials: Credentials): Caller | undefined
  forget(identity: string): void
  /** Also called when a group of the provider changed. */
  forgetProvider(extId: string): void
  /** A wrong password in a request counts like a failed sign-in. Without a name, no account is locked. */
  countFailure(name: string | undefined, address: string): void
  /** While locked, even the right password is refused. */
  isLocked(name: string, address: string): boolean
  unlock(name: string): void
}

export interface ClientCertificates {
  changed(): void
}

export interface ServiceIdentity {
  /** PEM, generated on first use. */
  certificate(): Promise<string>
}

export interface ServiceTls {
  /** The operator chose the files; no request replaces them. */
  readonly isConfigured: boolean
  /** PEM, from a handshake: the certificate of a new connection, then its issuers. */
  shownCertificate(): Promise<string>
  /** For new connections; undefined: the certificate of the data folder. @throws Error when TLS refuses the pair */
  use(pair: { readonly cert: string; readonly key: string } | undefined): void
}

export type Scope = 'all' | TypedFilter

/** Synchronous when cached: nearly every request repeats an earlier decision. Undefined: nothing is in scope. */
export type ScopeDecision = Scope | undefined | Promise<Scope | undefined>

export interface AccessControl {
  /** @throws ApiError 403 when the identity must change its password first */
  scope(caller: Caller, operation: Operation): ScopeDecision
  viewScope(caller: Caller, resource: Resource): ScopeDecision
  isView(operation: Operation, resource: Resource): boolean
  /** Without view permission: by a system role with the operation, or by policies for entities below. Undefined: not at all. */
  reachOfUnseen(caller: Caller, operation: Operation, resource: Resource): Promise<'by role' | 'by content' | undefined>
  referScope(caller: Caller, operation: Operation, resource: Resource): Promise<Scope | undefined>
  /** For the audit: the deciding policy and role, or the missing permission. Without an entity: for all entities. */
  explain(caller: Caller, operation: Operation, entity?: unknown): string | Promise<string>
  /** Roles that are restricted to some entities do not count. */
  hasRole(caller: Caller, roles: readonly RoleName[]): Promise<boolean>
  /** The operation's own kind, or that of the entity whose part it is. */
  scopedKind(operation: Operation): string | undefined
  /** Rises with each change of policies and roles; undefined: another store holds them. */
  readonly changes: number | undefined
  changed(): void
}

export interface CanonicalNames {
  path(path: string): string
  taskId(profile: 'spec' | 'public', text: string): string | undefined
  type(name: string): string
  text(vocabulary: 'rel' | 'href' | 'systemName' | 'clientName' | 'objectType', text: string): string
}

export interface Kinds {
  resource(kind: string): Resource | undefined
  listOf(kind: string): Operation | undefined
  viewOperationOf(kind: string): string
}

/** Sealed; the fields are those of a backup's manifest. */
export interface SnapshotPart {
  readonly name: string
  readonly section: 'manager' | 'world'
  readonly sizeBytes: number
  readonly sha256: string
  readonly rows: Readonly<Record<string, number>>
  readonly content: Uint8Array
}

export interface Snapshots {
  readonly backupKey: Buffer
  /** The state at the first iteration, sealed with `dataKey`; ends when the loop is left or `signal` aborts. */
  take(restorePointExtId: string, dataKey: Buffer, signal?: AbortSignal): AsyncIterable<SnapshotPart>
  /** @throws the same faults as reading the backup in this thread */
  check(manifest: unknown, parts: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<void>
  /** Restores into a temporary store and checks rows, unique values, references and secrets. @throws as `check` */
  rehearse(manifest: unknown, parts: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<void>
}

export interface Restores {
  freeBytes(): Promise<number>
  /** Discards an earlier second store. @throws the same faults as reading the backup in this thread */
  load(manifest: unknown, parts: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<void>
  /** Checks consistency, and that a user with all permissions can sign in. @throws as `load` */
  check(signal?: AbortSignal): Promise<void>
  within<T>(work: (second: Store) => Promise<T>): Promise<T>
  drop(): void
  /**
   * Switches stores: only reads of these tasks are answered from now on. `last` runs after the running requests; its error cancels the
   * switch. Otherwise never resolves: `stopping` ends the caller, which belongs to the old store.
   */
  exchange(taskExtIds: readonly string[], stopping: AbortSignal, last: () => Promise<void>): Promise<never>
}

export interface Tasks {
  size(): number
  /** Counts tasks that wait for or hold the entity. */
  queueLength(entityExtId: string): number
  /** Without tasks whose result is written: a transaction sees that result. */
  queueAhead(entityExtId: string): number
  /** Takes effect at the task's next step. Call inside the transaction that checked that it may be cancelled. */
  requestCancel(transaction: Transaction, extId: string, afterCommit: (work: () => void) => void): Promise<void>
}
