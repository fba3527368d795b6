/**
 * Exact rows, written by exports: YAML with one line of JSON per row, so that rows can be streamed. Rows in any other YAML form count as
 * handwritten text, and its size limit applies to them.
 */
import { createReadStream } from 'node:fs'
import type { Place } from './yaml-values.ts'

/** Its place is the beginning of the value or of the id. */
export interface RowHead extends Place {
  /** A kind, or a collection of facts. */
  readonly group: string
  readonly id?: string
}

export interface ExactRow extends RowHead {
  readonly value: () => unknown
}

export interface RowLine extends ExactRow {
  readonly json: string
  readonly jsonColumn: number
}

export type Section = 'entities' | 'facts'
const sections: readonly Section[] = ['entities', 'facts']

export const groupLine = (group: string): string =>
  `  ${/^[A-Za-z][\w.-]*$/.test(group) ? group : JSON.stringify(group)}:\n`
export const entityLine = (json: string): string => `    - ${json}\n`
export const factLine = (id: string, json: string): string => `    ${JSON.stringify(id)}: ${json}\n`

/** Part of a text in characters, or of a file in bytes, with one row per line. */
export interface Span {
  readonly section: Section
  readonly from: number
  readonly to: number
  readonly line: number
}

export interface SplitText {
  readonly rest: string
  /** Maps a line of `rest` to a line of the whole text. */
  readonly lineOf: (restLine: number) => number
  readonly spans: readonly Span[]
}

export function splitExactRows(text: string): SplitText {
  const spans = sections.flatMap((section) => spanOf(text, section) ?? []).sort((a, b) => a.from - b.from)
  let rest = ''
  let at = 0
  const gaps: { readonly behind: number; readonly lines: number }[] = []
  for (const span of spans) {
    const heading = span.from - span.section.length - 2
    rest += text.slice(at, heading)
    gaps.push({ behind: countLines(rest, 0, rest.length), lines: countLines(text, heading, span.to) })
    at = span.to
  }
  return {
    rest: rest + text.slice(at),
    lineOf: (restLine) => gaps.reduce((line, gap) => line + (restLine > gap.behind ? gap.lines : 0), restLine),
    spans,
  }
}

function spanOf(text: string, section: Section): Span | undefined {
  const heading = `${section}:\n`
  const start = text.startsWith(heading) ? 0 : text.indexOf(`\n${heading}`) + 1
  if (start === 0 && !text.startsWith(heading)) return undefined
  const from = start + heading.length
  const rowForm = section === 'entities' ? /^ {4}- \{.*\}$/ : /^ {4}"(?:[^"\\]|\\.)*": .+$/
  let to = from
  let groups = 0
  for (const [line, end] of linesFrom(text, from)) {
    if (/^[^\s#]/.test(line)) break
    if (/^ {2}[^\s].*:$/.test(line)) groups++
    else if (line.trim() !== '' && !/^ *#/.test(line) && !(groups > 0 && rowForm.test(line))) return undefined
    to = end
  }
  return { section, from, to, line: countLines(text, 0, from) + 1 }
}

export function spansInBytes(bytes: Buffer, text: string, spans: readonly Span[]): Span[] {
  return spans.map((span) => {
    const from = behindLines(bytes, 0, span.line - 1)
    return { ...span, from, to: behindLines(bytes, from, countLines(text, span.from, span.to)) }
  })
}

function behindLines(bytes: Buffer, from: number, lines: number): number {
  let at = from
  for (let left = lines; left > 0; left--) {
    const end = bytes.indexOf('\n', at)
    if (end === -1) return bytes.length
    at = end + 1
  }
  return at
}

export function* rowsInText(text: string, span: Span | undefined): Generator<RowLine> {
  if (span === undefined) return
  const reader = new RowReader(span)
  for (const [line] of linesFrom(text, span.from, span.to)) yield* reader.read(line)
}

/** Yields to other work between chunks of rows. */
export async function* rowsInFile(file: string, span: Span | undefined): AsyncGenerator<RowLine> {
  if (span === undefined || span.to === span.from) return
  const reader = new RowReader(span)
  let unfinished = ''
  for await (const chunk of createReadStream(file, { encoding: 'utf8', start: span.from, end: span.to - 1 })) {
    const lines = `${unfinished}${chunk}`.split('\n')
    unfinished = lines.pop() ?? ''
    for (const line of lines) yield* reader.read(withoutReturn(line))
  }
  yield* reader.read(withoutReturn(unfinished))
}

class RowReader {
  readonly #section: Section
  #line: number
  #group = ''

  constructor({ section, line }: Span) {
    this.#section = section
    this.#line = line - 1
  }

  *read(text: string): Generator<RowLine> {
    const line = ++this.#line
    if (text.trim() === '' || /^ *#/.test(text)) return
    if (!text.startsWith('    ')) {
      const written = text.slice(2, -1)
      this.#group = written.startsWith('"') ? (JSON.parse(written) as string) : written
      return
    }
    const key = this.#section === 'entities' ? '- ' : `${/^"(?:[^"\\]|\\.)*"/.exec(text.slice(4))?.[0]}: `
    const column = this.#section === 'entities' ? 7 : 5
    const id = this.#section === 'entities' ? {} : { id: JSON.parse(key.slice(0, -2)) as string }
    const json = text.slice(4 + key.length)
    const jsonColumn = 5 + key.length
    yield { group: this.#group, ...id, line, column, json, jsonColumn, value: () => JSON.parse(json) }
  }
}

/** Each line without its end, and the offset of the next one. */
function* linesFrom(text: string, from: number, to = text.length): Generator<readonly [string, number]> {
  for (let at = from; at < to; ) {
    const end = text.indexOf('\n', at)
    const next = end === -1 ? text.length : end + 1
    yield [withoutReturn(text.slice(at, end === -1 ? text.length : end)), next]
    at = next
  }
}

const withoutReturn = (line: string): string => (line.endsWith('\r') ? line.slice(0, -1) : line)

function countLines(text: string, from: number, to: number): number {
  let count = 0
  for (let at = text.indexOf('\n', from); at !== -1 && at < to; at = text.indexOf('\n', at + 1)) count++
  return count
}
