/**
 * Interfaces that the domains implement for core, which knows no identity system and no kind. `instance.ts` connects
 * them.
 */

import type { Operation, Resource } from '@hyperplane/contract'
import type { RoleName } from '@hyperplane/contract/roles'
import type { TypedFilter } from '../odata/index.ts'
import type { Store, Transaction } from '../store/store.ts'
import type { Caller } from './caller.ts'

export interface Credentials {
  readonly authorization?: string | undefined
  readonly apiKey?: string | undefined
  /** Used only if neither of the others was sent. */
  readonly certificate?: ClientCertificate | undefined
  readonly address: string
  /** The namespace accepts only Basic. */
  readonly basicOnly: boolean
}

/** The certificate that a client presented in the TLS handshake. Not verified yet. */
export interface ClientCertificate {
  /** DER. */
  readonly raw: Uint8Array
  /** Further certificates of the handshake, DER. Empty on a resumed connection. */
  readonly presented: readonly Uint8Array[]
}

export interface Authenticator {
  /** @throws ApiError 401, or 429 after too many failures from one address */
  authenticate(credentials: Credentials): Promise<Caller>
  /** Drops cached results for this identity, because its password, state or key changed. */
  forget(identity: string): void
  /** Drops cached results of this provider, because it or one of its groups changed. */
  forgetProvider(extId: string): void
  /** Counts a wrong password inside a request like a failed sign-in. Without a name, no account is locked. */
  countFailure(name: string | undefined, address: string): void
  /** True if failed attempts have locked this name for this address; even the right password is refused. */
  isLocked(name: string, address: string): boolean
  /** Ends the locks of this name, because an administrator reset its password. */
  unlock(name: string): void
}

export interface ClientCertificates {
  /** Drops cached verifications, because certificate providers or their revocation lists changed. */
  changed(): void
}

export interface ServiceIdentity {
  /** PEM; the key pair is generated on first use. */
  certificate(): Promise<string>
}

/** The entities that a permission covers: all, or those that match the filter. */
export type Scope = 'all' | TypedFilter

/** A scope, synchronous when cached: nearly every request repeats an earlier decision. Undefined: nothing. */
export type ScopeDecision = Scope | undefined | Promise<Scope | undefined>

export interface AccessControl {
  /**
   * The entities that the caller may use this operation on; undefined: none.
   * @throws ApiError 403 when the identity must change its password first
   */
  scope(caller: Caller, operation: Operation): ScopeDecision
  /** The entities of this kind that the caller may see; undefined: none. */
  viewScope(caller: Caller, resource: Resource): ScopeDecision
  isView(operation: Operation, resource: Resource): boolean
  /**
   * How an identity without a view permission for this kind still reaches an entity in a path: by a system role that
   * holds the operation (`by role`); by policies that show only what lies below such entities (`by content`); or not at
   * all (undefined).
   */
  reachOfUnseen(caller: Caller, operation: Operation, resource: Resource): Promise<'by role' | 'by content' | undefined>
  /** The entities of this kind that a body of this operation may refer to. */
  referScope(caller: Caller, operation: Operation, resource: Resource): Promise<Scope | undefined>
  /**
   * The reason why the caller may or may not use the operation on this entity, for the audit: the policy and the role
   * that allow it, or what is missing. Without an entity: for all entities.
   */
  explain(caller: Caller, operation: Operation, entity?: unknown): string | Promise<string>
  /**
   * Whether the caller holds one of these roles without restriction; for rules that name roles rather than a
   * permission.
   */
  hasRole(caller: Caller, roles: readonly RoleName[]): Promise<boolean>
  /** The kind that `scope` applies to: the operation's own, or, for parts of an entity, that of the entity. */
  scopedKind(operation: Operation): string | undefined
  /** Drops cached decisions, because policies or roles changed. */
  changed(): void
}

/** Converts the names of the naming profiles to canonical names. Implemented by `http/profiles`. */
export interface CanonicalNames {
  /** A path below /api, of either profile. */
  path(path: string): string
  /** The plain UUID of a task id in this profile; undefined: not a task id in this profile. */
  taskId(profile: 'spec' | 'public', text: string): string | undefined
  /** The name of a type (`$objectType`), of either profile. */
  type(name: string): string
  /** A text that is compared with a field of one of these vocabularies. */
  text(vocabulary: 'rel' | 'href' | 'systemName' | 'clientName' | 'objectType', text: string): string
}

export interface Kinds {
  resource(kind: string): Resource | undefined
  /** The list operation of a kind, whose options an expanded entity obeys. */
  listOf(kind: string): Operation | undefined
  /** The IAM operation that lets an identity see entities of this kind. */
  viewOperationOf(kind: string): string
}

/** A part of a snapshot, sealed; the fields are those of a backup's manifest. */
export interface SnapshotPart {
  readonly name: string
  readonly section: 'manager' | 'world'
  readonly sizeBytes: number
  readonly sha256: string
  readonly rows: Readonly<Record<string, number>>
  readonly content: Uint8Array
}

/** Makes and checks snapshots of the whole store, on another thread than the requests. */
export interface Snapshots {
  /** The key that wraps the key of each backup. */
  readonly backupKey: Buffer
  /**
   * The state at the first iteration, sealed with `dataKey`. Each part is made while the previous one is consumed.
   * Leaving the loop, or aborting `signal`, ends the work.
   */
  take(restorePointExtId: string, dataKey: Buffer, signal?: AbortSignal): AsyncIterable<SnapshotPart>
  /**
   * Decrypts the parts and compares them with `manifest`.
   * @throws the same faults as reading the backup in this thread
   */
  check(manifest: unknown, parts: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<void>
  /**
   * Restores the parts into a temporary store and checks rows, unique values, references and secrets. @throws as
   * `check`
   */
  rehearse(manifest: unknown, parts: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<void>
}

/** A second store, restored from a backup, and the switch to it. There is at most one. */
export interface Restores {
  /** Free space on the disk that would hold it. */
  freeBytes(): Promise<number>
  /**
   * Creates the store from these parts, and discards an earlier one.
   * @throws the same faults as reading the backup in this thread
   */
  load(manifest: unknown, parts: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<void>
  /** Checks its consistency, and that some user with all permissions can sign in. @throws as `load` */
  check(signal?: AbortSignal): Promise<void>
  within<T>(work: (second: Store) => Promise<T>): Promise<T>
  drop(): void
  /**
   * Switches to the second store. From now on all requests except reads of these tasks are refused. `last` runs when
   * the running requests have ended; an error of it cancels the switch. Otherwise the promise never resolves: the
   * caller belongs to the old store, and `stopping` ends it.
   */
  exchange(taskExtIds: readonly string[], stopping: AbortSignal, last: () => Promise<void>): Promise<never>
}

/** The task runner, as operations see it. */
export interface Tasks {
  size(): number
  /** How many tasks wait for or hold this entity. */
  queueLength(entityExtId: string): number
  /** How many of those have not written their result yet. A transaction sees the results of the others. */
  queueAhead(entityExtId: string): number
  /**
   * Asks a task to cancel: it notices at its next step, or at once when it has not begun. Call inside the transaction that
   * checked that it may be cancelled.
   */
  requestCancel(transaction: Transaction, extId: string, afterCommit: (work: () => void) => void): Promise<void>
}
