/**
 * Requests without sockets: the typed client calls, and the code behind the sockets answers. `data` of a result is what the
 * client received; status, tag, total and errors are those of the pipeline, which test/http reads off the wire.
 */
import { ApiRefusal } from '@hyperplane/client'
import { contract, type Operation } from '@hyperplane/contract'
import { control } from '@hyperplane/contract/control'
import { type AnyInput, byKey, createCall, type FetchAnswer, type FetchInit } from '../../../client/src/calls.ts'
import type { App } from '../../src/app.ts'
import type { ApiRequest } from '../../src/core/pipeline/request.ts'
import { createRouter } from '../../src/core/router.ts'
import { type Exchanged, exchange, record } from '../../src/http/exchange.ts'
import type { CallOptions, CallResult } from './start-app.ts'

const log = { error: (details: object, message: string) => console.error(message, details) }
const origin = 'https://localhost:9440'

/** @param path below `/api`, or from `/control` */
export async function send(
  app: App,
  method: string,
  path: string,
  sent: Omit<ApiRequest, 'method' | 'path' | 'query' | 'trace' | 'profile'>,
  { world = 'default', isAtOnce = false }: Pick<CallOptions, 'world' | 'isAtOnce'>,
): Promise<Exchanged> {
  const isControl = path.startsWith('/control/')
  const shipped = isControl ? app.controlSite : app.siteOf(world)
  if (isControl && shipped === undefined) throw new Error('the control interface is off')
  if (shipped === undefined) throw new Error(`nothing answers ${path} of the world ${world}`)
  const direct = isAtOnce && !isControl ? app.worlds.get(world)?.dispatch : undefined
  const site = direct === undefined ? shipped : { ...shipped, dispatch: direct }
  const [target, query = ''] = path.split(/\?(.*)/s) as [string, string?]
  const trace = site.recorder?.begin(site.now(), site.base + target, site.base + target)
  const requestId = sent.headers.requestId ?? site.makeRequestId()
  const api: ApiRequest = { method, path: target, query, ...sent, profile: 'spec', echoedId: requestId, trace }
  const arrived = { api, profile: 'spec', origin, requestId } as const
  const ended = await exchange(site, arrived, log)
  record(site, arrived, ended, log)
  return ended
}

const interfaces = {
  api: { operations: byKey(contract.flatMap((each) => each.operations)), base: '/api', headers: {}, path: {} },
  control: { operations: byKey(control.operations), base: '', headers: {}, path: {} },
}
const routers = {
  api: createRouter(contract, { loose: false }),
  control: createRouter([control], { loose: false, base: '' }),
}

/** Uses the typed client if it can express the request, else raw bytes. */
export async function callInProcess(
  app: App,
  admin: string,
  method: string,
  path: string,
  options: CallOptions,
): Promise<CallResult> {
  const as = options.as === undefined && options.apiKey === undefined ? admin : options.as
  const credentials = {
    ...(as === null || as === undefined ? {} : { authorization: `Basic ${Buffer.from(as).toString('base64')}` }),
    apiKey: options.apiKey,
  }
  const sendBytes = (
    verb: string,
    to: string,
    headers: ApiRequest['headers'],
    bytes: Uint8Array,
  ): Promise<Exchanged> => {
    const request = {
      headers: { ...credentials, ...headers },
      certificate: options.certificate,
      address: options.address ?? '192.0.2.1',
      unknown: options.unknown ?? 'refuse',
      ...(verb === 'GET' && bytes.length === 0 ? {} : { readBody: async () => bytes }),
    } as const
    return send(app, verb, to, request, options)
  }
  const typed = typedCall(method, path, options)
  if (typed === undefined) {
    const { ifMatch, requestId, clusterId, accept } = options
    const { bytes, contentType } = await encoded(options)
    const ended = await sendBytes(method, path, { ifMatch, requestId, clusterId, accept, contentType }, bytes)
    return resultOf(ended, ended.refused === undefined ? JSON.parse(ended.answer.body ?? '{}').data : undefined)
  }
  const { base, ...rest } = interfaces[path.startsWith('/control/') ? 'control' : 'api']
  let ended: Exchanged | undefined
  const fetch = async (url: string, { method: verb, headers, body }: FetchInit): Promise<FetchAnswer> => {
    const names = {
      ifMatch: headers['If-Match'],
      requestId: headers['SVC-Request-Id'],
      clusterId: headers['X-Cluster-Id'],
      accept: headers['Accept'],
      contentType: headers['Content-Type'],
    }
    ended = await sendBytes(verb, url.slice(`${origin}${base}`.length), names, new TextEncoder().encode(body ?? ''))
    return fetchAnswerOf(ended)
  }
  const call = createCall({ url: origin, fetch }, { base, ...rest })
  try {
    const { data } = await call(typed.operation.key, typed.input)
    return resultOf(ended as unknown as Exchanged, data)
  } catch (error) {
    if (error instanceof ApiRefusal && ended !== undefined) return resultOf(ended, undefined)
    throw error
  }
}

