/**
 * Every operation, from every origin, passes the same steps in the same order; the first that fails answers, with all
 * faults that it found. Source: behaviour conventions 1.
 */
import type { EntityOf, Namespace, Operation, Resource } from '@hyperplane/contract'
import { errorCatalogue } from '@hyperplane/contract/error-catalogue'
import { evaluateFilter, type TypedFilter } from '../odata/index.ts'
import { type Reader, RowMissing, type Store, type Transaction, UniqueViolation } from '../store/store.ts'
import { ApiError, inWordsOf, refuseAll, type ShapeFault, ShapeRefusal } from './api-error.ts'
import type { Audit } from './audit.ts'
import type { Caller, ReadContext, RequestInput, World, WriteContext } from './context.ts'
import type { EntityTags } from './etag.ts'
import type { Handler, ListResult, Prepare, Presenter, RawAnswer, TaskStarted } from './handlers.ts'
import { canonicalJson, type Idempotency } from './idempotency.ts'
import { parseJson } from './json.ts'
import type { AccessControl, Authenticator, CanonicalNames, Kinds, Scope } from './ports.ts'
import { parseQueryText, readExpressions, readOptions } from './query.ts'
import type { RateHeaders, RateLimiter } from './rate-limit.ts'
import type { Reply } from './reply.ts'
import type { Router } from './router.ts'
import { both, filterOf, notFound, present, standardList } from './standard.ts'
import type { TaskRunner } from './tasks/runner.ts'
import { immutableFields, referencesIn, validateBody, validateText } from './validate.ts'

/** A request in canonical names. */
export interface ApiRequest {
  readonly method: string
  /** Below /api, `/platform/v4.3/config/categories`. */
  readonly path: string
  /** Text after `?`. */
  readonly query: string
  readonly headers: {
    readonly authorization?: string
    readonly apiKey?: string
    readonly ifMatch?: string
    readonly requestId?: string
    readonly clusterId?: string
    readonly contentType?: string
    readonly accept?: string
  }
  readonly address: string
  /** How public clients write ids and names in queries and paths; see http/profiles. */
  readonly profile: 'spec' | 'public'
  /** Unknown fields and options: refused, or ignored with a warning; see conventions 2.4. */
  readonly unknown: 'refuse' | 'ignore'
  /** The request carried both spellings of the request id header, with different values. */
  readonly requestIdsDiffer?: boolean
  /** @throws ApiError 413 */
  readonly readBody: (maximumBytes: number) => Promise<Uint8Array>
  /** A batch element: the submitter, already authenticated and counted. */
  readonly onBehalfOf?: {
    readonly caller: Caller
    readonly body: unknown
    readonly requestId: string
    readonly parentTask: string
  }
}

export interface Outcome {
  readonly reply: Reply
  readonly operation?: Operation
  readonly caller?: Caller
  readonly raw?: RawAnswer
}

/** A request that ended early, with what was known by then. */
export class RefusedRequest extends Error {
  readonly refusal: unknown
  readonly operation: Operation | undefined
  readonly namespace: string | undefined
  readonly headers: RateHeaders
  constructor(refusal: unknown, operation: Operation | undefined, namespace: string | undefined, headers: RateHeaders) {
    super('refused', { cause: refusal })
    this.refusal = refusal
    this.operation = operation
    this.namespace = namespace
    this.headers = headers
  }
}

export interface PipelineOptions<D> {
  readonly world: World<D>
  readonly store: Store
  readonly router: Router
  readonly names: CanonicalNames
  readonly kinds: Kinds
  readonly authenticator: Authenticator
  readonly access: AccessControl
  readonly limiter: RateLimiter
  readonly tags: EntityTags
  readonly idempotency: Idempotency
  readonly audit: Audit
  readonly runner: TaskRunner<D>
  readonly handlers: ReadonlyMap<string, Handler<D, any>>
  readonly prepares: ReadonlyMap<string, Prepare<D, any>>
  readonly presenters: ReadonlyMap<string, readonly Presenter<D>[]>
  readonly log: { error(details: object, message: string): void }
}

const maximumBody = 1024 * 1024
const uuidSchema = { type: 'uuid' } as const

export type Dispatch = (request: ApiRequest) => Promise<Outcome>

