/** Validates all exact rows of a seed before the world is made, so that an accepted seed can be written. */

import { didYouMean } from '../core/input/nearest.ts'
import { reasonOf } from '../core/start-refusal.ts'
import { storeTables } from '../domains/tables.ts'
import { type RowHead, type RowLine, rowsInText, type Section } from './exact-rows.ts'
import { offsetIn } from './json-places.ts'
import { exportedKinds } from './left-out.ts'
import { type RowFault, rowFaults } from './row-shape.ts'
import type { SeedReading } from './seed-reading.ts'
import type { SeedFault } from './seed-refusal.ts'
import { type Place, placeIn } from './yaml-values.ts'

type Rows = Pick<SeedReading, 'spans' | 'handwritten' | 'places'>

export function* faultsOfRows(text: string, rows: Rows): Generator<SeedFault> {
  const tables = storeTables()
  const kinds = exportedKinds(tables)
  const known = new Set(kinds)
  for (const { group, value, placeOf } of rowsOf(text, rows, 'entities')) {
    const table = known.has(group) ? tables.get(group) : undefined
    const unknown = { at: [], message: `${group} is no kind that a seed holds${didYouMean(group, kinds)}` }
    const faults =
      table === undefined
        ? [unknown]
        : value instanceof SyntaxError
          ? [notJson(value)]
          : rowFaults(table.resource, value)
    for (const fault of faults) yield { ...placeOf(fault), path: `entities.${group}`, message: fault.message }
  }
  for (const { group, value, placeOf } of rowsOf(text, rows, 'facts')) {
    const faults =
      value instanceof SyntaxError ? [notJson(value)] : value === null ? [{ at: [], message: 'expected a value' }] : []
    for (const fault of faults) yield { ...placeOf(fault), path: `facts.${group}`, message: fault.message }
  }
}

interface Judged extends RowHead {
  /** A SyntaxError if the row is not JSON. */
  readonly value: unknown
  readonly placeOf: (fault: RowFault) => Place
}

function* rowsOf(text: string, { spans, handwritten, places }: Rows, section: Section): Generator<Judged> {
  const span = spans.find((each) => each.section === section)
  for (const row of rowsInText(text, span))
    yield { ...row, value: parsed(row), placeOf: (fault) => placeInLine(row, fault) }
  const numbers = new Map<string, number>()
  for (const row of handwritten[section]) {
    const number = numbers.get(row.group) ?? 0
    numbers.set(row.group, number + 1)
    const path = `${section}.${row.group}${section === 'entities' ? `[${number}]` : `.${row.id}`}`
    yield { ...row, placeOf: ({ at }) => placeIn(places, [path, ...at.map(stepInPath)].join('')) }
  }
}

function placeInLine({ line, column, json, jsonColumn }: RowLine, { at, isName }: RowFault): Place {
  if (at.length === 0) return { line, column }
  return { line, column: jsonColumn + offsetIn(json, at, isName === true ? 'name' : 'value') }
}

const stepInPath = (step: string | number): string => (typeof step === 'number' ? `[${step}]` : `.${step}`)

const notJson = (error: SyntaxError): RowFault => ({
  at: [],
  message: `is not JSON on one line (${reasonOf(error)})`,
})

function parsed({ value }: RowLine): unknown {
  try {
    return value()
  } catch (error) {
    if (error instanceof SyntaxError) return error
    throw error
  }
}
