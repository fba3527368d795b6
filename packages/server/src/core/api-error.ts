/** Refusals: the only errors that leave the service. Each becomes an ErrorResponse in the envelope. */
import {
  type ErrorArguments,
  type ErrorDefinition,
  type ErrorKey,
  errorCatalogue,
} from '@hyperplane/contract/error-catalogue'
import type { TooManyReferrers } from '../store/store.ts'

export interface AppMessage {
  readonly message: string
  readonly severity: 'INFO' | 'WARNING' | 'ERROR'
  readonly code: string
  readonly locale: string
  readonly errorGroup: string
  readonly argumentsMap?: Readonly<Record<string, string>>
}

export abstract class Refusal extends Error {
  abstract readonly status: number
  readonly headers: Record<string, string> = {}
}

type ExtraArguments = Readonly<Record<string, string | number>>

/** Chosen from the catalogue; a forgotten placeholder does not compile. */
export class ApiError<K extends ErrorKey = ErrorKey> extends Refusal {
  readonly key: ErrorKey
  readonly status: number
  readonly appMessage: AppMessage
  readonly further: readonly AppMessage[]

  constructor(key: K, ...[values, options]: ArgumentsFor<K>) {
    const definition: ErrorDefinition = errorCatalogue[key]
    const given: ExtraArguments = { ...(values as ExtraArguments | undefined), ...options?.extra }
    super(fill(definition.message, given), options?.cause === undefined ? undefined : { cause: options.cause })
    this.key = key
    this.status = definition.status
    this.further = options?.further ?? []
    this.appMessage = {
      message: this.message,
      severity: 'ERROR',
      code: definition.code,
      locale: 'en_US',
      errorGroup: definition.group ?? key,
      ...(Object.keys(given).length === 0 ? {} : { argumentsMap: named(definition, texts(given)) }),
    }
  }
}

interface ErrorOptions {
  readonly extra?: ExtraArguments
  readonly further?: readonly AppMessage[]
  readonly cause?: unknown
}

type ArgumentsFor<K extends ErrorKey> = keyof ErrorArguments<K> extends never
  ? [values?: ExtraArguments, options?: ErrorOptions]
  : [values: ErrorArguments<K>, options?: ErrorOptions]

export function refuseAll(errors: readonly ApiError[]): void {
  const [first, ...rest] = errors
  if (first === undefined) return
  const all: ApiError = Object.create(first)
  throw Object.assign(all, {
    further: [...first.further, ...rest.flatMap((error) => [error.appMessage, ...error.further])],
  })
}

export const withMessages = (refusal: ApiError, change: (message: AppMessage) => AppMessage): ApiError =>
  Object.assign(Object.create(refusal), {
    appMessage: change(refusal.appMessage),
    further: refusal.further.map(change),
  })

/** For each KEY, the namespace's own `<NAMESPACE>_<KEY>` replaces code and text; group, status and arguments stay. */
export function inTermsOf(namespace: string | undefined, refusal: unknown): unknown {
  if (namespace === undefined || !(refusal instanceof ApiError)) return refusal
  const own = (message: AppMessage): AppMessage => {
    const shared = definitionOf(message.errorGroup)
    const definition = definitionOf(`${namespace.toUpperCase()}_${message.errorGroup}`)
    if (shared?.code !== message.code || definition?.status !== shared.status) return message
    const { argumentsMap = {} } = message
    const text = fill(definition.message, argumentsMap)
    return { ...message, code: definition.code, message: text, argumentsMap: named(definition, argumentsMap) }
  }
  return withMessages(refusal, own)
}

const definitionOf = (key: string): ErrorDefinition | undefined =>
  Object.hasOwn(errorCatalogue, key) ? errorCatalogue[key as ErrorKey] : undefined

export const invalid = (attributePath: string, fault: string): ApiError<'INVALID_ARGUMENT'> =>
  new ApiError('INVALID_ARGUMENT', { attributePath, fault })

export const tooManyReferrers = (violation: TooManyReferrers): ApiError<'LIMIT_EXCEEDED'> => {
  const { title, extId, maximum, found } = violation
  const values = { limit: `Associations of the ${title} ${extId}`, maximum, found }
  return new ApiError('LIMIT_EXCEEDED', values, { cause: violation })
}

export interface ShapeFault {
  readonly location: 'path' | 'query' | 'header' | 'body'
  readonly attributePath: string
  readonly message: string
}

export class ShapeRefusal extends Refusal {
  readonly status = 400
  readonly faults: readonly ShapeFault[]
  constructor(faults: readonly ShapeFault[]) {
    super(faults.map((fault) => `${fault.attributePath}: ${fault.message}`).join('; '))
    this.faults = faults.slice(0, 100)
  }
}

export const fill = (message: string, values: ExtraArguments): string =>
  message.replace(/\{(\w+)\}/g, (placeholder, name: string) =>
    values[name] === undefined ? placeholder : String(values[name]),
  )

const named = ({ argumentNames = {} }: ErrorDefinition, values: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [argumentNames[name] ?? name, value]))

const texts = (values: ExtraArguments): Record<string, string> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]))
