/** The typed client: one method an operation, by its operationId; waits for tasks. Speaks the specification's names. */

import {
  contract,
  type Declared,
  type DeclaredOperations,
  type Operation,
  type OperationSet,
} from '@hyperplane/contract'
import type { clustermgmt } from '@hyperplane/contract/clustermgmt'
import type { iam } from '@hyperplane/contract/iam'
import type { networking } from '@hyperplane/contract/networking'
import type { platform } from '@hyperplane/contract/platform'
import type { storage } from '@hyperplane/contract/storage'
import type { vmm } from '@hyperplane/contract/vmm'
import type { volumes } from '@hyperplane/contract/volumes'

export interface ClientOptions {
  /** `https://host:9440` */
  readonly url: string
  readonly username?: string
  readonly password?: string
  readonly apiKey?: string
  /** Replaces the global fetch: own certificate authorities, proxies, tests. */
  readonly fetch?: (url: string, init: FetchInit) => Promise<FetchAnswer>
  /** Waits between two looks at a task; default 100 ms of real time. */
  readonly pollMilliseconds?: number
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

/** Query options as the specification spells them, without the `$`. */
export interface CallOptions {
  readonly page?: number
  readonly limit?: number
  readonly filter?: string
  readonly orderby?: string
  readonly select?: string
  readonly expand?: string
  readonly apply?: string
  readonly dryrun?: boolean
  /** Further query parameters, `$startTime` and the like. */
  readonly query?: Readonly<Record<string, string | number>>
  readonly ifMatch?: string
  /** Default: a new one for every mutation. */
  readonly requestId?: string
  readonly clusterId?: string
  /** Served version, where a namespace has several. */
  readonly version?: string
}

type Input<B> = CallOptions & { readonly path?: Readonly<Record<string, string>> } & ([B] extends [never] | [undefined]
    ? { readonly body?: unknown }
    : { readonly body: B })

export interface Answer<A> {
  readonly status: number
  readonly data: A
  readonly etag: string | undefined
  /** Lists: how many match. */
  readonly total: number | undefined
  readonly warnings: readonly string[]
  readonly headers: FetchAnswer['headers']
}

/** An answer that is not a success. */
export class ApiRefusal extends Error {
  readonly status: number
  readonly errors: readonly {
    readonly code?: string
    readonly errorGroup?: string
    readonly message: string
    readonly attributePath?: string
  }[]
  constructor(status: number, errors: ApiRefusal['errors'], operation: string) {
    super(
      `${operation}: ${status} ${errors.map((error) => [error.code, error.attributePath, error.message].filter(Boolean).join(' ')).join('; ')}`,
    )
    this.status = status
    this.errors = errors
  }
}

type MethodOf<O> = O extends Declared<infer B, infer A, any> ? (input?: Input<B>) => Promise<Answer<A>> : never
type Methods<S> = {
  readonly [Id in keyof S]: S[Id] extends { readonly verb: string }
    ? MethodOf<S[Id]>
    : S[Id] extends OperationSet
      ? Methods<S[Id]>
      : never
}

export interface Client {
  readonly clustermgmt: Methods<DeclaredOperations<typeof clustermgmt>>
  readonly iam: Methods<DeclaredOperations<typeof iam>>
  readonly networking: Methods<DeclaredOperations<typeof networking>>
  readonly platform: Methods<DeclaredOperations<typeof platform>>
  readonly storage: Methods<DeclaredOperations<typeof storage>>
  readonly vmm: Methods<DeclaredOperations<typeof vmm>>
  readonly volumes: Methods<DeclaredOperations<typeof volumes>>
  /** Waits for the task that a 202 named; `seen` gets each state on the way. @throws TaskFailure unless it succeeded */
  completed(started: Answer<any>, seen?: (task: any) => void): Promise<any>
  /** Calls any operation by its key, `platform.createCategory`. */
  call(key: string, input?: Input<unknown>): Promise<Answer<any>>
}

/** The task ended otherwise than SUCCEEDED. */
export class TaskFailure extends Error {
  readonly task: any
  constructor(task: any) {
    super(
      `task ${task.operation} ${task.status}: ${(task.errorMessages ?? []).map((error: any) => error.message).join('; ')}`,
    )
    this.task = task
  }
}

const operations: ReadonlyMap<string, Operation> = new Map(
  contract.flatMap((namespace) => namespace.operations.map((operation) => [operation.key, operation] as const)),
)
const ends = new Set(['SUCCEEDED', 'FAILED', 'CANCELED'])

export function createClient(options: ClientOptions): Client {
  const send = options.fetch ?? (globalThis as unknown as { fetch: NonNullable<ClientOptions['fetch']> }).fetch
  const origin = options.url.replace(/\/(?:api\/?)?$/, '')
  const credentials: Record<string, string> = {
    ...(options.username === undefined
      ? {}
      : { Authorization: `Basic ${base64(`${options.username}:${options.password ?? ''}`)}` }),
    ...(options.apiKey === undefined ? {} : { 'X-SVC-Api-Key': options.apiKey }),
  }

  async function call(key: string, input: Input<any> = {}): Promise<Answer<any>> {
    const operation = operations.get(key)
    if (operation === undefined) throw new Error(`there is no operation ${key}`)
    const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = input.path?.[name]
      if (value === undefined) throw new Error(`${key} needs the path parameter ${name}`)
      return encodeURIComponent(value)
    })
    const query = queryOf(input)
    const headers: Record<string, string> = { Accept: 'application/json', ...credentials }
    if (input.body !== undefined) headers['Content-Type'] = 'application/json'
    if (operation.mutates) headers['SVC-Request-Id'] = input.requestId ?? crypto.randomUUID()
    if (input.ifMatch !== undefined) headers['If-Match'] = input.ifMatch
    if (input.clusterId !== undefined) headers['X-Cluster-Id'] = input.clusterId
    const answer = await send(
      `${origin}/api/${operation.namespace}/${input.version ?? operation.versions[0]}${path}${query}`,
      {
        method: operation.method,
        headers,
        ...(input.body === undefined ? {} : { body: JSON.stringify(input.body) }),
      },
    )
    const text = await answer.text()
    const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true
    const envelope = isJson && text !== '' ? JSON.parse(text) : undefined
    if (answer.status >= 300) {
      const error = envelope?.data?.error
      throw new ApiRefusal(answer.status, Array.isArray(error) ? error : (error?.validationErrorMessages ?? []), key)
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

  async function completed(started: Answer<any>, seen?: (task: any) => void): Promise<any> {
    for (;;) {
      const { data: task } = await call('platform.getTaskById', { path: { extId: started.data.extId } })
      seen?.(task)
      if (ends.has(task.status)) {
        if (task.status !== 'SUCCEEDED') throw new TaskFailure(task)
        return task
      }
      await new Promise((resolve) => setTimeout(resolve, options.pollMilliseconds ?? 100))
    }
  }

  const methods = (prefix: string): any =>
    Object.fromEntries(
      [...operations.keys()]
        .filter((key) => key.startsWith(`${prefix}.`))
        .map((key) => key.slice(prefix.length + 1))
        .map((name) =>
          name.includes('.')
            ? [name.split('.')[0], methods(`${prefix}.${name.split('.')[0]}`)]
            : [name, (input?: Input<any>) => call(`${prefix}.${name}`, input)],
        ),
    )

  return {
    ...Object.fromEntries(contract.map((namespace) => [namespace.name, methods(namespace.name)])),
    completed,
    call,
  } as unknown as Client
}

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

/** Of UTF-8 text, in any runtime. */
const base64 = (text: string): string => btoa(String.fromCharCode(...new TextEncoder().encode(text)))

declare const crypto: { randomUUID(): string }
declare const btoa: (text: string) => string
declare const setTimeout: (run: (value: unknown) => void, milliseconds: number) => unknown
declare class TextEncoder {
  encode(text: string): Uint8Array
}
