/** Every operation passes the same steps in this order; the first failure is the answer. Source: conventions 1. */

import type { Namespace, Operation } from '@hyperplane/contract'
import type { RateHeaders } from '../access/rate-limit.ts'
import { ApiError } from '../api-error.ts'
import type { Caller, Ids } from '../caller.ts'
import type { RequestFault } from '../faults.ts'
import type { SpooledParts } from '../input/spooled-form.ts'
import type { Credentials } from '../ports.ts'
import type { Reply } from '../reply.ts'
import type { Call, Targets } from './call.ts'
import { FaultSite, namesForFaultRules } from './fault-site.ts'
import { readInput } from './input.ts'
import { KeptReads } from './kept-reads.ts'
import type { Machinery } from './machinery.ts'
import { mutate } from './mutate.ts'
import { read } from './read.ts'
import { auditRefusal, denied, inWordsOfClients } from './refusals.ts'
import { type ApiRequest, type Dispatch, type Outcome, RefusedRequest, type RenderedAnswer } from './request.ts'
import { type FoundRoute, replacedOperation, requireOperation } from './routes.ts'
import { targetsSeen } from './targets.ts'
import { noteDecision, noteScope } from './traced.ts'

export function createPipeline<D>(machinery: Machinery<D>): { dispatch: Dispatch } {
  const keptReads = new KeptReads(machinery.store, machinery.access)
  const { ids } = machinery.world
  let calls = 0
  /** Depends only on the order of calls, not on concurrent work. */
  const countCall = ({ onBehalfOf }: ApiRequest): string =>
    onBehalfOf === undefined ? `call ${++calls}` : `element ${onBehalfOf.parentTask} ${onBehalfOf.requestId}`
  const pipeline: Pipeline<D> = { machinery, keptReads, countCall, idsOf: (request) => ids.of(countCall(request)) }
  return {
    dispatch(request) {
      const caller = keptReads.mayHold(request) ? machinery.authenticator.known?.(credentialsOf(request)) : undefined
      const kept = caller && keptAnswer(pipeline, request, caller)
      return kept ?? dispatch(pipeline, request, caller)
    },
  }
}

interface Pipeline<D> {
  readonly machinery: Machinery<D>
  readonly keptReads: KeptReads
  readonly countCall: (request: ApiRequest) => string
  readonly idsOf: (request: ApiRequest) => Ids
}

/** Progress of a request, for its refusal, its record, and resources to release. */
interface Progress {
  operation?: Operation
  headers: RateHeaders
  caller?: Caller
  fault?: RequestFault
  spooled?: SpooledParts
  isCommitted: boolean
}

/** Runs no other step than sign-in and rate limit, and no promise. undefined: the request takes all steps. */
function keptAnswer<D>(
  { machinery: { limiter, faults, access }, keptReads, countCall }: Pipeline<D>,
  request: ApiRequest,
  caller: Caller,
): Outcome | Promise<Outcome> | undefined {
  const kept = keptReads.find(request, caller)
  if (kept === undefined) return undefined
  const possible = faults?.ofRequest(kept.operation, caller, undefined)
  const names = possible?.isNamed === true ? kept.names : []
  if (possible !== undefined && (names === undefined || possible.mayStrike(names))) return undefined
  let headers: RateHeaders
  try {
    headers = limiter.count(kept.operation, caller.extId)
  } catch {
    return undefined
  }
  countCall(request)
  keptReads.reuse(kept, request.trace)
  const outcome = completed(kept.outcome, kept.operation, caller, headers, undefined, kept.rendered)
  const noted = request.trace && noteDecision(access, request.trace)
  return noted === undefined ? outcome : noted.then(() => outcome)
}

/** @param known the caller, if the credentials were verified before */
async function dispatch<D>(pipeline: Pipeline<D>, request: ApiRequest, known: Caller | undefined): Promise<Outcome> {
  const { machinery } = pipeline
  const { trace } = request
  // The route is looked up first, but revealed only after authentication.
  const found = machinery.router.route(request.method, request.path)
  const progress: Progress = { headers: {}, isCommitted: false }
  try {
    const authenticated = await authenticate(machinery, request, found.namespace, known)
    if (request.misdirected !== undefined) await requireAdministrator(machinery, request, authenticated)
    requireOwnTask(machinery, request, authenticated)
    progress.caller = authenticated
    if (trace !== undefined) trace.caller = authenticated
    if (request.misdirected !== undefined) throw request.misdirected
    const route = requireOperation(machinery.router, request, found)
    progress.operation = route.operation
    if (trace !== undefined) trace.operation = route.operation
    return await run(pipeline, request, route, authenticated, progress)
  } catch (error) {
    // The pipeline to which the request was forwarded has audited the refusal.
    if (error instanceof RefusedRequest) throw error
    const refusal = inWordsOfClients(error, found.namespace)
    const operation = progress.operation ?? replacedOperation(found)
    const { caller, headers, fault } = progress
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    // A mutation that was committed is audited already, even if its response failed.
    if (!progress.isCommitted && (!isRead || caller === undefined))
      await auditRefusal(machinery, request, operation, caller, refusal)
    throw new RefusedRequest(refusal, operation, found.namespace?.name, headers, fault?.cut, caller !== undefined)
  } finally {
    const { fault, spooled } = progress
    if (spooled !== undefined) await spooled.remove()
    if (trace !== undefined && fault !== undefined) trace.faults = [...fault.struck]
    const noted = trace === undefined ? undefined : noteDecision(machinery.access, trace)
    if (noted !== undefined) await noted
  }
}

