/** `OPTIONS /api/<namespace>/unversioned/info`: the newest version, without credentials. Source: conventions 15. */

import { ApiError } from '../core/api-error.ts'
import { namespacesInWords } from '../core/pipeline/routes.ts'
import type { Asked } from './asked.ts'
import type { Answer } from './envelope.ts'
import type { Site } from './exchange.ts'

/**
 * @param asked with the path in canonical names
 * @returns undefined: the request asks for something else
 * @throws ApiError 404 when there is no such namespace
 */
export function negotiate({ namespaces, envelopes }: Site, method: string, asked: Asked): Answer | undefined {
  if (method !== 'OPTIONS') return undefined
  const [, name] = /^\/([^/]+)\/unversioned\/info$/.exec(asked.path) ?? []
  if (name === undefined) return undefined
  const namespace = namespaces.get(name)
  if (namespace !== undefined) return envelopes.text(namespace.versions[0] as string, namespace.name, asked)
  const path = `${asked.base}${asked.path}`.slice(0, 300)
  throw new ApiError('ROUTE_NOT_FOUND', { path, hint: namespacesInWords(namespaces) })
}
