import { ApiError } from '../../core/api-error.ts'

export const fault = (attributePath: string, expected: string, found: unknown): ApiError =>
  new ApiError('VMM_INVALID_ARGUMENT', { attributePath, expected, found: shown(found) })

/** Faults of a part of the body, with paths of the whole body. */
export const under = (path: string, faults: readonly ApiError[]): ApiError[] =>
  faults.map((each) => {
    const { attributePath, expected = '', found = '' } = each.appMessage.argumentsMap ?? {}
    return each.key === 'VMM_INVALID_ARGUMENT'
      ? new ApiError('VMM_INVALID_ARGUMENT', { attributePath: `${path}/${attributePath}`, expected, found })
      : each
  })

const shown = (found: unknown): string => {
  if (found === undefined) return 'nothing'
  const text = typeof found === 'string' ? `"${found}"` : JSON.stringify(found)
  return text.length > 100 ? `${text.slice(0, 100)}…` : text
}
