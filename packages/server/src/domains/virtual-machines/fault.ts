import { ApiError, type AppMessage } from '../../core/api-error.ts'

export const fault = (attributePath: string, expected: string, found: unknown): ApiError =>
  new ApiError('VMM_INVALID_ARGUMENT', { attributePath, expected, found: textOfFound(found) })

/** Faults of a part of the body, with paths of the whole body. */
export const withPathPrefix = (path: string, faults: readonly ApiError[]): ApiError[] =>
  faults.map((each) => {
    if (each.key !== 'VMM_INVALID_ARGUMENT') return each
    const further = each.further.map((message) =>
      message.code === each.appMessage.code ? placedUnder(path, message).appMessage : message,
    )
    return placedUnder(path, each.appMessage, further)
  })

function placedUnder(path: string, { argumentsMap = {} }: AppMessage, further: readonly AppMessage[] = []): ApiError {
  const { attributePath, expected = '', found = '' } = argumentsMap
  return new ApiError(
    'VMM_INVALID_ARGUMENT',
    { attributePath: `${path}/${attributePath}`, expected, found },
    { further },
  )
}

const textOfFound = (found: unknown): string => {
  if (found === undefined) return 'nothing'
  const text = typeof found === 'string' ? `"${found}"` : JSON.stringify(found)
  return text.length > 100 ? `${text.slice(0, 100)}…` : text
}
