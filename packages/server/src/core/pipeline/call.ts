/** A request as the later steps see it: who asks for what, in valid input. */

import type { Operation, Resource } from '@hyperplane/contract'
import type { Row } from '../../store/store.ts'
import type { Caller, Ids } from '../caller.ts'
import type { RequestInput } from '../input/request-input.ts'
import type { AccessControl, Scope } from '../ports.ts'
import type { ApiRequest } from './request.ts'

export interface Call {
  readonly request: ApiRequest
  readonly operation: Operation
  readonly caller: Caller
  /** What the caller may use the operation on. */
  readonly scope: Scope
  /** API version that answers. */
  readonly version: string
  /** Said beside a success; steps add to it. */
  readonly warnings: string[]
  readonly input: RequestInput & { readonly rawBody: unknown }
  /** What is drawn for this call. */
  readonly ids: Ids
}

/** The entities that the path of a request names. */
export interface Targets {
  /** The entity that the operation is about. */
  readonly row: Row<any> | undefined
  /** The entities that it stands under, by path parameter. */
  readonly parents: Readonly<Record<string, any>>
  /** The innermost entity that the path names and whose tag is its own: what If-Match speaks of. */
  readonly named: { readonly kind: Resource; readonly entity: any; readonly version: number } | undefined
  /** The entity that the permission was asked about: the target, or what the target is a part of. */
  readonly judged: unknown
}

/** What of the operation's own rows the scope reaches: all parts of an entity that it reaches. */
export const rowScope = (access: AccessControl, { operation, scope }: Call): Scope =>
  access.scopedKind(operation) === operation.resource?.kind ? scope : 'all'

/** The value at a path that crosses no collection. */
export const valueAt = (value: any, path: string): unknown => path.split('/').reduce((at, name) => at?.[name], value)