/** @throws RefusedRequest (from `dispatch`) for everything that is not a success */
export function createPipeline<D>(options: PipelineOptions<D>): { dispatch: Dispatch } {
  const { store, router, names, kinds, access, limiter, tags, idempotency, audit, runner, world } = options

  async function dispatch(request: ApiRequest): Promise<Outcome> {
    let operation: Operation | undefined
    let namespace: Namespace | undefined
    let headers: RateHeaders = {}
    let caller: Caller | undefined
    try {
      // A malformed target is known before anything else, and told only after authentication.
      namespace = router.namespaces.get(request.path.split('/')[1] ?? '')
      caller = await authenticate(request, namespace)
      const route = router.route(request.method, request.path)
      if (route.found === 'nothing')
        throw routeNotFound(request.path, route.namespace, successorOf(router, request.path))
      if (route.found === 'method') throw methodNotAllowed(request, route.allowed, successorOf(router, request.path))
      if (route.found === 'unbuilt') throw new ApiError('NOT_IMPLEMENTED', { operation: route.operation.id })
      operation = route.operation
      if (request.onBehalfOf === undefined) headers = limiter.count(operation, caller.extId)
      const scope = await access.scope(caller, operation)
      if (scope === undefined) throw denied(operation)
      const warnings: string[] = []
      const asked = request.path.split('/')[2]
      if (asked !== route.version) warnings.push(`Version ${asked} is not served; ${route.version} answered.`)
      const input = await readInput(request, operation, namespace as Namespace, route.path, route.version, warnings)
      const outcome = operation.mutates
        ? await mutate(request, operation, caller, scope, input, route.version, warnings)
        : await read(request, operation, caller, scope, input, route.version, warnings)
      return {
        ...outcome,
        operation,
        caller,
        reply: { ...outcome.reply, headers: { ...headers, ...outcome.reply.headers } },
      }
    } catch (error) {
      const refusal = inWordsOf(namespace?.name, translate(error))
      if (operation === undefined && namespace !== undefined) operation = replacedOperation(router, namespace, request)
      const isRead = request.method === 'GET' || request.method === 'HEAD'
      if (!isRead || caller === undefined) await auditRefusal(request, operation, caller, refusal)
      throw new RefusedRequest(refusal, operation, namespace?.name, headers)
    }
  }

  async function authenticate(request: ApiRequest, namespace: Namespace | undefined): Promise<Caller> {
    if (request.onBehalfOf !== undefined) {
      const { caller } = request.onBehalfOf
      // What takes Basic only takes no key by way of a batch either.
      if (namespace?.conventions === 'alpha' && caller.credential === 'apiKey')
        throw new ApiError('AUTHENTICATION_REQUIRED')
      return caller
    }
    const { authorization, apiKey } = request.headers
    try {
      return await options.authenticator.authenticate({
        address: request.address,
        basicOnly: namespace?.conventions === 'alpha',
        ...(authorization === undefined ? {} : { authorization }),
        ...(apiKey === undefined ? {} : { apiKey }),
      })
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) limiter.countAnonymous(request.address)
      throw error
    }
  }

  /** Steps 7 and 8: media types, body, and everything that has a declared shape. */
  async function readInput(
    request: ApiRequest,
    operation: Operation,
    namespace: Namespace,
    path: Readonly<Record<string, string>>,
    version: string,
    warnings: string[],
  ): Promise<RequestInput & { readonly rawBody: unknown }> {
    const alpha = namespace.conventions === 'alpha'
    const conventions = {
      unknown: request.unknown,
      clamped: alpha,
      ...(request.profile === 'public' ? { canonical: names.text } : {}),
    }
    checkAccept(request.headers.accept, operation)
    let rawBody: unknown = request.onBehalfOf?.body
    if (request.onBehalfOf === undefined) {
      const limit = operation.maximumBodyBytes ?? maximumBody
      const bytes = await request.readBody(limit)
      if (operation.body !== undefined && bytes.length > 0) {
        checkContentType(request.headers.contentType)
        rawBody = parseJson(bytes)
      }
    }
    const given = parseQueryText(request.query)
    const faults: ShapeFault[] = []

    const cleanPath: Record<string, string> = {}
    for (const [name, text] of Object.entries(path)) {
      const decoded = decodeSegment(text)
      const schema = operation.pathSchemas[name] ?? uuidSchema
      const checked =
        schema.type === 'taskId'
          ? taskIdIn(request.profile, decoded, name)
          : validateText(schema, decoded, name, 'path')
      if (checked.fault === undefined) cleanPath[name] = String(checked.value)
      else faults.push(checked.fault)
    }
    const texts = readOptions(operation, given, conventions, faults, warnings)
    const cleanHeaders = readHeaders(request, operation, faults)
    let body: unknown
    if (operation.body !== undefined) {
      if (rawBody === undefined || rawBody === null) {
        if (operation.bodyRequired) faults.push({ location: 'body', attributePath: '$', message: 'a body is required' })
      } else {
        const sparse =
          operation.method === 'PATCH' || (operation.verb === 'update' && operation.resource?.sparsePut === true)
        const result = validateBody(operation.body, rawBody, {
          unknown: request.unknown,
          version,
          sparse,
          defaults: !sparse,
          replaces: operation.verb === 'update',
        })
        faults.push(...result.faults)
        warnings.push(...result.warnings)
        body = result.value
      }
    }
    if (faults.length > 0) throw new ShapeRefusal(faults)
    const query = readExpressions(operation, texts, conventions, kinds, warnings)
    return { path: cleanPath, query, body, headers: cleanHeaders, rawBody }
  }

  function readHeaders(request: ApiRequest, operation: Operation, faults: ShapeFault[]): RequestInput['headers'] {
    const fault = (attributePath: string, message: string): void =>
      void faults.push({ location: 'header', attributePath, message })
    const headers: { ifMatch?: string; requestId?: string; clusterId?: string } = {}
    const { ifMatch, requestId, clusterId } = request.headers
    if (ifMatch !== undefined && ifMatch.trim() !== '') headers.ifMatch = ifMatch.trim()
    if (operation.mutates) {
      if (request.requestIdsDiffer === true) fault('SVC-Request-Id', 'stands twice with different values')
      if (requestId !== undefined && requestId !== '') {
        const checked = validateText(uuidSchema, requestId, 'SVC-Request-Id', 'header')
        if (checked.fault === undefined) headers.requestId = String(checked.value)
        else faults.push(checked.fault)
      } else if (operation.requestId === 'required' && request.unknown === 'refuse') {
        fault('SVC-Request-Id', 'is required: a UUID that makes a retry safe')
      }
    }
    if (clusterId !== undefined && clusterId !== '') {
      const checked = validateText(uuidSchema, clusterId, 'X-Cluster-Id', 'header')
      if (checked.fault === undefined) headers.clusterId = String(checked.value)
      else if (operation.clusterId !== undefined) faults.push(checked.fault)
    } else if (operation.clusterId === 'required') {
      fault('X-Cluster-Id', 'is required: the id of the target cluster')
    }
    return headers
  }

  /** The entities that the path names, outermost first: each exists, under its parent, and is visible. */
  async function findTargets(
    reader: Reader,
    operation: Operation,
    caller: Caller,
    scope: Scope,
    path: Readonly<Record<string, string>>,
  ): Promise<{
    row: { entity: any; version: number; sequence: number } | undefined
    parents: Record<string, any>
    named: { kind: Resource; entity: any; version: number } | undefined
  }> {
    const parents: Record<string, any> = {}
    let row: { entity: any; version: number; sequence: number } | undefined
    let named: { kind: Resource; entity: any; version: number } | undefined
    for (const [parameter, id] of Object.entries(path)) {
      const kindName = operation.pathKinds[parameter]
      const kind = kindName === undefined ? undefined : kinds.resource(kindName)
      if (kind === undefined || kind.derived === true) continue
      const isTarget = parameter === operation.target
      const found = await reader.row(kind, id)
      const missing = (): ApiError => notFound(kind, kind.kind, id, parameter)
      if (found === undefined) throw missing()
      const parentId = kind.parent === undefined ? undefined : path[kind.parent.param]
      if (parentId !== undefined && valueAt(found.entity, kind.parent?.field as string) !== parentId) throw missing()
      // The scope speaks of the target, or of the entity that the target is a part of; what else the path names must be seen.
      const isJudged = kind.kind === access.scopedKind(operation)
      const isReached = !isJudged || isInside(scope, found.entity)
      const view = isJudged && !operation.mutates ? scope : await access.viewScope(caller, kind)
      // An identity that may see no entity of the kind at all reaches it through the operation's own permission.
      if (view === undefined ? !isReached : !isInside(view, found.entity)) throw missing()
      if (!isReached) throw denied(operation, ' on this entity')
      if (isTarget) row = found
      else parents[parameter] = found.entity
      // A part whose tag is its owner's leaves the owner named.
      if (kind.sharesTagOf === undefined) named = { kind, entity: found.entity, version: found.version }
    }
    return { row, parents, named }
  }

  function taskIdIn(profile: ApiRequest['profile'], text: string, name: string): ReturnType<typeof validateText> {
    const plain = names.taskId(profile, text)
    if (plain !== undefined) return validateText(uuidSchema, plain, name, 'path')
    const message = `expected the id of a task, found "${text.slice(0, 80)}", which does not match the regular expression ^ZXJnb24=:<UUID>$`
    return { fault: { location: 'path', attributePath: name, message } }
  }

  function baseContext(
    request: ApiRequest,
    operation: Operation,
    caller: Caller,
    scope: Scope,
    reader: Reader,
    version: string,
    warnings: string[],
    targets: Awaited<ReturnType<typeof findTargets>>,
  ): ReadContext<D> {
    return {
      ...world,
      operation,
      caller,
      store: reader,
      kinds,
      version,
      target: targets.row?.entity,
      row: targets.row,
      parents: targets.parents,
      scopeOf: async (kind) => {
        const resource = kinds.resource(kind)
        if (resource === undefined) return 'none'
        const view = await access.viewScope(caller, resource)
        // Answers about entities of another kind, such as statistics: what the operation may be used on counts as well.
        const isJudged = kind === access.scopedKind(operation) && kind !== operation.resource?.kind
        if (!isJudged) return view === undefined ? 'none' : filterOf(view)
        return both(view === undefined ? undefined : filterOf(view), filterOf(scope))
      },
      unknown: request.unknown,
      warn: (message) => void warnings.push(message),
      noteUse: (write) => {
        store
          .transaction(write)
          .catch((error) => options.log.error({ err: error, operation: operation.key }, 'a use could not be noted'))
      },
    }
  }

  async function read(
    request: ApiRequest,
    operation: Operation,
    caller: Caller,
    scope: Scope,
    input: RequestInput,
    version: string,
    warnings: string[],
  ): Promise<Outcome> {
    const targets = await findTargets(store, operation, caller, scope, input.path)
    const ctx = baseContext(request, operation, caller, scope, store, version, warnings, targets)
    if (input.headers.ifMatch !== undefined && operation.method !== 'GET') checkTag(operation, input, targets)
    const handler = options.handlers.get(operation.key)
    if (handler === undefined && (operation.verb === 'read' || operation.resource?.derived === true)) {
      throw new ApiError('NOT_IMPLEMENTED', { operation: operation.id })
    }
    const base = { status: operation.status, operation: operation.key, version, warnings }

    if (operation.verb === 'list') {
      const result =
        handler === undefined
          ? await standardList(ctx, input, rowScope(operation, scope))
          : ((await handler(ctx as never, input as never)) as ListResult<any>)
      const shown = await present(ctx, result.entities, input, options.presenters, false)
      return {
        reply: {
          ...base,
          data: shown.entities,
          total: result.total,
          page: pageOf(operation, input, result),
          truncated: result.truncated === true || shown.truncated,
        },
      }
    }
    if (operation.verb === 'get' && handler === undefined) {
      const shown = await present(ctx, [ctx.target], input, options.presenters, true)
      return {
        reply: { ...base, data: shown.entities[0], etag: tagOf(operation, targets), truncated: shown.truncated },
      }
    }
    if (handler === undefined) throw new ApiError('NOT_IMPLEMENTED', { operation: operation.id })
    const result: any = await handler(ctx as never, input as never)
    if (isRaw(result)) return { reply: base, raw: result }
    if (isListResult(result)) {
      return {
        reply: {
          ...base,
          data: result.entities,
          total: result.total,
          page: pageOf(operation, input, result),
          truncated: result.truncated === true,
        },
      }
    }
    const shown =
      operation.verb === 'get'
        ? await present(ctx, [result], input, options.presenters, true)
        : { entities: [result], truncated: false }
    // A read that answers the entity which the path names is one of its single reads.
    const isOwn = operation.verb === 'read' && targets.row !== undefined && result?.extId === targets.row.entity.extId
    const etag =
      operation.verb === 'get' || isOwn
        ? (tagOf(operation, targets) ?? tags.of(operation.key, result?.extId ?? '', hashOf(result)))
        : undefined
    return {
      reply: { ...base, data: shown.entities[0], truncated: shown.truncated, ...(etag === undefined ? {} : { etag }) },
    }
  }

  /** Steps 9 to 16, in one transaction: nothing that was checked can change before its effect is written. */
  async function mutate(
    request: ApiRequest,
    operation: Operation,
    caller: Caller,
    scope: Scope,
    input: RequestInput & { readonly rawBody: unknown },
    version: string,
    warnings: string[],
  ): Promise<Outcome> {
    const requestId = request.onBehalfOf?.requestId ?? input.headers.requestId
    const key = requestId === undefined ? undefined : idempotency.keyOf(caller.tenantId, caller.extId, requestId)
    // Of the body as it was understood: content under `$reserved` counts, other decorations do not.
    const body = input.body ?? input.rawBody
    const fingerprint =
      key === undefined ? '' : idempotency.fingerprintOf(request.method, request.path, request.query, body)
    const after: (() => void)[] = []
    const prepare = options.prepares.get(operation.key)
    const nothing = { row: undefined, parents: {}, named: undefined }
    const prepared =
      prepare === undefined
        ? undefined
        : await prepare(baseContext(request, operation, caller, scope, store, version, [], nothing), input as never)
    const reply = await store.transaction(async (transaction): Promise<Reply> => {
      if (key !== undefined) {
        const remembered = await idempotency.recall(transaction, key, fingerprint, requestId as string)
        if (remembered !== undefined) return remembered
      }
      const targets = await findTargets(transaction, operation, caller, scope, input.path)
      checkTag(operation, input, targets)
      checkImmutable(operation, input, targets.row?.entity)
      await checkReferences(transaction, operation, caller, input)
      const started: string[] = []
      const created: string[] = []
      const startTask = runner.starter(transaction, caller, (work) => after.push(work), input.query.dryRun)
      const ctx: WriteContext<D> = {
        ...baseContext(request, operation, caller, scope, transaction, version, warnings, targets),
        store: input.query.dryRun ? readOnlyView(transaction) : transaction,
        dryRun: input.query.dryRun,
        startTask: async (definition, taskInput, taskOptions) => {
          const parent = request.onBehalfOf === undefined ? {} : { parent: request.onBehalfOf.parentTask }
          const task = await startTask(definition, taskInput, {
            appName: operation.namespace,
            ...parent,
            ...taskOptions,
          })
          started.push(task.extId)
          created.push(...taskOptions.affected.map((entity) => entity.extId))
          return task
        },
        afterCommit: (work) => void after.push(work),
      }
      const handler = options.handlers.get(operation.key)
      if (handler === undefined) throw new ApiError('NOT_IMPLEMENTED', { operation: operation.id })
      const result: any = await handler(ctx as never, (prepare === undefined ? input : { ...input, prepared }) as never)
      if (result?.extId !== undefined) created.push(result.extId)
      await checkCreatedInScope(transaction, operation, scope, created)
      const answered = await answer(transaction, operation, version, targets, result, warnings)
      await audit.write(transaction, {
        caller,
        credential: credentialOf(caller),
        address: request.address,
        operation: operation.key,
        status: answered.status,
        ...(requestId === undefined ? {} : { requestId }),
        ...(targets.row === undefined ? {} : { target: targets.row.entity.extId }),
        ...(started[0] === undefined ? {} : { task: started[0] }),
        ...(operation.verb === 'update' ? { changed: Object.keys(input.body ?? {}) } : {}),
        dryRun: input.query.dryRun,
      })
      if (key !== undefined) await idempotency.remember(transaction, key, fingerprint, answered)
      return answered
    })
    if (reply.replayed !== true) for (const work of after) work()
    return { reply }
  }

  async function answer(
    transaction: Transaction,
    operation: Operation,
    version: string,
    targets: Awaited<ReturnType<typeof findTargets>>,
    result: any,
    warnings: string[],
  ): Promise<Reply> {
    const base = { status: operation.status, operation: operation.key, version, warnings }
    if (operation.runs === 'async') {
      const task = result as TaskStarted & { readonly data?: unknown }
      return {
        ...base,
        data: task.data ?? { extId: task.extId },
        location: `/platform/v4.3/config/tasks/${task.extId}`,
      }
    }
    if (operation.verb === 'remove') return base
    const resource = operation.resource
    const extId = operation.verb === 'create' ? result?.extId : targets.row?.entity.extId
    const row =
      resource === undefined || resource.derived === true || extId === undefined
        ? undefined
        : await transaction.row(resource, extId)
    const location =
      operation.verb === 'create' && resource !== undefined && extId !== undefined
        ? locationOf(operation, version, extId)
        : undefined
    const etag =
      row === undefined || resource === undefined ? undefined : tags.of(resource.kind, row.entity.extId, row.version)
    return {
      ...base,
      data: result,
      ...(etag === undefined ? {} : { etag }),
      ...(location === undefined ? {} : { location }),
    }
  }

  /** Conventions 16.8: the scope of a create is asked of the entity as it was stored. A part was judged by its entity. */
  async function checkCreatedInScope(
    transaction: Transaction,
    operation: Operation,
    scope: Scope,
    created: readonly string[],
  ): Promise<void> {
    const resource = operation.resource
    if (operation.verb !== 'create' || resource === undefined || rowScope(operation, scope) === 'all') return
    for (const extId of created) {
      const entity = await transaction.pending(resource, extId)
      if (entity !== undefined && !isInside(scope, entity)) throw denied(operation, ' on such an entity')
    }
  }

  /** What of the operation's own rows the scope reaches: all parts of an entity that it reaches. */
  const rowScope = (operation: Operation, scope: Scope): Scope =>
    access.scopedKind(operation) === operation.resource?.kind ? scope : 'all'

  function checkTag(operation: Operation, input: RequestInput, targets: Awaited<ReturnType<typeof findTargets>>): void {
    const given = input.headers.ifMatch
    const named = targets.named
    if (given === undefined) {
      if (operation.ifMatch === 'required')
        throw new ApiError('MISSING_ETAG_HEADER', { kind: named?.kind.title ?? operation.stem })
      return
    }
    if (named === undefined) return
    tags.require(
      given,
      tags.of(named.kind.kind, named.entity.extId, named.version),
      named.kind.title,
      named.kind.staleTag,
    )
  }

  function checkImmutable(operation: Operation, input: RequestInput, stored: any): void {
    if (operation.verb !== 'update' || stored === undefined || operation.body?.type !== 'object') return
    const faults: ApiError[] = []
    for (const name of immutableFields(operation.body)) {
      const given = valueAt(input.body, name)
      const known = valueAt(stored, name)
      if (known === undefined) continue
      if (given === undefined) {
        // What cannot change keeps its value also where the body leaves it out.
        if (operation.resource?.sparsePut !== true && operation.method !== 'PATCH' && !name.includes('/'))
          input.body[name] = known
        continue
      }
      if (canonicalJson(given) === canonicalJson(known)) continue
      const show = (value: unknown): string =>
        (typeof value === 'string' ? `"${value}"` : JSON.stringify(value)).slice(0, 100)
      faults.push(
        new ApiError('IMMUTABLE_ATTRIBUTE', { attributePath: name, expected: show(known), found: show(given) }),
      )
    }
    refuseAll(faults)
  }

  /** Step 14: every id in the body that must name an entity does, and the caller may refer to it. */
  async function checkReferences(
    reader: Reader,
    operation: Operation,
    caller: Caller,
    input: RequestInput,
  ): Promise<void> {
    if (operation.body === undefined || input.body === undefined) return
    const faults: ApiError[] = []
    for (const reference of referencesIn(operation.body, input.body)) {
      const resource = kinds.resource(reference.kind)
      if (resource === undefined || resource.derived === true) continue
      const entity = await reader.get(resource, reference.extId)
      const scope = entity === undefined ? undefined : await access.referScope(caller, operation, resource)
      if (entity === undefined || scope === undefined || !isInside(scope, entity)) {
        faults.push(referenceNotFound(operation, resource, reference, input.body))
      }
    }
    refuseAll(faults)
  }

  async function auditRefusal(
    request: ApiRequest,
    operation: Operation | undefined,
    caller: Caller | undefined,
    refusal: unknown,
  ): Promise<void> {
    if (caller === undefined && request.headers.authorization === undefined && request.headers.apiKey === undefined)
      return
    const status = refusal instanceof ApiError ? refusal.status : refusal instanceof ShapeRefusal ? 400 : 500
    if (status === 429) return
    await audit
      .writeAlone({
        ...(caller === undefined ? {} : { caller }),
        credential: caller === undefined ? 'failed' : credentialOf(caller),
        address: request.address,
        operation: operation?.key ?? request.path.slice(0, 200),
        status,
        ...(refusal instanceof ApiError ? { code: refusal.appMessage.code } : {}),
      })
      .catch((error) => options.log.error({ err: error }, 'a refusal could not be audited'))
  }

  function tagOf(operation: Operation, { row, named }: Awaited<ReturnType<typeof findTargets>>): string | undefined {
    if (operation.resource?.sharesTagOf !== undefined && named !== undefined) {
      return tags.of(named.kind.kind, named.entity.extId, named.version)
    }
    return row === undefined || operation.resource === undefined
      ? undefined
      : tags.of(operation.resource.kind, row.entity.extId, row.version)
  }

  return { dispatch }
}

