/** A request as the later steps see it: who asks for what, in valid input. */
import type { Operation } from '@hyperplane/contract'
import type { Caller, Ids, RequestInput } from '../context.ts'
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

/** What of the operation's own rows the scope reaches: all parts of an entity that it reaches. */
export const rowScope = (access: AccessControl, { operation, scope }: Call): Scope =>
  access.scopedKind(operation) === operation.resource?.kind ? scope : 'all'

/** The value at a path that crosses no collection. */
export const valueAt = (value: any, path: string): unknown => path.split('/').reduce((at, name) => at?.[name], value)
