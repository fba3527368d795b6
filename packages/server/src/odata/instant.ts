import { instantText, readInstant } from '@hyperplane/contract/time'

/**
 * The instant that a literal names, as the store keeps it: UTC, six fractional digits. Seconds may be left out, as OData has it.
 * Any year will do: a bound before the first stored time is a bound. Undefined for any other text.
 */
export function instantOf(text: string): string | undefined {
  const instant = readInstant(text, 'optional')
  return instant && instantText(instant)
}
