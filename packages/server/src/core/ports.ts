/** What the machinery needs of the domains, as interfaces: core knows no identity system and no kind. `app.ts` joins them. */
import type { Operation, Resource } from '@hyperplane/contract'
import type { RoleName } from '@hyperplane/contract/roles'
import type { TypedFilter } from '../odata/index.ts'
import type { Caller } from './context.ts'

export interface Credentials {
  /** Value of the Authorization header. */
  readonly authorization?: string
  /** Value of the API key header. */
  readonly apiKey?: string
  /** Source address. */
  readonly address: string
  /** The namespace takes Basic only. */
  readonly basicOnly: boolean
}

export interface Authenticator {
  /** @throws ApiError 401, or 429 after too many failures from one address */
  authenticate(credentials: Credentials): Promise<Caller>
  /** A password, a state or a key of this identity changed: what is remembered of its credentials is dropped at once. */
  forget(identity: string): void
  /** A wrong password inside a request counts like one at its door. */
  countFailure(name: string, address: string): void
  /** An administrator reset the password of this name: its locks, whose rows were removed, end. */
  unlock(name: string): void
}

/** Which entities of the operation's kind a permission reaches. */
export type Scope = 'all' | TypedFilter

export interface AccessControl {
  /**
   * What the caller may use this operation on; undefined: on nothing.
   * @throws ApiError 403 when the identity must first do something else (change its password)
   */
  scope(caller: Caller, operation: Operation): Promise<Scope | undefined>
  /** What of this kind the caller may see; undefined: nothing. */
  viewScope(caller: Caller, resource: Resource): Promise<Scope | undefined>
  /** What of this kind a body may refer to, in this operation. */
  referScope(caller: Caller, operation: Operation, resource: Resource): Promise<Scope | undefined>
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
  text(vocabulary: 'rel' | 'href' | 'systemName' | 'objectType', text: string): string
}

/** Kinds by name, and which operation reads one. */
export interface Kinds {
  resource(kind: string): Resource | undefined
  /** The list operation of a kind, whose options an expanded entity obeys. */
  listOf(kind: string): Operation | undefined
  /** The IAM operation that lets an identity see entities of this kind. */
  viewOperationOf(kind: string): string
}
