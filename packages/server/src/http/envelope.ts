/** A reply or a refusal -> status, headers and the JSON envelope of the request's profile. Source: conventions 2.3, 11. */
import { STATUS_CODES } from 'node:http'
import type { AnySchema, Namespace, Operation } from '@hyperplane/contract'
import { ApiResponseMetadata, errorResponseOf } from '@hyperplane/contract/envelope'
import { ApiError, ShapeRefusal } from '../core/api-error.ts'
import type { RefusedRequest } from '../core/pipeline.ts'
import type { Reply } from '../core/reply.ts'
import { type Profile, pathIn, typeIn } from './profiles/names.ts'
import { discriminatorOf, type RenderSettings, render, reservedOf } from './profiles/render.ts'

export interface Answer {
  readonly status: number
  readonly headers: Record<string, string>
  /** undefined: no body. */
  readonly body?: string
}

export interface EnvelopeSettings {
  readonly namespaces: ReadonlyMap<string, Namespace>
  readonly now: () => string
}

/** What of the request its answer shows. */
export interface Asked {
  readonly profile: Profile
  /** `https://host:port` */
  readonly origin: string
  /** Canonical path below /api, and the text of the query. */
  readonly path: string
  readonly query: string
}

export interface EnvelopeWriter {
  reply(reply: Reply, operation: Operation | undefined, asked: Asked): Answer
  refusal(refused: RefusedRequest, asked: Asked, requestId: string): Answer
  /** The string answer of the version negotiation. */
  text(value: string, namespace: string, asked: Asked): Answer
}

export function createEnvelopeWriter(settings: EnvelopeSettings): EnvelopeWriter {
  const renderSettings = (asked: Asked, namespace: string, version: string | undefined): RenderSettings => ({
    profile: asked.profile,
    namespace,
    version: version ?? settings.namespaces.get(namespace)?.versions[0] ?? 'v4.3',
    origin: asked.origin,
    versionOf: (name) => settings.namespaces.get(name)?.versions[0] ?? 'v4.0',
  })

  const metadataOf = (
    reply: Partial<Reply>,
    links: { href: string; rel: string }[],
    hasError: boolean,
    paged: boolean,
  ) => ({
    flags: [
      { name: 'hasError', value: hasError },
      { name: 'isPaginated', value: paged },
      { name: 'isTruncated', value: reply.truncated === true },
    ],
    links,
    totalAvailableResults: reply.total,
    messages: (reply.warnings ?? []).map((message) => ({
      code: 'PLAT-10000',
      message,
      locale: 'en_US',
      severity: 'WARNING',
    })),
  })

  const envelope = (
    metadata: object,
    type: string,
    using: RenderSettings,
    data: unknown,
    discriminator: string | undefined,
  ): string => {
    const shown = render(ApiResponseMetadata, metadata, using)
    if (using.profile === 'spec')
      return JSON.stringify(data === undefined ? { metadata: shown } : { metadata: shown, data })
    return JSON.stringify({
      $objectType: typeIn('public', type),
      $reserved: reservedOf(using, type),
      ...(discriminator === undefined ? {} : { $dataItemDiscriminator: discriminator }),
      metadata: shown,
      ...(data === undefined ? {} : { data }),
    })
  }

  function reply(reply: Reply, operation: Operation | undefined, asked: Asked): Answer {
    const headers: Record<string, string> = { ...reply.headers }
    if (reply.etag !== undefined) headers['ETag'] = reply.etag
    if (reply.replayed === true) headers['Idempotent-Replayed'] = 'true'
    if (reply.location !== undefined)
      headers['Location'] = `${asked.origin}/api${pathIn(asked.profile, reply.location)}`
    if (operation?.deprecated !== undefined) deprecate(headers, operation, asked)
    if (reply.status === 204 || operation === undefined) return { status: reply.status, headers }

    const using = {
      ...renderSettings(asked, operation.namespace, reply.version),
      isCreation: operation.verb === 'create',
    }
    const links = linksOf(reply, operation, asked, settings.namespaces)
    const metadata = metadataOf(reply, links, false, operation.paged)
    const answer = projected(expandedAnswer(operation, settings.namespaces), operation, asked)
    const withLinks =
      answer?.type === 'list'
        ? (reply.data as unknown[])?.map((item) => linked(item, operation, reply, settings))
        : linked(reply.data, operation, reply, settings)
    let data: unknown = reply.data === undefined || answer === undefined ? undefined : render(answer, withLinks, using)
    const isEmptyList = Array.isArray(data) && data.length === 0
    const discriminator =
      data === undefined
        ? 'EMPTY'
        : isEmptyList
          ? undefined
          : discriminatorOf(answer as NonNullable<typeof answer>, withLinks, asked.profile)
    if (isEmptyList && asked.profile === 'public') data = undefined
    return { status: reply.status, headers, body: envelope(metadata, operation.envelope, using, data, discriminator) }
  }

  function refusal(refused: RefusedRequest, asked: Asked, requestId: string): Answer {
    const cause = refused.refusal
    const known =
      cause instanceof ApiError || cause instanceof ShapeRefusal ? cause : new ApiError('INTERNAL_ERROR', { requestId })
    const namespace = refused.namespace ?? 'platform'
    const using = renderSettings(asked, namespace, undefined)
    const schema = errorResponseOf(namespace)
    const error =
      known instanceof ShapeRefusal
        ? {
            $objectType: `${namespace}.v4.error.SchemaValidationError`,
            timestamp: settings.now(),
            statusCode: known.status,
            error: STATUS_CODES[known.status] ?? 'Error',
            path: `/api${pathIn(asked.profile, asked.path)}`.slice(0, 2000),
            validationErrorMessages: known.faults,
          }
        : [{ ...known.appMessage, ...(known.status === 500 ? { argumentsMap: { requestId } } : {}) }, ...known.further]
    const headers: Record<string, string> = { ...refused.headers, ...known.headers }
    if (known.status === 401) headers['WWW-Authenticate'] = 'Basic realm="Hyperplane", charset="UTF-8"'
    if (refused.operation?.deprecated !== undefined) deprecate(headers, refused.operation, asked)
    const data = render(schema, { error }, using)
    const links = [{ href: `${asked.origin}/api${pathIn(asked.profile, asked.path)}`, rel: 'self' }]
    const type = refused.operation?.envelope ?? `${namespace}.v4.error.ErrorResponse`
    const body = envelope(
      metadataOf({}, links, true, false),
      type,
      using,
      data,
      typeIn(asked.profile, schema.objectType as string),
    )
    return { status: known.status, headers, body }
  }

  return {
    reply,
    refusal,
    text: (value, namespace, asked) => {
      const using = renderSettings(asked, namespace, undefined)
      const links = [{ href: `${asked.origin}/api${asked.path}`, rel: 'self' }]
      return {
        status: 200,
        headers: {},
        body: envelope(
          metadataOf({}, links, false, false),
          `${namespace}.v4.config.InfoApiResponse`,
          using,
          value,
          'String',
        ),
      }
    },
  }
}

