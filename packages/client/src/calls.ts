import type {
  Declared,
  Flat,
  Operation,
  OperationSet,
  ParametersOf,
  TaskReference,
  ValueOf,
} from '@hyperplane/contract'

export interface ClientOptions {
  /** `https://host:9440` */
  readonly url: string
  readonly username?: string | undefined
  readonly password?: string | undefined
  readonly apiKey?: string | undefined
  /** Receives the calls; default: the world that the URL's port serves, usually `default`. */
  readonly world?: string | undefined
  /** Replaces the global fetch: own certificate authorities, proxies, tests. */
  readonly fetch?: ((url: string, init: FetchInit) => Promise<FetchAnswer>) | undefined
  /** Interval between two polls of a task; default 100 ms of real time. */
  readonly pollMilliseconds?: number | undefined
}

export interface FetchInit {
  readonly method: string
  readonly headers: Record<string, string>
  readonly body?: string
}
export interface FetchAnswer {
  readonly status: number
  readonly headers: { get(name: string): string | null }
  text(): Promise<string>
}

/** Query options of the specification, without the `$`. */
export interface CallOptions {
  readonly page?: number | undefined
  readonly limit?: number | undefined
  readonly filter?: string | undefined
  readonly orderby?: string | undefined
  readonly select?: string | undefined
  readonly expand?: string | undefined
  readonly apply?: string | undefined
  readonly dryrun?: boolean | undefined
  readonly query?: Readonly<Record<string, string | number>> | undefined
  readonly ifMatch?: string | undefined
  /** Idempotency key; default: a new one for every mutation. */
  readonly requestId?: string | undefined
  readonly clusterId?: string | undefined
  /** Served version, where a namespace has several. */
  readonly version?: string | undefined
}

type Parameter = string | number
/** For an operation chosen at run time, without static types. */
export interface AnyInput extends CallOptions {
  readonly path?: Readonly<Record<string, Parameter>> | undefined
  readonly body?: unknown
}

/** @typeParam Usual path parameters that have a default in the client */
type PathOf<P, Usual extends string> = {
  readonly [Name in Exclude<ParametersOf<P>, Usual>]: Parameter
} & { readonly [Name in ParametersOf<P> & Usual]?: Parameter | undefined }
/** Optional when none of its own members is required. */
type Part<Name extends string, T> =
  Record<never, never> extends T ? { readonly [N in Name]?: T | undefined } : { readonly [N in Name]: T }

export interface Answer<A> {
  readonly status: number
  readonly data: A
  readonly etag: string | undefined
  /** Over all pages. */
  readonly total: number | undefined
  readonly warnings: readonly string[]
  readonly headers: FetchAnswer['headers']
}

export class ApiRefusal extends Error {
  readonly status: number
  readonly errors: readonly {
    readonly code?: string
    readonly errorGroup?: string
    readonly message: string
    readonly attributePath?: string
  }[]
  readonly headers: FetchAnswer['headers']
  constructor(status: number, errors: ApiRefusal['errors'], operation: string, headers: FetchAnswer['headers']) {
    super(
      `${operation}: ${status} ${errors.map((error) => [error.code, error.attributePath, error.message].filter(Boolean).join(' ')).join('; ')}`,
    )
    this.status = status
    this.errors = errors
    this.headers = headers
  }
}

export type StartedTask = ValueOf<typeof TaskReference>

type AnswerTo<O> =
  O extends Declared<any, infer A, infer Verb, any>
    ? Verb extends 'list' | 'get' | 'read'
      ? A
      : O extends { readonly runs: 'sync' }
        ? A
        : StartedTask
    : never
type BodyPart<O> =
  O extends Declared<infer B, any, any, any>
    ? [B] extends [never]
      ? unknown
      : [B] extends [undefined]
        ? unknown
        : { readonly body: B }
    : never
type InputOf<O, Usual extends string> = O extends { readonly path: infer P }
  ? Flat<
      CallOptions & BodyPart<O> & ([ParametersOf<P>] extends [never] ? unknown : Part<'path', Flat<PathOf<P, Usual>>>)
    >
  : never
type MethodOf<O, Usual extends string, I = InputOf<O, Usual>> =
  Record<never, never> extends I
    ? (input?: I) => Promise<Answer<AnswerTo<O>>>
    : (input: I) => Promise<Answer<AnswerTo<O>>>
/** Operations of a group are below the group's name. */
export type Methods<S, Usual extends string = never> = {
  readonly [Id in keyof S]: S[Id] extends { readonly verb: string }
    ? MethodOf<S[Id], Usual>
    : S[Id] extends OperationSet
      ? Methods<S[Id], Usual>
      : never
}

