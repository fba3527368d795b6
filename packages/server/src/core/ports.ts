/** What the machinery needs of the domains, as interfaces: core knows no identity system and no kind. `app.ts` joins them. */
import type { Operation, Resource } from '@hyperplane/contract'
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
}

/** Kinds by name, and which operation reads one. */
export interface Kinds {
  resource(kind: string): Resource | undefined
  /** The list operation of a kind, whose options an expanded entity obeys. */
  listOf(kind: string): Operation | undefined
  /** The IAM operation that lets an identity see entities of this kind. */
  viewOperationOf(kind: string): string
}
