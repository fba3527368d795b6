/** How a domain implements its operations. Standard reads are generic; every mutation has a handler. */

import type {
  AnyResource,
  Declared,
  EntityOf,
  LastParameterOf,
  Operation,
  OperationSet,
  ParametersOf,
} from '@hyperplane/contract'
import type { ApiError } from './api-error.ts'
import type { ReadContext, WriteContext } from './context.ts'
import type { RequestInput } from './input/request-input.ts'
import type { RawAnswer } from './reply.ts'
import type { AnyTask } from './tasks/define-task.ts'
import type { Schedule } from './time/schedules.ts'
import type { TwoPhaseEffect } from './two-phase-effect.ts'

export interface ListResult<T> {
  readonly entities: readonly T[]
  readonly total: number
  readonly truncated?: boolean
  /** The number of this page, if it differs from the requested one. */
  readonly page?: number
}

export interface TaskStarted {
  readonly extId: string
  /** The entity that the task creates, if its row exists already: the caller's scope is checked against it. */
  readonly created?: string
}

type Body<O> = O extends Declared<infer B> ? B : never
type Answer<O> = O extends Declared<unknown, infer A> ? A : never
type Verb<O> = O extends Declared<unknown, unknown, infer V> ? V : never
type Target<O> = O extends Declared<unknown, unknown, Operation['verb'], infer T> ? T : never
type PathOf<O> = O extends { readonly path: infer P } ? P : never
/** Parameters of the path beside the one that names the target. */
type ParentParameters<O> = [Target<O>] extends [undefined]
  ? ParametersOf<PathOf<O>>
  : Exclude<ParametersOf<PathOf<O>>, LastParameterOf<PathOf<O>>>
/** The input of a request, with the types of its body and path. */
export type Request<O> = Omit<RequestInput, 'body' | 'path'> & {
  readonly body: Body<O>
  readonly path: { readonly [Name in ParametersOf<PathOf<O>>]: string }
}

type HandlerResult<O> =
  Verb<O> extends 'list'
    ? ListResult<Answer<O> extends (infer T)[] ? T : never>
    : O extends { runs: 'sync' }
      ? Answer<O>
      : Verb<O> extends 'get' | 'read'
        ? Answer<O> | RawAnswer | (Answer<O> extends readonly (infer T)[] ? ListResult<T> : never)
        : TaskStarted

type Reads = 'list' | 'get' | 'read'

export type Handler<D, O> = (
  ctx: Verb<O> extends Reads
    ? ReadContext<D, Target<O>, ParentParameters<O>>
    : WriteContext<D, Target<O>, ParentParameters<O>>,
  request: Request<O>,
) => Promise<HandlerResult<O> | (Verb<O> extends Reads ? never : TwoPhaseEffect<HandlerResult<O>>)>

/**
 * Slow work that needs no lock, such as hashing a password. Runs before the transaction. The handler finds the result
 * in `request.prepared`, and checks again what may have changed since.
 */
export type Prepare<D, O> = (ctx: ReadContext<D, undefined, never>, request: Request<O>) => Promise<unknown>

/** A rule may use these besides the request, but nothing that is stored. */
export type RuleContext = Pick<ReadContext, 'caller' | 'clock' | 'operation' | 'version'>

/**
 * Checks the fields of a valid request against each other, independent of stored state, and returns every fault (400).
 * Runs before ids in the body are looked up, so that handlers only check state.
 */
export type Rule<O> = (request: Request<O>, ctx: RuleContext) => readonly ApiError[]

export type Rules<S extends OperationSet> = { readonly [K in keyof S]?: Rule<S[K]> }

export type Prepares<D, S extends OperationSet> = { readonly [K in keyof S]?: Prepare<D, S[K]> }

export type Handlers<D, S extends OperationSet> = {
  [K in keyof S as Verb<S[K]> extends 'list' | 'get' ? never : K]: Handler<D, S[K]>
} & { [K in keyof S as Verb<S[K]> extends 'list' | 'get' ? K : never]?: Handler<D, S[K]> }

/**
 * Adds derived values to entities: counts, usage, links to attachments. Called for each page and each single read of
 * the kind.
 */
export type Presenter<D, E = unknown> = (
  ctx: ReadContext<D>,
  entities: readonly E[],
  options: { readonly single: boolean; readonly expand: ReadonlySet<string> },
) => Promise<readonly object[]>

/** A kind with what presents it. */
type Presented<D, R> = readonly [kind: R, present: Presenter<D, EntityOf<R>>]

// Handlers of many operations in one table. `any`: each takes the context and the input of its own operation, which the
// pipeline hands over after checking them against the contract.
export type AnyHandler = (ctx: any, request: any) => Promise<unknown>
export type AnyRule = (request: any, ctx: RuleContext) => readonly ApiError[]
export type AnyPrepare = (ctx: any, request: any) => Promise<unknown>
type AnyPresenter<D> = Presenter<D, any>

/** Everything that a domain file says about its kind; of many kinds in one list, so without the types of each. */
export interface Domain<D> {
  readonly handlers: Readonly<Record<string, AnyHandler>>
  readonly rules: Readonly<Record<string, AnyRule>>
  readonly prepares: Readonly<Record<string, AnyPrepare>>
  readonly tasks: readonly AnyTask<D>[]
  readonly presenters: readonly (readonly [kind: AnyResource, present: AnyPresenter<D>])[]
  readonly schedules: readonly Schedule<D>[]
}

/** @typeParam K the kinds that it presents */
export interface DomainParts<D, S extends OperationSet = OperationSet, K extends readonly AnyResource[] = []> {
  readonly rules?: Rules<S>
  readonly prepare?: Prepares<D, S>
  readonly tasks?: readonly AnyTask<D>[]
  readonly present?: { readonly [Index in keyof K]: Presented<D, K[Index]> }
  readonly schedules?: readonly Schedule<D>[]
}
