/** Step 4. Source: conventions 1, 15. */
import type { Namespace, Operation } from '@hyperplane/contract'
import { ApiError } from '../api-error.ts'
import type { Route, Router } from '../router.ts'
import type { ApiRequest } from './request.ts'

export type FoundRoute = Extract<Route, { found: 'operation' }>

/** @throws ApiError 404, 405 */
export function requireOperation(router: Router, request: ApiRequest, route: Route): FoundRoute {
  switch (route.found) {
    case 'operation':
      return route
    case 'method':
      throw methodNotAllowed(router, request, route.allowed)
    case 'nothing':
      throw routeNotFound(router, request.path, route.namespace)
  }
}

/** Refusals carry the deprecation headers of replaced namespaces too. */
export const replacedOperation = (route: Route): Operation | undefined =>
  route.found === 'operation' && route.namespace.successors.length > 0 ? route.operation : undefined

function successorOf(router: Router, path: string): string | undefined {
  const [, name = '', , ...rest] = path.split('/')
  const places = router.namespaces.get(name)?.successors ?? []
  return places
    .map((place) => [place, ...rest].join('/'))
    .find((successor) => router.route('GET', successor).found !== 'nothing')
}

function pointTo(error: ApiError, base: string, successor: string | undefined): ApiError {
  if (successor === undefined) return error
  error.headers['Deprecation'] = 'true'
  error.headers['Link'] = `<${base}${successor}>; rel="successor-version"`
  return error
}

function routeNotFound(router: Router, path: string, namespace: Namespace | undefined): ApiError {
  const { base, namespaces } = router
  const successor = successorOf(router, path)
  const hint =
    namespace === undefined
      ? namespacesInWords(namespaces)
      : `The namespace ${namespace.name} is served in ${joinedWithAnd(namespace.versions)}.`
  const moved = successor === undefined ? hint : `Use ${base}${successor}.`
  return pointTo(
    new ApiError('ROUTE_NOT_FOUND', { path: `${base}${path}`.slice(0, 300), hint: moved }),
    base,
    successor,
  )
}

function methodNotAllowed(router: Router, request: ApiRequest, allowed: readonly string[]): ApiError {
  const { base } = router
  const successor = successorOf(router, request.path)
  const error = new ApiError('METHOD_NOT_ALLOWED', {
    path: `${base}${request.path}`.slice(0, 300),
    method: request.method.slice(0, 20),
    allowed: successor === undefined ? allowed.join(', ') : `${allowed.join(', ')}; more at ${base}${successor}`,
  })
  error.headers['Allow'] = allowed.join(', ')
  return pointTo(error, base, successor)
}

export const namespacesInWords = (namespaces: ReadonlyMap<string, Namespace>): string =>
  `The namespaces are ${joinedWithAnd([...namespaces.keys()].sort())}.`

const joinedWithAnd = (words: readonly string[]): string => words.join(', ').replace(/, ([^,]+)$/, ' and $1')
