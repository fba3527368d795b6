/** A reply or a refusal -> status, headers and the JSON envelope of the request's profile. Source: conventions 2.3, 11. */

import type { Namespace, Operation } from '@hyperplane/contract'
import { errorResponseOf, errorsOf } from '@hyperplane/contract/envelope'
import { ApiError, type AppMessage, ShapeRefusal } from '../core/api-error.ts'
import { STATUS_CODES } from '../core/node-http.ts'
import type { RefusedRequest } from '../core/pipeline/request.ts'
import type { Reply } from '../core/reply.ts'
import { answerShape } from './answer-shape.ts'
import type { Asked } from './asked.ts'
import { hrefOf, type Linked, linksOf, selectsLinks, selfLinks } from './links.ts'
import { type MetadataParts, metadataWriter } from './metadata.ts'
import { type Profile, pathIn, typeIn } from './profiles/names.ts'
import { discriminatorOf, type Renderer, type RenderSettings, rendererOf, reservedOf } from './profiles/render.ts'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** undefined: no body. */
  readonly body?: string
}

export interface EnvelopeSettings {
  readonly namespaces: ReadonlyMap<string, Namespace>
}

export interface EnvelopeWriter {
  reply(reply: Reply, operation: Operation | undefined, asked: Asked): Answer
  refusal(refused: RefusedRequest, asked: Asked, requestId: string): Answer
  /** The string answer of the version negotiation. */
  text(value: string, namespace: string, asked: Asked): Answer
}

/** What is the same for all answers of an operation, in one profile and version. */
interface Form {
  readonly shape: Operation['answer']
  readonly render: Renderer | undefined
  readonly linked: Linked | undefined
  readonly write: EnvelopeText
}

type EnvelopeText = (parts: MetadataParts, data: string | undefined, discriminator: string | undefined) => string

