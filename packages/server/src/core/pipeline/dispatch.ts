/**
 * Every operation, from every origin, passes the same steps in the same order; the first that fails answers, with all
 * faults that it found. Source: behaviour conventions 1.
 */
import type { Namespace, Operation } from '@hyperplane/contract'
import { ApiError } from '../api-error.ts'
import type { Caller } from '../context.ts'
import type { RateHeaders } from '../rate-limit.ts'
import type { Call } from './call.ts'
import { readInput } from './input.ts'
import type { Machinery } from './machinery.ts'
import { mutate } from './mutate.ts'
import { read } from './read.ts'
import { auditRefusal, denied, inWordsOfClients } from './refusals.ts'
import { type ApiRequest, type Dispatch, type Outcome, RefusedRequest } from './request.ts'
import { replacedOperation, requireOperation } from './routes.ts'

export function createPipeline<D>(machinery: Machinery<D>): { dispatch: Dispatch } {
  const { router, access, limiter } = machinery

  async function dispatch(request: ApiRequest): Promise<Outcome> {
    // What the path names is known before anything else, and told only after authentication.
    const asked = router.route(request.method, request.path)
    const { namespace } = asked
    let operation: Operation | undefined
    let headers: RateHeaders = {}
    let caller: Caller | undefined
    try {
      caller = await authenticate(machinery, request, namespace)
      const route = requireOperation(router, request, asked)
      operation = route.operation
      if (request.onBehalfOf === undefined) headers = limiter.count(operation, caller.extId)
      const scope = await access.scope(caller, operation)
      if (scope === undefined) throw denied(operation)
      const warnings: string[] = []
      if (route.askedVersion !== route.version)
        warnings.push(`Version ${route.askedVersion} is not served; ${route.version} answered.`)
      const input = await readInput(machinery, request, route, warnings)
      const call: Call = { request, operation, caller, scope, version: route.version, warnings, input }
      const outcome = operation.mutates ? await mutate(machinery, call) : await read(machinery, call)
      return {
        ...outcome,
        operation,
        caller,
        reply: { ...outcome.reply, headers: withRates(headers, outcome.reply.headers) },
      }
    } catch (error) {
      const refusal = inWordsOfClients(error, namespace)
      operation ??= replacedOperation(asked)
      const isRead = request.method === 'GET' || request.method === 'HEAD'
      if (!isRead || caller === undefined) await auditRefusal(machinery, request, operation, caller, refusal)
      throw new RefusedRequest(refusal, operation, namespace?.name, headers)
    }
  }

  return { dispatch }
}

const withRates = (rates: RateHeaders, own: RateHeaders | undefined): RateHeaders =>
  own === undefined ? rates : { ...rates, ...own }

/** Step 3. */
async function authenticate(
  { authenticator, limiter }: Machinery<any>,
  request: ApiRequest,
  namespace: Namespace | undefined,
): Promise<Caller> {
  const basicOnly = namespace?.conventions === 'alpha'
  if (request.onBehalfOf !== undefined) {
    const { caller } = request.onBehalfOf
    // What takes Basic only takes no other credential by way of a batch either.
    if (basicOnly && (caller.credential === 'apiKey' || caller.credential === 'certificate'))
      throw new ApiError('AUTHENTICATION_REQUIRED')
    return caller
  }
  const { address, certificate } = request
  const { authorization, apiKey } = request.headers
  try {
    return await authenticator.authenticate({ address, basicOnly, authorization, apiKey, certificate })
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) limiter.countAnonymous(request.address)
    throw error
  }
}
