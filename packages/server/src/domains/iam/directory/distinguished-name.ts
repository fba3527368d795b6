/** Parses and normalises distinguished names. Source: RFC 4514; behaviour iam.md 3. */

/** One level, `cn=vm-admins`, or pairs joined by `+`. Types in lower case, values unescaped. */
type RelativeName = readonly { readonly type: string; readonly value: string }[]

/** Equal for equal names in any spelling; undefined if the text is not a distinguished name. */
export function normalForm(text: string): string | undefined {
  return parse(text)
    ?.map((rdn) =>
      rdn
        .map(
          ({ type, value }) => `${type}=${escaped(value.normalize('NFC').toLowerCase().trim().replace(/\s+/g, ' '))}`,
        )
        .sort()
        .join('+'),
    )
    .join(',')
}

/** `vm-admins` for `cn=vm-admins,ou=groups`; '' if the text is not a distinguished name. */
export const firstValue = (text: string): string => parse(text)?.[0]?.[0]?.value ?? ''

const escaped = (value: string): string => value.replace(/[\\,+=]/g, '\\$&')

const attributeType = /^(?:[A-Za-z][A-Za-z0-9-]*|\d+(?:\.\d+)+)$/

function parse(text: string): readonly RelativeName[] | undefined {
  const names: RelativeName[] = []
  let rdn: { type: string; value: string }[] = []
  let at = 0
  for (;;) {
    const equals = text.indexOf('=', at)
    const type = equals < 0 ? '' : text.slice(at, equals).trim()
    if (!attributeType.test(type)) return undefined
    const read = readValue(text, equals + 1)
    if (read === undefined) return undefined
    rdn.push({ type: type.toLowerCase(), value: read.value })
    const separator = text[read.end]
    if (separator !== '+') {
      names.push(rdn)
      rdn = []
    }
    if (separator === undefined) return names
    at = read.end + 1
  }
}

function readValue(text: string, from: number): { readonly value: string; readonly end: number } | undefined {
  const start = from + (/^ */.exec(text.slice(from))?.[0].length ?? 0)
  if (text[start] === '#') return readHex(text, start)
  const bytes: Buffer[] = []
  let trimmedLength = 0
  let at = start
  for (; at < text.length && text[at] !== ',' && text[at] !== '+'; at++) {
    const character = text[at] as string
    if (/["<>;\0]/.test(character)) return undefined
    if (character !== '\\') {
      const symbol = String.fromCodePoint(text.codePointAt(at) as number)
      bytes.push(Buffer.from(symbol))
      at += symbol.length - 1
      if (symbol !== ' ') trimmedLength = bytes.length
      continue
    }
    const pair = /^[0-9A-Fa-f]{2}/.exec(text.slice(at + 1, at + 3))?.[0]
    const special = /^[ "#+,;<=>\\]/.exec(text.slice(at + 1, at + 2))?.[0]
    if (pair === undefined && special === undefined) return undefined
    bytes.push(pair === undefined ? Buffer.from(special as string) : Buffer.from(pair, 'hex'))
    at += pair === undefined ? 1 : 2
    trimmedLength = bytes.length
  }
  const value = Buffer.concat(bytes.slice(0, trimmedLength)).toString('utf8')
  return value === '' ? undefined : { value, end: at }
}

/** `#04024869`: a value in BER, compared as text. */
function readHex(text: string, start: number): { readonly value: string; readonly end: number } | undefined {
  const [match, value] = /^(#(?:[0-9A-Fa-f]{2})+) *(?=[,+]|$)/.exec(text.slice(start)) ?? []
  return match === undefined || value === undefined ? undefined : { value, end: start + match.length }
}
