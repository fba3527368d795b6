import { instantText, readInstant } from '@hyperplane/contract/time'

/**
 * The instant of a literal in stored form: UTC, six fractional digits. Seconds are optional, as in OData. Any year is
 * allowed, since a bound may precede the first stored time. Undefined for any other text.
 */
export function instantOf(text: string): string | undefined {
  const instant = readInstant(text, 'optional')
  return instant && instantText(instant)
}
