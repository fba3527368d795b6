/** `OPTIONS /api/<namespace>/unversioned/info`: the newest version. Source: conventions 15. */

import { ApiError } from '../core/api-error.ts'
import { namespacesInWords } from '../core/pipeline/routes.ts'
import type { Answer } from './answers/answer.ts'
import type { AnswerContext } from './envelope/answer-context.ts'
import type { Site } from './exchange.ts'

/** undefined: not a negotiation. @throws ApiError 404 for an unknown namespace */
export function negotiate({ namespaces, envelopes }: Site, method: string, context: AnswerContext): Answer | undefined {
  if (method !== 'OPTIONS') return undefined
  const [, name] = /^\/([^/]+)\/unversioned\/info$/.exec(context.path) ?? []
  if (name === undefined) return undefined
  const namespace = namespaces.get(name)
  const [newest] = namespace?.versions ?? []
  if (newest !== undefined) return envelopes.text(newest, name, context)
  const path = `${context.base}${context.path}`.slice(0, 300)
  throw new ApiError('ROUTE_NOT_FOUND', { path, hint: namespacesInWords(namespaces) })
}