/** Names the key as well, where it was one. */
const credentialOf = (caller: Caller): string =>
  caller.credentialId === undefined ? caller.credential : `${caller.credential} ${caller.credentialId}`

const isInside = (scope: Scope, entity: unknown): boolean =>
  scope === 'all' || evaluateFilter(scope as TypedFilter, entity as never) === true

function pageOf(
  operation: Operation,
  input: RequestInput,
  result: ListResult<any>,
): { page: number; limit: number } | undefined {
  if (!operation.paged) return undefined
  const limit = Math.min(input.query.limit, operation.maximumItems ?? input.query.limit)
  return { page: result.page ?? input.query.page, limit }
}

const locationOf = (operation: Operation, version: string, extId: string): string =>
  `/${operation.namespace}/${version}${operation.path}/${extId}`

/** The value at a path that crosses no collection. */
const valueAt = (value: any, path: string): unknown => path.split('/').reduce((at, name) => at?.[name], value)

const isRaw = (value: any): value is RawAnswer => typeof value?.contentType === 'string' && value.content !== undefined
const isListResult = (value: any): value is ListResult<any> =>
  Array.isArray(value?.entities) && typeof value?.total === 'number'

/** A stable number for what has no version of its own. */
function hashOf(value: unknown): number {
  let hash = 7
  for (const character of canonicalJson(value)) hash = (hash * 31 + character.charCodeAt(0)) | 0
  return hash
}

