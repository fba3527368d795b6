/** Source: specification 2.1; catalogue common.json; behaviour conventions 2.3, 11. */
import { ApiLink } from './operation.ts'
import * as s from './schema.ts'
import { Flag, KVPair, Message } from './shapes.ts'

export const ApiResponseMetadata = s.object('common.v1.response.ApiResponseMetadata', {
  flags: s.optional(s.arrayOf(Flag)),
  links: s.optional(s.arrayOf(ApiLink)),
  totalAvailableResults: s.optional(s.integer()),
  messages: s.optional(s.arrayOf(Message)),
  extraInfo: s.optional(s.arrayOf(KVPair)),
})

export const errorsOf = (namespace: string): string => `${namespace}.${namespace === 'control' ? 'v1' : 'v4'}.error`

export const appMessageOf = (namespace: string) =>
  s.object(`${errorsOf(namespace)}.AppMessage`, {
    message: s.text({ multiline: true }),
    severity: s.enumeration(['INFO', 'WARNING', 'ERROR']),
    code: s.text(),
    locale: s.text(),
    errorGroup: s.text(),
    argumentsMap: s.optional(s.mapOf(s.text())),
  })

export const AppMessage = appMessageOf('platform')

const schemaValidationErrorOf = (namespace: string) =>
  s.object(`${errorsOf(namespace)}.SchemaValidationError`, {
    timestamp: s.timestamp(),
    statusCode: s.integer(),
    error: s.text(),
    path: s.text(),
    validationErrorMessages: s.arrayOf(
      s.object(`${errorsOf(namespace)}.SchemaValidationErrorMessage`, {
        location: s.text(),
        attributePath: s.text(),
        message: s.text({ multiline: true }),
      }),
    ),
  })

export const errorResponseOf = (namespace: string) =>
  s.object(`${errorsOf(namespace)}.ErrorResponse`, {
    error: s.optional(s.oneOf(s.arrayOf(appMessageOf(namespace)), schemaValidationErrorOf(namespace))),
  })