async function run<D>(
  { machinery, keptReads, idsOf }: Pipeline<D>,
  request: ApiRequest,
  route: FoundRoute,
  caller: Caller,
  progress: Progress,
): Promise<Outcome> {
  const { access, limiter } = machinery
  const { operation, version } = route
  const { trace } = request
  if (request.onBehalfOf === undefined) progress.headers = limiter.count(operation, caller.extId)
  const possible = machinery.faults?.ofRequest(operation, caller, request.onBehalfOf?.index)
  const begun = keptReads.now
  const scope = await access.scope(caller, operation)
  if (scope === undefined) throw denied(operation)
  if (trace !== undefined) noteScope(trace, operation, scope)
  const elsewhere = machinery.forward?.(operation, request)
  if (elsewhere !== undefined) return await elsewhere(request)
  const warnings: string[] = []
  if (route.requestedVersion !== version)
    warnings.push(`Version ${route.requestedVersion} is not served; ${version} answered.`)
  if (operation.form?.spooled !== undefined) progress.spooled = machinery.spool?.open()
  const input = await readInput(machinery, request, route, warnings, progress.spooled)
  const ids = idsOf(request)
  const call: Call = { request, operation, caller, scope, version, warnings, input, ids, parts: { followStore: 0 } }
  const targets = possible?.isNamed === true ? await targetsSeen(machinery, call) : undefined
  const names = possible === undefined ? [] : namesForFaultRules(call, targets)
  const fault = possible?.of(names)
  progress.fault = fault
  const outcome = await (fault === undefined
    ? answer(machinery, call, targets)
    : withFault(machinery, call, targets, fault, () => {
        progress.isCommitted = true
      }))
  if (fault === undefined && keptReads.mayHold(request) && followsStore(machinery, call))
    keptReads.keep(request, begun, {
      ...{ operation, caller, outcome, trace, rendered: {} },
      ...(possible?.isNamed === true ? { names } : {}),
    })
  return completed(outcome, operation, caller, progress.headers, fault?.cut)
}

/** True if every part of the answer depends on the store alone. For expanded entities this is unknown. */
function followsStore<D>({ handlers, presenters, computed }: Machinery<D>, { operation, input, parts }: Call): boolean {
  const { verb, key, resource } = operation
  if ((verb !== 'get' && verb !== 'list') || resource === undefined || computed.has(resource.kind)) return false
  if (input.query.expand.length > 0) return false
  return parts.followStore === (handlers.has(key) ? 1 : 0) + (presenters.get(resource.kind)?.length ?? 0)
}

const answer = <D>(machinery: Machinery<D>, call: Call, targets?: Targets): Promise<Outcome> =>
  call.operation.mutates ? mutate(machinery, call) : read(machinery, call, targets)

function withFault<D>(
  machinery: Machinery<D>,
  call: Call,
  targets: Targets | undefined,
  fault: RequestFault,
  done: () => void,
): Promise<Outcome> {
  return fault.around(new FaultSite(machinery, call, targets), () => {
    if (fault.struck.length === 0) return answer(machinery, call, targets)
    return answer(machinery, call).then(async (answered) => {
      // A fault that applies after the commit waits until it is durable.
      await answered.durable
      done()
      return answered
    })
  })
}

/** Adds members one by one: V8 defines a member that follows a spread on a slow path. */
function completed(
  outcome: Outcome,
  operation: Operation,
  caller: Caller,
  rates: RateHeaders,
  cut: Outcome['cut'],
  rendered?: RenderedAnswer,
): Outcome {
  const reply: Mutable<Reply> = { ...outcome.reply }
  reply.headers = reply.headers === undefined ? rates : { ...rates, ...reply.headers }
  const all: Mutable<Outcome> = { ...outcome }
  all.reply = reply
  all.operation = operation
  all.caller = caller
  if (cut !== undefined) all.cut = cut
  if (rendered !== undefined) all.rendered = rendered
  return all
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** @throws ApiError 401, as for wrong credentials: only administrators learn which worlds there are */
async function requireAdministrator<D>(
  { access, authenticator, limiter }: Machinery<D>,
  { address }: ApiRequest,
  caller: Caller,
): Promise<void> {
  if (caller.mustChangePassword !== true && (await access.hasRole(caller, ['Super Admin']))) return
  authenticator.countFailure(undefined, address)
  limiter.countAnonymous(address)
  throw new ApiError('AUTHENTICATION_REQUIRED')
}

/** @throws ApiError 401, as for a wrong password */
function requireOwnTask<D>({ authenticator, limiter }: Machinery<D>, request: ApiRequest, caller: Caller): void {
  const { method, path, address } = request
  const task = caller.readsOnlyTask
  if (task === undefined || (method === 'GET' && path.includes('/tasks/') && path.endsWith(task))) return
  authenticator.countFailure(undefined, address)
  limiter.countAnonymous(address)
  throw new ApiError('AUTHENTICATION_REQUIRED')
}

async function authenticate<D>(
  { authenticator, limiter }: Machinery<D>,
  request: ApiRequest,
  namespace: Namespace | undefined,
  known: Caller | undefined,
): Promise<Caller> {
  const basicOnly = namespace?.conventions === 'alpha'
  if (request.onBehalfOf !== undefined) {
    const { caller } = request.onBehalfOf
    // A namespace that accepts only Basic accepts no other credential inside a batch either.
    if (basicOnly && (caller.credential === 'apiKey' || caller.credential === 'certificate'))
      throw new ApiError('AUTHENTICATION_REQUIRED')
    return caller
  }
  if (known !== undefined && !basicOnly) return known
  try {
    return await authenticator.authenticate({ ...credentialsOf(request), basicOnly })
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) limiter.countAnonymous(request.address)
    throw error
  }
}

const credentialsOf = ({ address, certificate, headers: { authorization, apiKey } }: ApiRequest): Credentials => ({
  address,
  basicOnly: false,
  authorization,
  apiKey,
  certificate,
})