function translate(error: unknown): unknown {
  if (error instanceof UniqueViolation) {
    const key = (error.error ?? 'ENTITY_ALREADY_EXISTS') as 'ENTITY_ALREADY_EXISTS'
    return new ApiError(key, { kind: error.kind, fields: error.fields.join(' and ') }, { cause: error })
  }
  if (error instanceof RowMissing)
    return new ApiError('CONFLICT', { fault: 'The entity is being removed.' }, { cause: error })
  return error
}

/** 404 for an id in a body: as for one in the path, unless the namespace has its own words for it. */
function referenceNotFound(
  operation: Operation,
  resource: Resource,
  reference: { kind: string; extId: string; path: string },
  body: any,
): ApiError {
  const key = `${operation.namespace.toUpperCase()}_REFERENCE_NOT_FOUND`
  if (!Object.hasOwn(errorCatalogue, key)) return notFound(resource, reference.kind, reference.extId, reference.path)
  const values = {
    verb: operation.verb,
    kind: operation.resource?.title ?? operation.stem,
    name: String(body?.name ?? ''),
    referencedKind: resource.title,
    referencedExtId: reference.extId,
  }
  return new ApiError(key as 'NETWORKING_REFERENCE_NOT_FOUND', values, { extra: { attributePath: reference.path } })
}

