import type { Operation } from '@hyperplane/contract'
import { ApiError } from '../api-error.ts'

export function checkContentType(contentType: string | undefined, { form }: Pick<Operation, 'form'>): void {
  const media = contentType?.split(';')[0]?.trim().toLowerCase()
  const expected = form === undefined ? 'application/json' : 'multipart/form-data'
  const charset = /;\s*charset\s*=\s*"?([^";]*)/i
    .exec(contentType ?? '')?.[1]
    ?.trim()
    .toLowerCase()
  // Bodies are decoded as UTF-8: a body in another charset would be garbled.
  const isReadable = form !== undefined || charset === undefined || charset === 'utf-8' || charset === 'utf8'
  if (media !== expected || !isReadable) {
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', {
      expected,
      found: contentType?.slice(0, 100) ?? 'none',
    })
  }
}

export function checkAccept(accept: string | undefined, operation: Operation): void {
  if (accept === undefined || accept === '') return
  const accepted = mediaTypesOf(accept)
  const produced = [operation.produces ?? 'application/json', ...(operation.alsoProduces ?? [])]
  const fits = accepted.some(
    (media) =>
      media === '*/*' ||
      // Refusals are JSON for every operation.
      media === 'application/json' ||
      media === 'application/*' ||
      produced.some((type) => media === type || media === `${type.split('/')[0]}/*`),
  )
  if (!fits) throw new ApiError('NOT_ACCEPTABLE', { expected: produced.join(' or '), found: accept.slice(0, 100) })
}

const mediaTypesOf = (accept: string): readonly string[] =>
  accept.split(',').map((part) => part.split(';')[0]?.trim().toLowerCase() ?? '')

/** A bare text instead of a JSON string in the envelope, for clients that accept it and no JSON. */
export function prefersPlainText(accept: string | undefined, { alsoProduces = [] }: Operation): boolean {
  const accepted = mediaTypesOf(accept ?? '')
  const acceptsText = accepted.some((media) => media === 'text/plain' || media === 'text/*')
  const acceptsJson = accepted.some((media) => ['*/*', 'application/*', 'application/json'].includes(media))
  return alsoProduces.includes('text/plain') && acceptsText && !acceptsJson
}
