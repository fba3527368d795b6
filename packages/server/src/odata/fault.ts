export interface FaultFacts {
  /** `$filter`, `$orderby`, … */
  readonly option: string
  /** Column in the text of the option; the first character is 1. */
  readonly position: number
  readonly found: string
  readonly expected: string
}

/** A query option that cannot be read or does not fit the operation. The core answers it with 400 PLAT-10010. */
export class ODataFault extends Error {
  override readonly name = 'ODataFault'
  readonly option: string
  readonly position: number
  readonly found: string
  readonly expected: string

  /** `message` says what is wrong without option and position; by default "expected …, found …". */
  constructor({ option, position, found, expected, message }: FaultFacts & { readonly message?: string }) {
    super(message ?? `expected ${expected}, found ${found}`)
    this.option = option
    this.position = position
    this.found = found
    this.expected = expected
  }
}

/** The fault for a field that does not exist or is not listed by the operation. */
export function unlisted(option: string, field: string, position: number, allowed: readonly string[]): ODataFault {
  const expected = allowed.length === 0 ? 'no field' : `one of ${allowed.join(', ')}`
  const message = `${quoted(field)} is not available here; expected ${expected}`
  return new ODataFault({ option, position, found: quoted(field), expected, message })
}

/** Quotes a piece of the request for a message, shortened if it is long. */
export const quoted = (text: string): string => `"${text.length <= 60 ? text : text.slice(0, 60) + '…'}"`