const denied = (operation: Operation, reason = ''): ApiError =>
  new ApiError('ACCESS_DENIED', { operation: operation.iamOperation, reason })

/** Where a path of a namespace that others replace is found now, with any method. */
function successorOf(router: Router, path: string): string | undefined {
  const [, name = '', , ...rest] = path.split('/')
  const places = router.namespaces.get(name)?.successors ?? []
  return places
    .map((place) => [place, ...rest].join('/'))
    .find((successor) => router.route('GET', successor).found !== 'nothing')
}

/** Answers of replaced operations say so, also those that end before the operation is looked up. */
function replacedOperation(router: Router, namespace: Namespace, request: ApiRequest): Operation | undefined {
  if (namespace.successors.length === 0) return undefined
  const route = router.route(request.method, request.path)
  return route.found === 'operation' ? route.operation : undefined
}

function pointTo(error: ApiError, successor: string | undefined): ApiError {
  if (successor === undefined) return error
  error.headers['Deprecation'] = 'true'
  error.headers['Link'] = `</api${successor}>; rel="successor-version"`
  return error
}

function routeNotFound(path: string, namespace: Namespace | undefined, successor: string | undefined): ApiError {
  const hint =
    namespace === undefined
      ? 'The namespaces are clustermgmt, iam, networking, platform, storage, vmm and volumes.'
      : `The namespace ${namespace.name} is served in ${namespace.versions.join(' and ')}.`
  const moved = successor === undefined ? hint : `Use /api${successor}.`
  return pointTo(new ApiError('ROUTE_NOT_FOUND', { path: `/api${path}`.slice(0, 300), hint: moved }), successor)
}