function deprecate(headers: Record<string, string>, operation: Operation, asked: Asked): void {
  headers['Deprecation'] = 'true'
  const successor = operation.deprecated?.successor
  if (successor === undefined) return
  // The successor's path has the variables of the operation's own, in the same order.
  const values = asked.path.split('/').slice(3)
  const names = operation.path.split('/').slice(1)
  const variables = values.filter((_, index) => names[index]?.startsWith('{') === true)
  let used = 0
  headers['Link'] = `<${successor.replace(/\{\w+\}/g, () => variables[used++] ?? '')}>; rel="successor-version"`
}

/** Links of the envelope: pages of a list, the task of an asynchronous operation, the entity itself. */
function linksOf(
  reply: Reply,
  operation: Operation,
  asked: Asked,
  namespaces: ReadonlyMap<string, Namespace>,
): { href: string; rel: string }[] {
  const own = `${asked.origin}/api${pathIn(asked.profile, asked.path)}`
  const href = (query: string): string => (query === '' ? own : `${own}?${query}`)
  if (reply.status === 202 && reply.location !== undefined) {
    const links = [{ href: `${asked.origin}/api${pathIn(asked.profile, reply.location)}`, rel: 'self' }]
    const collection = collectionOf(operation, namespaces)
    if (collection !== undefined) {
      links.push({
        href: `${asked.origin}/api${pathIn(asked.profile, `/${operation.namespace}/${reply.version}${collection}`)}`,
        rel: 'collection',
      })
    }
    return links
  }
  if (reply.page === undefined || reply.total === undefined) return [{ href: href(asked.query), rel: 'self' }]
  const { page, limit } = reply.page
  const last = limit === 0 ? 0 : Math.max(0, Math.ceil(reply.total / limit) - 1)
  const kept = asked.query.split('&').filter((part) => part !== '' && !/^(?:\$|%24)(?:page|limit)(?:=|$)/i.test(part))
  const at = (number: number): string => href([...kept, `$page=${number}`, `$limit=${limit}`].join('&'))
  const links = [
    { href: at(page), rel: 'self' },
    { href: at(0), rel: 'first' },
    { href: at(last), rel: 'last' },
  ]
  if (page > 0 && page <= last + 1) links.push({ href: at(page - 1), rel: 'prev' })
  if (page < last) links.push({ href: at(page + 1), rel: 'next' })
  return links
}