function fetchAnswerOf({ answer, outcome }: Exchanged): FetchAnswer {
  const headers = new Map(Object.entries(answer.headers).map(([name, value]) => [name.toLowerCase(), value]))
  headers.set('content-type', outcome?.raw?.contentType ?? 'application/json')
  return {
    status: answer.status,
    headers: { get: (name) => headers.get(name) ?? null },
    text: async () => answer.body ?? '',
  }
}

/** The operation and its input, where the typed client can send such a request. */
function typedCall(
  method: string,
  path: string,
  options: CallOptions,
): { operation: Operation; input: AnyInput } | undefined {
  const [target, query = ''] = path.split(/\?(.*)/s) as [string, string?]
  const route = routers[path.startsWith('/control/') ? 'control' : 'api'].route(method, target)
  if (route.found !== 'operation' || route.operation.method !== method) return undefined
  if (options.form !== undefined || options.accept !== undefined) return undefined
  // The typed client always sends a request id.
  if (options.requestId === undefined && route.operation.requestId === 'required') return undefined
  try {
    const path = Object.fromEntries(
      Object.entries(route.path).map(([name, value]) => [name, decodeURIComponent(value)]),
    )
    if (Object.values(path).some((value) => /^\.{0,2}$/.test(value))) return undefined
    const parts = query.split('&').filter((part) => part !== '')
    const pairs = parts.map((part) => {
      const [name, value = ''] = part.split(/=(.*)/s) as [string, string?]
      return [decodeURIComponent(name), decodeURIComponent(value.replaceAll('+', ' '))] as const
    })
    if (new Set(pairs.map(([name]) => name)).size < pairs.length) return undefined
    return {
      operation: route.operation,
      input: {
        path,
        query: Object.fromEntries(pairs),
        version: route.version,
        ...(options.body === undefined ? {} : { body: options.body }),
        ...(options.ifMatch === undefined ? {} : { ifMatch: options.ifMatch }),
        ...(options.requestId === undefined ? {} : { requestId: options.requestId }),
        ...(options.clusterId === undefined ? {} : { clusterId: options.clusterId }),
      },
    }
  } catch {
    return undefined
  }
}

function resultOf({ outcome, refused, answer, cut }: Exchanged, data: unknown): CallResult {
  if (refused !== undefined) {
    const refusal = refused.refusal as any
    if (typeof refusal.status !== 'number') throw refusal
    const errors = refusal.faults ?? [refusal.appMessage ?? [], ...(refusal.further ?? [])].flat()
    return {
      status: refusal.status,
      data: undefined,
      errors,
      headers: answer.headers,
      warnings: [],
      ...(cut === undefined ? {} : { isCut: true }),
    }
  }
  if (outcome === undefined) throw new Error('neither an answer nor a refusal')
  const { reply } = outcome
  return {
    status: reply.status,
    data: outcome.raw ?? undecorated(data, reply.data),
    errors: [],
    headers: answer.headers,
    warnings: reply.warnings ?? [],
    ...(reply.total === undefined ? {} : { total: reply.total }),
    ...(reply.etag === undefined ? {} : { etag: reply.etag }),
    ...(reply.location === undefined ? {} : { location: reply.location }),
    ...(reply.replayed === undefined ? {} : { replayed: reply.replayed }),
    ...(cut === undefined ? {} : { isCut: true }),
  }
}

/**
 * The data as assertions read it: without links, without the type names that the answer adds to objects of only one possible
 * type, and with the empty collections that every answer omits.
 */
function undecorated(value: any, answered: any): any {
  if (value === undefined) return Array.isArray(answered) && answered.length === 0 ? [] : undefined
  if (Array.isArray(value)) return value.map((item, index) => undecorated(item, answered?.[index]))
  if (typeof value !== 'object' || value === null) return value
  const own = Object.entries(value).filter(
    ([name]) => (name !== '$objectType' && name !== 'links') || answered?.[name] !== undefined,
  )
  const empty = Object.entries(answered ?? {}).filter(
    ([name, item]) => Array.isArray(item) && item.length === 0 && !(name in value),
  )
  return Object.fromEntries([...own.map(([name, item]) => [name, undecorated(item, answered?.[name])]), ...empty])
}

/** The body as bytes. */
async function encoded({ body, form }: CallOptions): Promise<{ bytes: Uint8Array; contentType: string }> {
  if (form === undefined) {
    const text = body === undefined ? '' : JSON.stringify(body)
    return { bytes: new TextEncoder().encode(text), contentType: 'application/json' }
  }
  const response = new Response(form)
  return { bytes: await response.bytes(), contentType: response.headers.get('content-type') as string }
}