function methodNotAllowed(request: ApiRequest, allowed: readonly string[], successor: string | undefined): ApiError {
  const error = new ApiError('METHOD_NOT_ALLOWED', {
    path: `/api${request.path}`.slice(0, 300),
    method: request.method.slice(0, 20),
    allowed: successor === undefined ? allowed.join(', ') : `${allowed.join(', ')}; more at /api${successor}`,
  })
  error.headers['Allow'] = allowed.join(', ')
  return pointTo(error, successor)
}

function checkContentType(contentType: string | undefined): void {
  const media = contentType?.split(';')[0]?.trim().toLowerCase()
  if (media !== 'application/json') {
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', {
      expected: 'application/json',
      found: contentType?.slice(0, 100) ?? 'none',
    })
  }
}

function checkAccept(accept: string | undefined, operation: Operation): void {
  if (accept === undefined || accept === '') return
  const asked = accept.split(',').map((part) => part.split(';')[0]?.trim().toLowerCase() ?? '')
  const produces = operation.produces ?? 'application/json'
  const fits = asked.some(
    (media) =>
      media === '*/*' ||
      media === produces ||
      media === 'application/json' ||
      media === `${produces.split('/')[0]}/*` ||
      media === 'application/*',
  )
  if (!fits) throw new ApiError('NOT_ACCEPTABLE', { expected: produces, found: accept.slice(0, 100) })
}

