/** A query option that cannot be read or does not fit the operation. The core answers it with 400 PLAT-10010. */
export class ODataFault extends Error {
  override readonly name = 'ODataFault'
  /** `$filter`, `$orderby`, … */
  readonly option: string
  /** Column in the text of the option; the first character is 1. */
  readonly position: number
  readonly found: string
  readonly expected: string

  /** `message` says what is wrong without option and position; by default "expected …, found …". */
  constructor(
    option: string,
    fault: {
      readonly position: number
      readonly found: string
      readonly expected: string
      readonly message?: string
    },
  ) {
    super(fault.message ?? `expected ${fault.expected}, found ${fault.found}`)
    this.option = option
    this.position = fault.position
    this.found = fault.found
    this.expected = fault.expected
  }
}

/** A piece of the request as it may stand in a message: quoted, and cut when it is long. */
export const quoted = (text: string): string => `"${text.length <= 60 ? text : text.slice(0, 60) + '…'}"`
