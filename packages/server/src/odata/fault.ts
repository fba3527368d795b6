export interface FaultFacts {
  readonly option: string
  readonly position: number
  readonly found: string
  readonly expected: string
}

/** Answered with 400 PLAT-10010. */
export class ODataFault extends Error {
  override readonly name = 'ODataFault'
  readonly option: string
  readonly position: number
  readonly found: string
  readonly expected: string

  /** `message` default: "expected …, found …". */
  constructor({ option, position, found, expected, message }: FaultFacts & { readonly message?: string }) {
    super(message ?? `expected ${expected}, found ${found}`)
    this.option = option
    this.position = position
    this.found = found
    this.expected = expected
  }
}

export function unlisted(option: string, field: string, position: number, allowed: readonly string[]): ODataFault {
  const expected = allowed.length === 0 ? 'no field' : `one of ${allowed.join(', ')}`
  const message = `${quoted(field)} is not available here; expected ${expected}`
  return new ODataFault({ option, position, found: quoted(field), expected, message })
}

export const quoted = (text: string): string => `"${text.length <= 60 ? text : text.slice(0, 60) + '…'}"`
