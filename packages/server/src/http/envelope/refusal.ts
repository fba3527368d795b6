/** Source: conventions 2.3, 11. */
import { errorResponseOf, errorsOf } from '@hyperplane/contract/envelope'
import { ApiError, type AppMessage, ShapeRefusal } from '../../core/api-error.ts'
import { STATUS_CODES } from '../../core/node-http.ts'
import type { RefusedRequest } from '../../core/pipeline/request.ts'
import type { Answer } from '../answers/answer.ts'
import { pathIn, typeIn } from '../profiles/names.ts'
import { type Renderer, type RenderSettings, rendererOf } from '../profiles/render.ts'
import type { AnswerContext } from './answer-context.ts'
import { addDeprecation } from './deprecation.ts'
import { hrefOf } from './links.ts'
import { type Namespaces, renderSettings } from './reply.ts'
import { type EnvelopeText, envelopeText } from './text.ts'

export class RefusalWriter {
  readonly #namespaces: Namespaces
  /** Bounded by the types of answers, namespaces and profiles. */
  readonly #envelopes = new Map<string, EnvelopeText>()
  readonly #errors = new Map<string, Renderer>()

  constructor(namespaces: Namespaces) {
    this.#namespaces = namespaces
  }

  write(refused: RefusedRequest, context: AnswerContext, requestId: string): Answer {
    const refusal =
      refused.refusal instanceof ApiError || refused.refusal instanceof ShapeRefusal
        ? refused.refusal
        : new ApiError('INTERNAL_ERROR', { requestId })
    const namespace = refused.namespace ?? 'platform'
    const settings = renderSettings(this.#namespaces, context.profile, namespace, undefined)
    const error =
      refusal instanceof ShapeRefusal
        ? shapeError(refusal, namespace, context)
        : messagesOf(refusal, context, requestId)
    const headers: Record<string, string> = { ...refused.headers, ...refusal.headers }
    if (refusal.status === 401) headers['WWW-Authenticate'] = 'Basic realm="Hyperplane", charset="UTF-8"'
    if (refused.operation?.deprecated !== undefined) addDeprecation(headers, refused.operation, context)
    const errorType = `${errorsOf(namespace)}.ErrorResponse`
    const type = refused.operation?.envelope ?? errorType
    const discriminator = typeIn(context.profile, errorType)
    const parts = { links: [{ href: hrefOf(context), rel: 'self' }], hasError: true }
    const data = this.#rendererOf(namespace, settings)({ error }, context.origin)
    return { status: refusal.status, headers, body: this.envelopeOf(type, settings)(parts, data, discriminator) }
  }

  envelopeOf(type: string, settings: RenderSettings): EnvelopeText {
    const name = `${type} ${settings.profile} ${settings.namespace}`
    let text = this.#envelopes.get(name)
    if (text === undefined) this.#envelopes.set(name, (text = envelopeText(type, settings, false)))
    return text
  }

  #rendererOf(namespace: string, settings: RenderSettings): Renderer {
    const name = `${settings.profile} ${namespace}`
    let render = this.#errors.get(name)
    if (render === undefined) this.#errors.set(name, (render = rendererOf(errorResponseOf(namespace), settings)))
    return render
  }
}

const shapeError = (refusal: ShapeRefusal, namespace: string, { profile, base, path, now }: AnswerContext) => ({
  $objectType: `${errorsOf(namespace)}.SchemaValidationError`,
  timestamp: now(),
  statusCode: refusal.status,
  error: STATUS_CODES[refusal.status] ?? 'Error',
  path: `${base}${pathIn(profile, path)}`.slice(0, 2000),
  validationErrorMessages: refusal.faults,
})

const messagesOf = (refusal: ApiError, context: AnswerContext, requestId: string) => [
  {
    ...withProfilePaths(refusal.appMessage, context),
    ...(refusal.status === 500 ? { argumentsMap: { requestId } } : {}),
  },
  ...refusal.further,
]

/** Messages about routes quote paths and namespaces. */
function withProfilePaths(message: AppMessage, { profile, base, path }: AnswerContext): AppMessage {
  const isAboutRoute = message.errorGroup === 'RESOURCE_NOT_FOUND' || message.errorGroup === 'METHOD_NOT_ALLOWED'
  if (profile === 'spec' || !isAboutRoute) return message
  const inProfile = (text: string): string =>
    text.replaceAll(`${base}${path}`, `${base}${pathIn(profile, path)}`).replace(/(?<![/\w])platform(?!\w)/g, 'prism')
  const { argumentsMap = {} } = message
  return {
    ...message,
    message: inProfile(message.message),
    argumentsMap: Object.fromEntries(Object.entries(argumentsMap).map(([name, value]) => [name, inProfile(value)])),
  }
}
