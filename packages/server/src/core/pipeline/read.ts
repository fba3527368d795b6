/** Source: conventions 4, 5, 9. */

import { withoutUnseenNames } from '../access/unseen-names.ts'
import { ApiError } from '../api-error.ts'
import type { Document } from '../document.ts'
import type { ListResult } from '../handlers.ts'
import { canonicalJson } from '../idempotency.ts'
import type { RawAnswer, Reply } from '../reply.ts'
import { present, standardList } from '../standard.ts'
import { type Call, extIdOf, rowScope, type Targets } from './call.ts'
import { readContext } from './handler-context.ts'
import type { Machinery } from './machinery.ts'
import { prefersPlainText } from './media.ts'
import { checkRules, checkTag } from './preconditions.ts'
import type { Outcome } from './request.ts'
import { findTargets, tagOf } from './targets.ts'
import { explaining } from './traced.ts'

export async function read<D>(machinery: Machinery<D>, call: Call, found?: Targets): Promise<Outcome> {
  const { store, tags, access, handlers, presenters } = machinery
  const { operation, input, version, warnings } = call
  const targets = found ?? (await findTargets(machinery, store, call))
  const ctx = readContext(machinery, call, explaining(store, call), targets)
  if (input.headers.ifMatch !== undefined && operation.method !== 'GET') checkTag(tags, call, targets)
  if (operation.body !== undefined) checkRules(machinery, call, targets.row?.entity)
  const handler = handlers.get(operation.key)
  if (handler === undefined && (operation.verb === 'read' || operation.resource?.derived === true)) {
    throw new ApiError('NOT_IMPLEMENTED', { operation: operation.id })
  }
  const base = { status: operation.status, operation: operation.key, version, warnings }

  if (operation.verb === 'list') {
    const result =
      handler === undefined
        ? await standardList(ctx, input, rowScope(access, call))
        : ((await handler(ctx, input)) as ListResult<Document>)
    const shown = await present(ctx, result.entities, input, presenters, false)
    return {
      reply: {
        ...base,
        data: shown.entities,
        total: result.total,
        page: pageOf(call, result),
        truncated: result.truncated === true || shown.truncated,
        ...(shown.truncated ? { truncatedIndexes: shown.truncatedIndexes } : {}),
      },
    }
  }
  if (operation.verb === 'get' && handler === undefined) {
    const shown = await present(ctx, [ctx.target as Document], input, presenters, true)
    return {
      reply: { ...base, data: shown.entities[0], etag: tagOf(tags, call, targets), truncated: shown.truncated },
    }
  }
  if (handler === undefined) throw new ApiError('NOT_IMPLEMENTED', { operation: operation.id })
  const result = await handler(ctx, input)
  if (isRaw(result)) {
    const { status = base.status, headers } = result
    return { reply: { ...base, status, ...(headers === undefined ? {} : { headers }) }, raw: result }
  }
  if (typeof result === 'string') return answerText(call, base, result)
  if (isListResult(result)) {
    return {
      reply: {
        ...base,
        data: await withoutUnseenNames(ctx, result.entities),
        total: result.total,
        page: pageOf(call, result),
        truncated: result.truncated === true,
      },
    }
  }
  const shown =
    operation.verb === 'get'
      ? await present(ctx, [result as Document], input, presenters, true)
      : {
          entities: Array.isArray(result)
            ? [await withoutUnseenNames(ctx, result)]
            : await withoutUnseenNames(ctx, [result as Document]),
          truncated: false,
        }
  // A `read` operation that returns the target entity itself counts as a GET of it and carries its ETag.
  const isOwn = operation.verb === 'read' && targets.row !== undefined && extIdOf(result) === targets.row.entity.extId
  const etag =
    operation.verb === 'get' || isOwn || operation.carriesTag === true
      ? (tagOf(tags, call, targets) ?? tags.of(operation.key, extIdOf(result) ?? '', hashOf(result)))
      : undefined
  return {
    reply: {
      ...base,
      data: shown.entities[0],
      truncated: shown.truncated || (result as { readonly truncated?: boolean }).truncated === true,
      ...(etag === undefined ? {} : { etag }),
    },
  }
}

function answerText({ request, operation }: Call, base: Reply, text: string): Outcome {
  if (!prefersPlainText(request.headers.accept, operation)) return { reply: { ...base, data: text } }
  return { reply: base, raw: { contentType: 'text/plain; charset=utf-8', content: text } }
}

function pageOf({ operation, input }: Call, result: ListResult<unknown>): Reply['page'] {
  if (!operation.paged) return undefined
  const limit = Math.min(input.query.limit, operation.maximumItems ?? input.query.limit)
  return { page: result.page ?? input.query.page, limit }
}

const isRaw = (value: unknown): value is RawAnswer => {
  const { contentType, content } = (value ?? {}) as Partial<RawAnswer>
  return typeof contentType === 'string' && content !== undefined
}
const isListResult = (value: unknown): value is ListResult<Document> => {
  const { entities, total } = (value ?? {}) as Partial<ListResult<Document>>
  return Array.isArray(entities) && typeof total === 'number'
}

function hashOf(value: unknown): number {
  let hash = 7
  for (const character of canonicalJson(value)) hash = (hash * 31 + character.charCodeAt(0)) | 0
  return hash
}
