/** Ids that follow from what they stand for: the same parts, the same id (UUID version 5). Source: conventions 3. */
import { createHash } from 'node:crypto'

export function nameId(...parts: readonly (string | number)[]): string {
  const hex = createHash('sha1')
    .update(['hyperplane platform', ...parts].join('\0'))
    .digest('hex')
  const variant = ((Number.parseInt(hex[16] as string, 16) & 3) | 8).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
