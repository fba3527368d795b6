import { ApiError } from '../../core/api-error.ts'

export const fault = (attributePath: string, expected: string, found: unknown): ApiError =>
  new ApiError('VMM_INVALID_ARGUMENT', { attributePath, expected, found: shown(found) })

const shown = (found: unknown): string => {
  if (found === undefined) return 'nothing'
  const text = typeof found === 'string' ? `"${found}"` : JSON.stringify(found)
  return text.length > 100 ? `${text.slice(0, 100)}…` : text
}
