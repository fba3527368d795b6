/** Source: conventions 2.3. */
import type { Namespace, Operation } from '@hyperplane/contract'
import type { RenderedAnswer } from '../../core/pipeline/request.ts'
import type { Reply } from '../../core/reply.ts'
import type { Answer } from '../answers/answer.ts'
import { type Profile, pathIn } from '../profiles/names.ts'
import { discriminatorOf, type Renderer, type RenderSettings, rendererOf } from '../profiles/render.ts'
import type { AnswerContext } from './answer-context.ts'
import { answerShape } from './answer-shape.ts'
import { cachedBodies } from './cached-bodies.ts'
import { addDeprecation } from './deprecation.ts'
import { hrefOf, type LinkSelf, linksOf, selectsLinks, selfLinks } from './links.ts'
import { renderedTexts } from './rendered-texts.ts'
import { type EnvelopeText, envelopeText } from './text.ts'

export type Namespaces = ReadonlyMap<string, Namespace>

/** Shared by all replies of one operation in one profile and version. */
interface Form {
  readonly name: string
  readonly shape: Operation['answer']
  readonly render: Renderer | undefined
  readonly linkSelf: LinkSelf | undefined
  readonly write: EnvelopeText
}

export class ReplyWriter {
  readonly #namespaces: Namespaces
  /** Bounded by the operations, profiles and versions of the contract. */
  readonly #forms = new Map<string, Form>()

  constructor(namespaces: Namespaces) {
    this.#namespaces = namespaces
  }

  write(reply: Reply, operation: Operation | undefined, context: AnswerContext, rendered?: RenderedAnswer): Answer {
    const { status } = reply
    const headers = headersOf(reply, operation, context)
    const found = rendered && cachedBodies.again(rendered, context)
    if (found !== undefined) return { status, headers, body: found.body, bytes: found.bytes }
    if (status === 204 || operation === undefined) return { status, headers }

    const form = this.#formOf(operation, reply, context)
    const write = (): string => {
      const { total, truncated, truncatedIndexes, warnings } = reply
      const links = linksOf(reply, operation, context, this.#namespaces)
      const [data, discriminator] = contentOf(form, reply, operation, context)
      return form.write({ links, total, truncated, truncatedIndexes, warnings }, data, discriminator)
    }
    const key = keyOf(form, reply, context)
    if (operation.mutates || key === undefined) return { status, headers, body: write() }
    const body = cachedBodies.of(Array.isArray(reply.data) ? reply.data : [reply.data], key, write)
    if (rendered !== undefined) cachedBodies.keepFor(rendered, context, body)
    return { status, headers, body: body.body, bytes: body.bytes }
  }

  #formOf(operation: Operation, reply: Reply, { profile, query }: AnswerContext): Form {
    const isExpanded = operation.expandedType !== undefined && /(?:^|&)(?:\$|%24)expand=./i.test(query)
    const name = `${operation.key} ${profile} ${reply.version}${isExpanded ? ' expanded' : ''}`
    const cached = this.#forms.get(name)
    if (cached !== undefined) return cached
    const settings = {
      ...renderSettings(this.#namespaces, profile, operation.namespace, reply.version),
      isCreation: operation.verb === 'create',
    }
    const shape = answerShape(operation, this.#namespaces, isExpanded)
    const form = {
      name,
      shape,
      render: shape === undefined ? undefined : rendererOf(shape.type === 'list' ? shape.items : shape, settings),
      linkSelf: selfLinks(operation, this.#namespaces),
      write: envelopeText(operation.envelope, settings, operation.paged),
    }
    this.#forms.set(name, form)
    return form
  }
}

/** Everything that a body depends on beside its entities. undefined: too much to compare. */
function keyOf({ name }: Form, reply: Reply, { origin, path, query }: AnswerContext): string | undefined {
  const { total, page, location, truncated, truncatedIndexes, warnings = [] } = reply
  if (location !== undefined || truncated === true || truncatedIndexes !== undefined || warnings.length > 0)
    return undefined
  return `${name} ${origin}${path}?${query} ${page?.page} ${page?.limit} ${total}`
}

export const renderSettings = (
  namespaces: Namespaces,
  profile: Profile,
  namespace: string,
  version: string | undefined,
): RenderSettings => ({
  profile,
  namespace,
  version: version ?? namespaces.get(namespace)?.versions[0] ?? 'v4.3',
  versionOf: (name) => namespaces.get(name)?.versions[0] ?? 'v4.0',
})

function headersOf(reply: Reply, operation: Operation | undefined, context: AnswerContext): Record<string, string> {
  const headers: Record<string, string> = { ...reply.headers }
  if (reply.etag !== undefined) headers['ETag'] = reply.etag
  if (reply.replayed === true) headers['Idempotent-Replayed'] = 'true'
  if (reply.location !== undefined)
    headers['Location'] = `${context.origin}${context.base}${pathIn(context.profile, reply.location)}`
  if (operation?.deprecated !== undefined) addDeprecation(headers, operation, context)
  return headers
}

/** With the discriminator that public clients expect beside `data`. */
function contentOf(
  { name, shape, render, linkSelf }: Form,
  { data, version }: Reply,
  operation: Operation,
  context: AnswerContext,
): readonly [data: string | undefined, discriminator: string | undefined] {
  const { profile, query, origin } = context
  if (data === undefined || shape === undefined || render === undefined) return [undefined, 'EMPTY']
  // For most operations, public clients expect no `data` rather than an empty list.
  if (Array.isArray(data) && data.length === 0)
    return [profile === 'spec' || operation.showsEmptyList === true ? '[]' : undefined, undefined]
  const isLinked = linkSelf !== undefined && selectsLinks(query)
  const link = operation.verb === 'read' ? hrefOf(context, query) : origin
  const key = `${name} ${isLinked ? link : `${origin} unlinked`}`
  const text = (item: unknown): string =>
    renderedTexts.of(item, key, () => render(isLinked ? linkSelf(item, version, context) : item, origin))
  const discriminator = profile === 'public' ? discriminatorOf(shape, data, 'public') : undefined
  if (shape.type !== 'list') return [text(data), discriminator]
  return [`[${(data as readonly unknown[]).map(text).join(',')}]`, discriminator]
}