/** Calls an operation by its key, `platform.createCategory`. `any`: the key decides the type of the answer. */
export type Call = (key: string, input?: AnyInput) => Promise<Answer<any>>

/** Implemented for the interface of the specification and for the control interface. */
export interface Interface {
  readonly operations: ReadonlyMap<string, Operation>
  readonly base: string
  /** Sent with every call. */
  readonly headers: Readonly<Record<string, string>>
  readonly path: Readonly<Record<string, string>>
}

export const byKey = (operations: readonly Operation[]): ReadonlyMap<string, Operation> =>
  new Map(operations.map((operation) => [operation.key, operation]))

export function createCall(
  options: ClientOptions,
  { operations, base, headers: own, path: defaultPath }: Interface,
): Call {
  const send = options.fetch ?? (globalThis as unknown as { fetch: NonNullable<ClientOptions['fetch']> }).fetch
  const origin = options.url.replace(/\/(?:api\/?)?$/, '')
  const always: Record<string, string> = {
    ...(options.username === undefined
      ? {}
      : { Authorization: `Basic ${base64(`${options.username}:${options.password ?? ''}`)}` }),
    ...(options.apiKey === undefined ? {} : { 'X-SVC-Api-Key': options.apiKey }),
    ...own,
  }
  return async (key, input = {}) => {
    const operation = operations.get(key)
    if (operation === undefined) throw new Error(`there is no operation ${key}`)
    const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = input.path?.[name] ?? defaultPath[name]
      if (value === undefined) throw new Error(`${key} needs the path parameter ${name}`)
      // `.` and `..` would be resolved by the URL parser, and the call would reach another path.
      if (/^\.{0,2}$/.test(String(value))) throw new Error(`${key} needs a path parameter ${name}, not "${value}"`)
      return encodeURIComponent(value)
    })
    const headers: Record<string, string> = { Accept: operation.produces ?? 'application/json', ...always }
    if (input.body !== undefined) headers['Content-Type'] = 'application/json'
    if (operation.mutates) headers['SVC-Request-Id'] = input.requestId ?? crypto.randomUUID()
    if (input.ifMatch !== undefined) headers['If-Match'] = input.ifMatch
    if (input.clusterId !== undefined) headers['X-Cluster-Id'] = input.clusterId
    const version = input.version ?? operation.versions[0]
    const answer = await send(`${origin}${base}/${operation.namespace}/${version}${path}${queryOf(input)}`, {
      method: operation.method,
      headers,
      ...(input.body === undefined ? {} : { body: JSON.stringify(input.body) }),
    })
    return understood(answer, key)
  }
}

async function understood(answer: FetchAnswer, key: string): ReturnType<Call> {
  const text = await answer.text()
  const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true
  const envelope = isJson && text !== '' ? JSON.parse(text) : undefined
  if (answer.status >= 300) {
    const error = envelope?.data?.error
    const errors = Array.isArray(error) ? error : (error?.validationErrorMessages ?? [])
    throw new ApiRefusal(answer.status, errors, key, answer.headers)
  }
  return {
    status: answer.status,
    data: isJson ? envelope?.data : text,
    etag: answer.headers.get('etag') ?? undefined,
    total: envelope?.metadata?.totalAvailableResults,
    warnings: (envelope?.metadata?.messages ?? []).map((message: { message: string }) => message.message),
    headers: answer.headers,
  }
}

// `any`: callers give the methods the types of the contract.
export const methodsOf = (operations: ReadonlyMap<string, Operation>, call: Call, prefix: string): any =>
  Object.fromEntries(
    [...operations.keys()]
      .filter((key) => key.startsWith(`${prefix}.`))
      .map((key) => key.slice(prefix.length + 1))
      .map((name) =>
        name.includes('.')
          ? [name.split('.')[0], methodsOf(operations, call, `${prefix}.${name.split('.')[0]}`)]
          : [name, (input?: AnyInput) => call(`${prefix}.${name}`, input)],
      ),
  )

function queryOf(input: CallOptions): string {
  const parts: string[] = []
  for (const name of ['page', 'limit', 'filter', 'orderby', 'select', 'expand', 'apply', 'dryrun'] as const) {
    const value = input[name]
    if (value !== undefined) parts.push(`$${name}=${encodeURIComponent(String(value))}`)
  }
  for (const [name, value] of Object.entries(input.query ?? {}))
    parts.push(`${name}=${encodeURIComponent(String(value))}`)
  return parts.length === 0 ? '' : `?${parts.join('&')}`
}

/** Without Node's Buffer, for other runtimes. */
const base64 = (text: string): string => btoa(String.fromCharCode(...new TextEncoder().encode(text)))

declare const crypto: { randomUUID(): string }
declare const btoa: (text: string) => string
declare class TextEncoder {
  encode(text: string): Uint8Array
}
