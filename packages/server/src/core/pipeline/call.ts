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
  readonly scope: Scope
  readonly version: string
  readonly warnings: string[]
  readonly input: RequestInput & { readonly rawBody: unknown }
  readonly ids: Ids
  /** Handler and presenters that called `followsStore`. */
  readonly parts: { followStore: number }
}

export interface Targets {
  readonly row: Row<AnyEntity> | undefined
  readonly parents: Readonly<Record<string, AnyEntity>>
  /** The innermost path entity with a tag of its own, for If-Match. */
  readonly named: { readonly kind: Resource; readonly entity: AnyEntity; readonly version: number } | undefined
  /** The target, or the entity that contains it. */
  readonly judged: unknown
}

/** All rows, if the scope applies to their parent. */
export const rowScope = (access: AccessControl, { operation, scope }: Call): Scope =>
  access.scopedKind(operation) === operation.resource?.kind ? scope : 'all'

export const valueAt = (value: unknown, path: string): unknown =>
  path.split('/').reduce((at, name) => (at as Document | undefined)?.[name], value)

export const extIdOf = (result: unknown): string | undefined => (result as Partial<AnyEntity> | undefined)?.extId
