/** The shapes around every answer. Source: specification 2.1; catalogue common.json; behaviour conventions 2.3, 11. */
import { ApiLink } from './operation.ts'
import { arrayOf, enumeration, integer, mapOf, object, oneOf, optional, text, timestamp } from './schema.ts'
import { Flag, KVPair, Message } from './shapes.ts'

export const ApiResponseMetadata = object('common.v1.response.ApiResponseMetadata', {
  flags: optional(arrayOf(Flag)),
  links: optional(arrayOf(ApiLink)),
  totalAvailableResults: optional(integer()),
  messages: optional(arrayOf(Message)),
  extraInfo: optional(arrayOf(KVPair)),
})

/** Error shapes carry the namespace of the request. */
/** Prefix of the type names of a namespace's errors. The control interface has its own first version. */
export const errorsOf = (namespace: string): string => `${namespace}.${namespace === 'control' ? 'v1' : 'v4'}.error`

export const appMessageOf = (namespace: string) =>
  object(`${errorsOf(namespace)}.AppMessage`, {
    message: text({ multiline: true }),
    severity: enumeration(['INFO', 'WARNING', 'ERROR']),
    code: text(),
    locale: text(),
    errorGroup: text(),
    argumentsMap: optional(mapOf(text())),
  })

export const AppMessage = appMessageOf('platform')

const schemaValidationErrorOf = (namespace: string) =>
  object(`${errorsOf(namespace)}.SchemaValidationError`, {
    timestamp: timestamp(),
    statusCode: integer(),
    error: text(),
    path: text(),
    validationErrorMessages: arrayOf(
      object(`${errorsOf(namespace)}.SchemaValidationErrorMessage`, {
        location: text(),
        attributePath: text(),
        message: text({ multiline: true }),
      }),
    ),
  })

export const errorResponseOf = (namespace: string) =>
  object(`${errorsOf(namespace)}.ErrorResponse`, {
    error: optional(oneOf(arrayOf(appMessageOf(namespace)), schemaValidationErrorOf(namespace))),
  })
