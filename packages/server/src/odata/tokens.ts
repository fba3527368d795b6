import { ODataFault, quoted } from './fault.ts'
import { instantOf } from './instant.ts'

export const maximumCharacters = 8192

interface Place {
  readonly source: string
  readonly position: number
}
export interface WordToken extends Place {
  readonly kind: 'word' | 'symbol' | 'end'
}
export interface LiteralToken extends Place {
  readonly kind: 'text' | 'guid' | 'instant' | 'enumeration' | 'number'
  readonly value: string | number
}
export type Token = WordToken | LiteralToken

const blanks = /[ \t\r\n]*/y
const guid = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?![\w-])/iy
const wholeGuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i
const date = /\d{4}-\d\d-\d\d(?:T[\d:.]*(?:Z|[+-][\d:]*)?)?/iy
const number = /[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.])/iy
/** `$` and `@` names exist only to be refused. */
const word = /[$@]?[a-z_]\w*(?:\.[a-z_]\w*)*/iy
const symbol = /[(),/:;=*]/y
const anything = /[^ \t\r\n(),]+/y

const refusedLiterals = new Set(['binary', 'duration', 'geography', 'geometry'])

/** Linear time in the length of any text. */
export class Tokens {
  readonly option: string
  readonly #text: string
  #at = 0
  #next: Token | undefined

  constructor(option: string, text: string) {
    this.option = option
    this.#text = text
    if (text.length > maximumCharacters) {
      throw new ODataFault({
        option,
        position: maximumCharacters + 1,
        found: `${text.length} characters`,
        expected: `at most ${maximumCharacters} characters`,
      })
    }
  }

  peek(): Token {
    this.#next ??= this.#scan()
    return this.#next
  }

  take(): Token {
    const token = this.peek()
    this.#next = undefined
    return token
  }

  fault(token: Token, expected: string, message?: string): ODataFault {
    const found = token.kind === 'end' ? 'the end' : quoted(token.source)
    const { option } = this
    return new ODataFault({ option, position: token.position, found, expected, message })
  }

  #scan(): Token {
    this.#match(blanks)
    const start = this.#at
    const position = start + 1
    const first = this.#text[start]
    if (first === undefined) return { kind: 'end', source: '', position }
    const source = (): string => this.#text.slice(start, this.#at)

    if (first === "'") return { kind: 'text', value: this.#quotedText(), source: source(), position }
    if (first === '"') {
      const close = this.#text.indexOf('"', start + 1)
      const value = this.#text.slice(start + 1, close < 0 ? undefined : close)
      if (close < 0 || !wholeGuid.test(value)) {
        throw this.#unreadable('a UUID between double quotes (other texts stand between single quotes)')
      }
      this.#at = close + 1
      return { kind: 'guid', value, source: source(), position }
    }
    if (this.#match(guid)) return { kind: 'guid', value: source(), source: source(), position }
    if (this.#match(date)) {
      const value = instantOf(source())
      if (value === undefined) {
        this.#at = start
        throw this.#unreadable('a date-time with an offset, such as 2026-01-31T08:00:00Z')
      }
      return { kind: 'instant', value, source: source(), position }
    }
    if (this.#match(number)) {
      const value = Number(source())
      if (!Number.isFinite(value) || (Math.abs(value) > Number.MAX_SAFE_INTEGER && Number.isInteger(value))) {
        this.#at = start
        throw this.#unreadable('a number between -(2^53-1) and 2^53-1')
      }
      return { kind: 'number', value, source: source(), position }
    }
    if (this.#match(word)) {
      const name = source()
      if (this.#text[this.#at] !== "'" || name.startsWith('$') || name.startsWith('@')) {
        return { kind: 'word', source: name, position }
      }
      const value = this.#quotedText()
      const token: Token = { kind: 'enumeration', value, source: source(), position }
      if (refusedLiterals.has(name)) throw this.fault(token, 'another literal', `${name} literals are not supported`)
      return token
    }
    if (this.#match(symbol)) return { kind: 'symbol', source: first, position }
    if (first === '+' || first === '-') {
      throw this.#unreadable('a number or a field', `arithmetic (${quoted(first)}) is not supported`)
    }
    throw this.#unreadable('a field, a literal or an operator')
  }

  #quotedText(): string {
    const open = this.#at
    const parts: string[] = []
    for (;;) {
      const close = this.#text.indexOf("'", this.#at + 1)
      if (close < 0) {
        const { option } = this
        throw new ODataFault({ option, position: open + 1, found: 'the end', expected: 'a closing quote' })
      }
      parts.push(this.#text.slice(this.#at + 1, close))
      this.#at = close + 1
      if (this.#text[this.#at] !== "'") break
    }
    const value = parts.join("'")
    // Stored texts never have these characters, and stores disagree about them.
    if (/[\0-\x08\x0b\x0c\x0e-\x1f]/.test(value) || !value.isWellFormed()) {
      this.#at = open
      throw this.#unreadable('text without control characters', 'the text holds control characters or half characters')
    }
    return value.normalize('NFC')
  }

  #match(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at
    if (!pattern.test(this.#text)) return false
    this.#at = pattern.lastIndex
    return true
  }

  #unreadable(expected: string, message?: string): ODataFault {
    const start = this.#at
    if (!this.#match(anything)) this.#at += 1
    return this.fault(
      { kind: 'word', source: this.#text.slice(start, this.#at), position: start + 1 },
      expected,
      message,
    )
  }
}
