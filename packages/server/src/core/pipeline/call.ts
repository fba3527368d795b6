/** A request after authentication, authorization and validation, as the later steps see it. */

import type { Operation, Resource } from '@hyperplane/contract'
import type { Row } from '../../store/store.ts'
import type { Caller, Ids } from '../caller.ts'
import type { AnyEntity, Document } from '../document.ts'
import type { RequestInput } from '../input/request-input.ts'
import type { AccessControl, Scope } from '../ports.ts'
import type { ApiRequest } from './request.ts'

export interface Call {
  readonly request: ApiRequest
  readonly operation: Operation
  readonly caller: Caller
  /** The entities that the caller may use the operation on. */
  readonly scope: Scope
  /** API version that answers. */
  readonly version: string
  /** Warnings of a successful response; steps add to it. */
  readonly warnings: string[]
  readonly input: RequestInput & { readonly rawBody: unknown }
  readonly ids: Ids
}

/** The entities that the path of a request names. */
export interface Targets {
  readonly row: Row<AnyEntity> | undefined
  /** Its ancestors, by path parameter. */
  readonly parents: Readonly<Record<string, AnyEntity>>
  /** The innermost entity in the path that has its own tag: If-Match is compared with it. */
  readonly named: { readonly kind: Resource; readonly entity: AnyEntity; readonly version: number } | undefined
  /** The entity that the permission was checked for: the target, or the entity that the target is a part of. */
  readonly judged: unknown
}

/** The scope over the operation's own rows: all rows, if the scope applies to their parent. */
export const rowScope = (access: AccessControl, { operation, scope }: Call): Scope =>
  access.scopedKind(operation) === operation.resource?.kind ? scope : 'all'

/** The value at a path that crosses no collection. */
export const valueAt = (value: unknown, path: string): unknown =>
  path.split('/').reduce((at, name) => (at as Document | undefined)?.[name], value)

/** The id in the result of a handler, if it has one. */
export const extIdOf = (result: unknown): string | undefined => (result as Partial<AnyEntity> | undefined)?.extId
