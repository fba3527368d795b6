/**
 * Rows as they are stored, in a seed: what an export writes, and what makes an equal world of it.
 *
 * ```yaml
 * entities:
 *   Category:
 *     - {"extId":"…","key":"Environment", …}
 * facts:
 *   hardware.clusters:
 *     "6f1c…": {"settings":{ … }}
 * ```
 *
 * That is YAML, and one line of JSON a row: so written, rows are read one at a time, however many there are. A hand may write
 * them in any other way that YAML allows; they then count as what else a hand writes.
 */
import type { Place } from './yaml-values.ts'

export interface ExactRow extends Place {
  /** A kind, or a collection of facts. */
  readonly group: string
  /** Of a fact. */
  readonly id?: string
  /** @throws SyntaxError */
  readonly value: () => unknown
}

type Section = 'entities' | 'facts'
const sections: readonly Section[] = ['entities', 'facts']

export const groupLine = (group: string): string =>
  `  ${/^[A-Za-z][\w.-]*$/.test(group) ? group : JSON.stringify(group)}:\n`
/** @param json on one line */
export const entityLine = (json: string): string => `    - ${json}\n`
export const factLine = (id: string, json: string): string => `    ${JSON.stringify(id)}: ${json}\n`

/** Where in a text rows stand one a line. */
interface Span {
  readonly section: Section
  /** Behind the line `entities:`. */
  readonly from: number
  readonly to: number
  /** Of `from`. */
  readonly line: number
}

export interface SplitText {
  /** The text without those rows. */
  readonly rest: string
  /** The line of the text in which a line of `rest` stands. */
  readonly lineOf: (restLine: number) => number
  rows(section: Section): Iterable<ExactRow>
}

/** Takes out the sections that stand one row a line. */
export function splitExactRows(text: string): SplitText {
  const spans = sections.flatMap((section) => spanOf(text, section) ?? []).sort((a, b) => a.from - b.from)
  let rest = ''
  let at = 0
  /** Lines of `rest` behind which lines were taken out, and how many. */
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
    rows: (section) =>
      rowsOf(
        text,
        spans.find((span) => span.section === section),
      ),
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

function* rowsOf(text: string, span: Span | undefined): Generator<ExactRow> {
  if (span === undefined) return
  let group = ''
  let number = span.line - 1
  for (const [line] of linesFrom(text, span.from, span.to)) {
    number++
    if (line.trim() === '' || /^ *#/.test(line)) continue
    if (!line.startsWith('    ')) {
      const written = line.slice(2, -1)
      group = written.startsWith('"') ? (JSON.parse(written) as string) : written
    } else if (span.section === 'entities') {
      yield { group, line: number, column: 7, value: () => JSON.parse(line.slice(6)) }
    } else {
      const key = /^"(?:[^"\\]|\\.)*"/.exec(line.slice(4))?.[0] as string
      const id = JSON.parse(key) as string
      yield { group, id, line: number, column: 5, value: () => JSON.parse(line.slice(4 + key.length + 1)) }
    }
  }
}

/** Each line without its end, and where the next one begins. */
function* linesFrom(text: string, from: number, to = text.length): Generator<readonly [string, number]> {
  for (let at = from; at < to; ) {
    const end = text.indexOf('\n', at)
    const next = end === -1 ? text.length : end + 1
    const line = text.slice(at, end === -1 ? text.length : end)
    yield [line.endsWith('\r') ? line.slice(0, -1) : line, next]
    at = next
  }
}

function countLines(text: string, from: number, to: number): number {
  let count = 0
  for (let at = text.indexOf('\n', from); at !== -1 && at < to; at = text.indexOf('\n', at + 1)) count++
  return count
}