function decodeSegment(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new ApiError('MALFORMED_REQUEST', { fault: 'the path has malformed percent-encoding.' })
  }
}

/** A dry run reads what is, and writes nothing. */
function readOnlyView(transaction: Transaction): Transaction {
  const unchanged = async (_kind: unknown, entity: any): Promise<any> => entity
  const merged = async <R extends Resource<any, any>>(kind: R, extId: string, changes: object): Promise<EntityOf<R>> =>
    ({ ...(await transaction.get(kind, extId)), ...changes }) as EntityOf<R>
  return {
    get: (kind, extId) => transaction.get(kind, extId),
    row: (kind, extId) => transaction.row(kind, extId),
    getMany: (kind, extIds) => transaction.getMany(kind, extIds),
    find: (kind, query) => transaction.find(kind, query),
    page: (kind, query) => transaction.page(kind, query),
    count: (kind, query) => transaction.count(kind, query),
    findOne: (kind, where) => transaction.findOne(kind, where),
    findWhere: (kind, where) => transaction.findWhere(kind, where),
    walk: (kind, walk) => transaction.walk(kind, walk),
    pending: (kind, extId) => transaction.pending(kind, extId),
    referrers: (kind, extId, limit, narrowing) => transaction.referrers(kind, extId, limit, narrowing),
    referrerCounts: (kind, extId, counting) => transaction.referrerCounts(kind, extId, counting),
    insert: unchanged,
    replace: unchanged,
    update: merged,
    observe: merged,
    publish: async () => undefined,
    touch: async () => undefined,
    remove: async () => undefined,
    removeWhere: async () => 0,
  }
}
