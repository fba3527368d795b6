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
import type { World } from './world.ts'

export interface ListResult<T> {
  readonly entities: readonly T[]
  readonly total: number
  readonly truncated?: boolean
  readonly page?: number
}

export interface TaskStarted {
  readonly extId: string
  /** The caller's scope is checked against this entity, if its row exists already. */
  readonly created?: string
}

type Body<O> = O extends Declared<infer B> ? B : never
type Answer<O> = O extends Declared<unknown, infer A> ? A : never
type Verb<O> = O extends Declared<unknown, unknown, infer V> ? V : never
type Target<O> = O extends Declared<unknown, unknown, Operation['verb'], infer T> ? T : never
type PathOf<O> = O extends { readonly path: infer P } ? P : never
type ParentParameters<O> = [Target<O>] extends [undefined]
  ? ParametersOf<PathOf<O>>
  : Exclude<ParametersOf<PathOf<O>>, LastParameterOf<PathOf<O>>>
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

/** Slow work without a lock (password hashing), after the checks of a request; the handler repeats checks of stored state. */
export type Prepare<D, O> = (ctx: ReadContext<D, undefined, never>, request: Request<O>) => Promise<unknown>

export type RuleContext = Pick<ReadContext, 'caller' | 'clock' | 'operation' | 'version'>

/** Checks fields against each other, without stored state, before references are looked up; all faults (400). */
export type Rule<O> = (request: Request<O>, ctx: RuleContext) => readonly ApiError[]

export type Rules<S extends OperationSet> = { readonly [K in keyof S]?: Rule<S[K]> }

export type Prepares<D, S extends OperationSet> = { readonly [K in keyof S]?: Prepare<D, S[K]> }

export type Handlers<D, S extends OperationSet> = {
  [K in keyof S as Verb<S[K]> extends 'list' | 'get' ? never : K]: Handler<D, S[K]>
} & { [K in keyof S as Verb<S[K]> extends 'list' | 'get' ? K : never]?: Handler<D, S[K]> }

/** Adds derived values (counts, usage, links) on each page and each single read. */
export type Presenter<D, E = unknown> = (
  ctx: ReadContext<D>,
  entities: readonly E[],
  options: { readonly single: boolean; readonly expand: ReadonlySet<string> },
) => Promise<readonly object[]>

/** Finds an entity of a stored kind that is derived from others and has no row. */
export type Computed<D> = (
  ctx: World<D> & Pick<ReadContext<D>, 'store' | 'parents'>,
  extId: string,
) => Promise<{ readonly extId: string } | undefined>

type Presented<D, R> = readonly [kind: R, present: Presenter<D, EntityOf<R>>]

// `any`: a table holds handlers of many operations; the pipeline checks their inputs against the contract.
export type AnyHandler = (ctx: any, request: any) => Promise<unknown>
export type AnyRule = (request: any, ctx: RuleContext) => readonly ApiError[]
export type AnyPrepare = (ctx: any, request: any) => Promise<unknown>
type AnyPresenter<D> = Presenter<D, any>

export interface Domain<D> {
  readonly handlers: Readonly<Record<string, AnyHandler>>
  readonly rules: Readonly<Record<string, AnyRule>>
  readonly prepares: Readonly<Record<string, AnyPrepare>>
  readonly tasks: readonly AnyTask<D>[]
  readonly presenters: readonly (readonly [kind: AnyResource, present: AnyPresenter<D>])[]
  readonly computed: readonly (readonly [kind: AnyResource, find: Computed<D>])[]
  readonly schedules: readonly Schedule<D>[]
}

export interface DomainParts<D, S extends OperationSet = OperationSet, K extends readonly AnyResource[] = []> {
  readonly rules?: Rules<S>
  readonly prepare?: Prepares<D, S>
  readonly tasks?: readonly AnyTask<D>[]
  readonly present?: { readonly [Index in keyof K]: Presented<D, K[Index]> }
  readonly computed?: readonly (readonly [kind: AnyResource, find: Computed<D>])[]
  readonly schedules?: readonly Schedule<D>[]
}
