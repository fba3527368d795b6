/** What the machinery needs of the domains, as interfaces: core knows no identity system and no kind. `instance.ts` joins them. */

import type { Operation, Resource } from '@hyperplane/contract'
import type { RoleName } from '@hyperplane/contract/roles'
import type { TypedFilter } from '../odata/index.ts'
import type { Store, Transaction } from '../store/store.ts'
import type { Caller } from './caller.ts'

export interface Credentials {
  /** Value of the Authorization header. */
  readonly authorization?: string | undefined
  /** Value of the API key header. */
  readonly apiKey?: string | undefined
  /** Counts only where neither of the others was sent. */
  readonly certificate?: ClientCertificate | undefined
  /** Source address. */
  readonly address: string
  /** The namespace takes Basic only. */
  readonly basicOnly: boolean
}

/** What a client showed of itself when it connected. Nothing of it is judged yet. */
export interface ClientCertificate {
  /** DER. */
  readonly raw: Uint8Array
  /** What it sent beside its certificate, DER. A connection that was resumed brings none. */
  readonly presented: readonly Uint8Array[]
}

export interface Authenticator {
  /** @throws ApiError 401, or 429 after too many failures from one address */
  authenticate(credentials: Credentials): Promise<Caller>
  /** A password, a state or a key of this identity changed: what is remembered of its credentials is dropped at once. */
  forget(identity: string): void
  /** A directory or another provider, or a group of it, changed: what it said of anybody is forgotten. */
  forgetProvider(extId: string): void
  /** A wrong password inside a request counts like one at its door. Without a name it locks no account. */
  countFailure(name: string | undefined, address: string): void
  /** Failed attempts have locked this name for this address; a right password does not help. */
  isLocked(name: string, address: string): boolean
  /** An administrator reset the password of this name: its locks, whose rows were removed, end. */
  unlock(name: string): void
}

/** Certificates of clients as a credential, and which ones are asked for. */
export interface ClientCertificates {
  /** Certificate providers changed, or their revocation lists: what was judged by the former ones is forgotten. */
  changed(): void
}

/** How other services know this one. */
export interface ServiceIdentity {
  /** PEM; the key pair is made when it is first asked for. */
  certificate(): Promise<string>
}

/** Which entities of the operation's kind a permission reaches. */
export type Scope = 'all' | TypedFilter

/** What was decided before is there at once: nearly every request asks what another one asked. */
export type ScopeDecision = Scope | undefined | Promise<Scope | undefined>

export interface AccessControl {
  /**
   * What the caller may use this operation on; undefined: on nothing.
   * @throws ApiError 403 when the identity must first do something else (change its password)
   */
  scope(caller: Caller, operation: Operation): ScopeDecision
  /** What of this kind the caller may see; undefined: nothing. */
  viewScope(caller: Caller, resource: Resource): ScopeDecision
  /** The operation is one of those that show entities of this kind. */
  isView(operation: Operation, resource: Resource): boolean
  /**
   * How an identity that may see no entity of this kind still reaches one that a path names: it holds no permission to view
   * the kind, but a system role that holds the operation (`by role`); its policies show entities of the kind nowhere, only
   * what lies below them (`by content`); or not at all (undefined).
   */
  reachOfUnseen(caller: Caller, operation: Operation, resource: Resource): Promise<'by role' | 'by content' | undefined>
  /** What of this kind a body may refer to, in this operation. */
  referScope(caller: Caller, operation: Operation, resource: Resource): Promise<Scope | undefined>
  /**
   * Why the caller may, or may not, use the operation on this entity, for the audit: the policy and the role that allow it,
   * or what is missing. Without an entity: why on none, or on all.
   */
  explain(caller: Caller, operation: Operation, entity?: unknown): string | Promise<string>
  /** The caller holds one of these roles on everything: where a page's rule names roles rather than a permission. */
  hasRole(caller: Caller, roles: readonly RoleName[]): Promise<boolean>
  /** The kind whose rows `scope` judges: the operation's own, or, for parts of an entity, that of the entity. */
  scopedKind(operation: Operation): string | undefined
  /** Policies or roles changed: what was decided by the former ones is forgotten. */
  changed(): void
}

/** What the naming profiles spell differently -> the canonical names; `http/profiles` knows them. */
export interface CanonicalNames {
  /** A path below /api, of either profile. */
  path(path: string): string
  /** The id of a task as this profile writes it -> the plain UUID; undefined: the profile does not write it so. */
  taskId(profile: 'spec' | 'public', text: string): string | undefined
  /** A text that is compared with a field of one of these vocabularies. */
  text(vocabulary: 'rel' | 'href' | 'systemName' | 'clientName' | 'objectType', text: string): string
}

/** Kinds by name, and which operation reads one. */
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

/** Pictures of all that the store holds, made and checked beside the thread that answers requests. */
export interface Snapshots {
  /** The key that wraps the key of each backup. */
  readonly backupKey: Buffer
  /**
   * The state when the first part is asked for, sealed with `dataKey`; a part is made while the one before it is used.
   * Leaving the loop, or the abort of `signal`, ends the work.
   */
  take(restorePointExtId: string, dataKey: Buffer, signal?: AbortSignal): AsyncIterable<SnapshotPart>
  /**
   * Opens and counts these parts as `manifest` describes them.
   * @throws the same faults as reading the backup in this thread
   */
  check(manifest: unknown, parts: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<void>
  /** Restores them into a store that is thrown away: rows, unique values, references and secrets hold together. @throws as `check` */
  rehearse(manifest: unknown, parts: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<void>
}

/** A second store beside the present one, made from a backup, and the exchange of the two. There is one at a time. */
export interface Restores {
  /** What is free where it would be made. */
  freeBytes(): Promise<number>
  /**
   * Makes it anew from these parts, as `manifest` describes them.
   * @throws the same faults as reading the backup in this thread
   */
  load(manifest: unknown, parts: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<void>
  /** Everything in it holds together, and somebody can sign in who may do everything. @throws as `load` */
  check(signal?: AbortSignal): Promise<void>
  /** Reads and writes of it. */
  within<T>(work: (second: Store) => Promise<T>): Promise<T>
  drop(): void
  /**
   * Goes on with the second store in place of the present one. From now on requests are refused, but for reads of these
   * tasks. `last` runs when those under way have ended; what it throws ends the exchange. Does not return otherwise: the
   * caller belongs to the present store, and its end is told by `stopping`.
   */
  exchange(taskExtIds: readonly string[], stopping: AbortSignal, last: () => Promise<void>): Promise<never>
}

/** The task runner, as operations see it. */
export interface Tasks {
  /** How many tasks run or wait. */
  size(): number
  /** How many tasks wait for or hold this entity. */
  queueLength(entityExtId: string): number
  /** How many of those have yet to write what they do: a transaction sees what the others did. */
  queueAhead(entityExtId: string): number
  /**
   * Asks a task to cancel: it notices at its next step, or at once when it has not begun. Call inside the transaction that
   * checked that it may be cancelled.
   */
  requestCancel(transaction: Transaction, extId: string, afterCommit: (work: () => void) => void): Promise<void>
}
