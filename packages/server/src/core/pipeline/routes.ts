/** Step 4: method and path -> operation; what is said where there is none. Source: conventions 1, 15. */
import type { Namespace, Operation } from '@hyperplane/contract'
import { ApiError } from '../api-error.ts'
import type { Route, Router } from '../router.ts'
import type { ApiRequest } from './request.ts'

export type FoundRoute = Extract<Route, { found: 'operation' }>

/** @throws ApiError 404, 405, 501 */
export function requireOperation(router: Router, request: ApiRequest, route: Route): FoundRoute {
  switch (route.found) {
    case 'operation':
      return route
    case 'unbuilt':
      throw new ApiError('NOT_IMPLEMENTED', { operation: route.operation.id })
    case 'method':
      throw methodNotAllowed(request, route.allowed, successorOf(router, request.path))
    case 'nothing':
      throw routeNotFound(request.path, route.namespace, successorOf(router, request.path))
  }
}

/** Answers of replaced operations say so, also those that end before the operation may be told. */
export const replacedOperation = (route: Route): Operation | undefined =>
  route.found === 'operation' && route.namespace.successors.length > 0 ? route.operation : undefined

/** Where a path of a namespace that others replace is found now, with any method. */
function successorOf(router: Router, path: string): string | undefined {
  const [, name = '', , ...rest] = path.split('/')
  const places = router.namespaces.get(name)?.successors ?? []
  return places
    .map((place) => [place, ...rest].join('/'))
    .find((successor) => router.route('GET', successor).found !== 'nothing')
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
