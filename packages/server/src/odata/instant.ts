import { instantText, readInstant } from '@hyperplane/contract/time'

/** Seconds are optional, as in OData; any year, since a bound may precede the first stored time. */
export function instantOf(text: string): string | undefined {
  const instant = readInstant(text, 'optional')
  return instant && instantText(instant)
}