/** Forms are as many as the contract has operations, profiles and versions. */
export function createEnvelopeWriter(settings: EnvelopeSettings): EnvelopeWriter {
  const { namespaces } = settings
  const forms = new Map<string, Form>()
  const refusals = new Map<string, EnvelopeText>()
  const errors = new Map<string, Renderer>()

  const renderSettings = (profile: Profile, namespace: string, version: string | undefined): RenderSettings => ({
    profile,
    namespace,
    version: version ?? namespaces.get(namespace)?.versions[0] ?? 'v4.3',
    versionOf: (name) => namespaces.get(name)?.versions[0] ?? 'v4.0',
  })

  function formOf(operation: Operation, reply: Reply, { profile, query }: Asked): Form {
    const isExpanded = operation.expandedType !== undefined && /(?:^|&)(?:\$|%24)expand=./i.test(query)
    const name = `${operation.key} ${profile} ${reply.version}${isExpanded ? ' expanded' : ''}`
    let form = forms.get(name)
    if (form === undefined) {
      const using = {
        ...renderSettings(profile, operation.namespace, reply.version),
        isCreation: operation.verb === 'create',
      }
      const shape = answerShape(operation, namespaces, isExpanded)
      form = {
        shape,
        render: shape === undefined ? undefined : rendererOf(shape, using),
        linked: selfLinks(operation, namespaces),
        write: envelopeText(operation.envelope, using, operation.paged),
      }
      forms.set(name, form)
    }
    return form
  }

  function reply(reply: Reply, operation: Operation | undefined, asked: Asked): Answer {
    const headers: Record<string, string> = { ...reply.headers }
    if (reply.etag !== undefined) headers['ETag'] = reply.etag
    if (reply.replayed === true) headers['Idempotent-Replayed'] = 'true'
    if (reply.location !== undefined)
      headers['Location'] = `${asked.origin}${asked.base}${pathIn(asked.profile, reply.location)}`
    if (operation?.deprecated !== undefined) deprecate(headers, operation, asked)
    if (reply.status === 204 || operation === undefined) return { status: reply.status, headers }

    const form = formOf(operation, reply, asked)
    const { total, truncated, truncatedIndexes, warnings } = reply
    const parts = { links: linksOf(reply, operation, asked, namespaces), total, truncated, truncatedIndexes, warnings }
    const body = (data: string | undefined, discriminator: string | undefined): Answer => ({
      status: reply.status,
      headers,
      body: form.write(parts, data, discriminator),
    })
    if (reply.data === undefined || form.shape === undefined || form.render === undefined)
      return body(undefined, 'EMPTY')
    // Public clients expect no data rather than an empty list, but for few operations.
    if (Array.isArray(reply.data) && reply.data.length === 0)
      return body(asked.profile === 'spec' || operation.showsEmptyList === true ? '[]' : undefined, undefined)
    const linked = form.linked !== undefined && selectsLinks(asked.query) ? form.linked : undefined
    const data =
      linked === undefined
        ? reply.data
        : form.shape.type === 'list'
          ? (reply.data as unknown[]).map((item) => linked(item, reply.version))
          : linked(reply.data, reply.version)
    const discriminator = asked.profile === 'public' ? discriminatorOf(form.shape, data, 'public') : undefined
    return body(form.render(data, asked.origin), discriminator)
  }

  function refusal(refused: RefusedRequest, asked: Asked, requestId: string): Answer {
    const cause = refused.refusal
    const known =
      cause instanceof ApiError || cause instanceof ShapeRefusal ? cause : new ApiError('INTERNAL_ERROR', { requestId })
    const namespace = refused.namespace ?? 'platform'
    const using = renderSettings(asked.profile, namespace, undefined)
    const schema = errorResponseOf(namespace)
    const name = `${asked.profile} ${namespace}`
    let render = errors.get(name)
    if (render === undefined) errors.set(name, (render = rendererOf(schema, using)))
    const error =
      known instanceof ShapeRefusal
        ? {
            $objectType: `${errorsOf(namespace)}.SchemaValidationError`,
            timestamp: asked.now(),
            statusCode: known.status,
            error: STATUS_CODES[known.status] ?? 'Error',
            path: `${asked.base}${pathIn(asked.profile, asked.path)}`.slice(0, 2000),
            validationErrorMessages: known.faults,
          }
        : [
            {
              ...routeNamed(known.appMessage, asked),
              ...(known.status === 500 ? { argumentsMap: { requestId } } : {}),
            },
            ...known.further,
          ]
    const headers: Record<string, string> = { ...refused.headers, ...known.headers }
    if (known.status === 401) headers['WWW-Authenticate'] = 'Basic realm="Hyperplane", charset="UTF-8"'
    if (refused.operation?.deprecated !== undefined) deprecate(headers, refused.operation, asked)
    const type = refused.operation?.envelope ?? `${errorsOf(namespace)}.ErrorResponse`
    const discriminator = typeIn(asked.profile, schema.objectType as string)
    const parts = { links: [{ href: hrefOf(asked), rel: 'self' }], hasError: true }
    return {
      status: known.status,
      headers,
      body: envelopeOf(type, using)(parts, render({ error }, asked.origin), discriminator),
    }
  }

  /** Of answers that no operation's form fits. */
  function envelopeOf(type: string, using: RenderSettings): EnvelopeText {
    const name = `${type} ${using.profile} ${using.namespace}`
    let text = refusals.get(name)
    if (text === undefined) refusals.set(name, (text = envelopeText(type, using, false)))
    return text
  }

  return {
    reply,
    refusal,
    text(value, namespace, asked) {
      const using = renderSettings(asked.profile, namespace, undefined)
      const write = envelopeOf(`${namespace}.v4.config.InfoApiResponse`, using)
      const parts = { links: [{ href: `${asked.origin}${asked.base}${asked.path}`, rel: 'self' }] }
      return { status: 200, headers: {}, body: write(parts, JSON.stringify(value), 'String') }
    },
  }
}

function envelopeText(type: string, using: RenderSettings, isPaged: boolean): EnvelopeText {
  const metadata = metadataWriter(using, isPaged)
  const dataText = (data: string | undefined): string => (data === undefined ? '' : `,"data":${data}`)
  if (using.profile === 'spec') return (parts, data) => `{"metadata":${metadata(parts)}${dataText(data)}}`
  const begin = `{"$objectType":${JSON.stringify(typeIn('public', type))},"$reserved":${JSON.stringify(reservedOf(using, type))}`
  return (parts, data, discriminator) => {
    const told = discriminator === undefined ? '' : `,"$dataItemDiscriminator":${JSON.stringify(discriminator)}`
    return `${begin}${told},"metadata":${metadata(parts)}${dataText(data)}}`
  }
}

/** What names routes names those of the profile: nothing else in a message is a name of ours. */
function routeNamed(message: AppMessage, { profile, base, path }: Asked): AppMessage {
  const isAboutRoute = message.errorGroup === 'RESOURCE_NOT_FOUND' || message.errorGroup === 'METHOD_NOT_ALLOWED'
  if (profile === 'spec' || !isAboutRoute) return message
  const named = (text: string): string =>
    text.replaceAll(`${base}${path}`, `${base}${pathIn(profile, path)}`).replace(/(?<![/\w])platform(?!\w)/g, 'prism')
  const { argumentsMap = {} } = message
  return {
    ...message,
    message: named(message.message),
    argumentsMap: Object.fromEntries(Object.entries(argumentsMap).map(([name, value]) => [name, named(value)])),
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