function collectionOf(operation: Operation, namespaces: ReadonlyMap<string, Namespace>): string | undefined {
  const kind = operation.resource?.kind
  if (kind === undefined) return undefined
  const list = namespaces
    .get(operation.namespace)
    ?.operations.find((other) => other.verb === 'list' && other.resource?.kind === kind)
  return list === undefined || list.path.includes('{') ? undefined : list.path
}

/** Entities carry a link to themselves where they can be read one by one. */
function linked(item: any, operation: Operation, reply: Reply, settings: EnvelopeSettings): any {
  const resource = operation.resource
  if (typeof item !== 'object' || item === null || resource === undefined || typeof item.extId !== 'string') return item
  if (operation.runs === 'async' || resource.schema.fields['links'] === undefined || item.links !== undefined)
    return item
  const getter = getterOf(operation, settings.namespaces)
  if (getter === undefined) return item
  const path = getter.path.replace(/\{(\w+)\}/g, (_, name: string) =>
    name === resource.parent?.param
      ? String(resource.parent.field.split('/').reduce((at: any, step) => at?.[step], item) ?? '')
      : item.extId,
  )
  return { ...item, links: [{ href: `/${operation.namespace}/${reply.version}${path}`, rel: 'self' }] }
}

/** Shape of the answer, with the properties that `$expand` adds. */
function expandedAnswer(operation: Operation, namespaces: ReadonlyMap<string, Namespace>): Operation['answer'] {
  const answer = operation.answer
  const item = answer?.type === 'list' ? answer.items : answer
  if (operation.expand === undefined || item?.type !== 'object') return answer
  let known = expandedAnswers.get(operation)
  if (known === undefined) {
    const added: Record<string, AnySchema> = {}
    for (const [name, expansion] of Object.entries(operation.expand)) {
      const property = expansion.into ?? name
      const shape = expansion.shape ?? resourceOf(expansion.kind, namespaces)?.schema
      if (shape === undefined || item.fields[property] !== undefined) continue
      added[property] = crossesList(item, expansion.by) ? { type: 'list', items: shape } : shape
    }
    const shown = { ...item, fields: { ...item.fields, ...added } }
    known = answer?.type === 'list' ? { ...answer, items: shown } : shown
    expandedAnswers.set(operation, known)
  }
  return known
}
const expandedAnswers = new WeakMap<Operation, AnySchema>()

/** Items that were expanded carry another type name, where the operation says so. */
function projected(answer: Operation['answer'], { expandedType }: Operation, { query }: Asked): Operation['answer'] {
  const isExpanded = expandedType !== undefined && /(?:^|&)(?:\$|%24)expand=./i.test(query)
  if (!isExpanded || answer?.type !== 'list' || answer.items.type !== 'object') return answer
  return { ...answer, items: { ...answer.items, objectType: expandedType } }
}

const resourceOf = (kind: string | undefined, namespaces: ReadonlyMap<string, Namespace>) =>
  [...namespaces.values()].flatMap((namespace) => namespace.resources).find((resource) => resource.kind === kind)

/** A path that leads through a collection names several entities. */
function crossesList(schema: AnySchema, path: string | undefined): boolean {
  let at: AnySchema | undefined = schema
  for (const name of path?.split('/') ?? []) {
    if (at?.type === 'list') return true
    at = at?.type === 'object' ? at.fields[name] : undefined
  }
  return at?.type === 'list'
}

const getters = new WeakMap<object, Operation | null>()
function getterOf(operation: Operation, namespaces: ReadonlyMap<string, Namespace>): Operation | undefined {
  const resource = operation.resource as object
  let getter = getters.get(resource)
  if (getter === undefined) {
    getter =
      namespaces
        .get(operation.namespace)
        ?.operations.find((other) => other.verb === 'get' && other.resource === operation.resource) ?? null
    getters.set(resource, getter)
  }
  return getter ?? undefined
}
