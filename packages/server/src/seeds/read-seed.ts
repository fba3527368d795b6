/**
 * What a new world is asked to hold: a preset, a file, or a text. Reading finds everything that is wrong with the writing;
 * what names nothing, or fits nowhere, is found while the world is filled.
 */
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { didYouMean } from '../core/nearest.ts'
import { reasonOf, StartRefusal } from '../start-refusal.ts'
import { storeTables } from '../store-tables.ts'
import { type ExactRow, splitExactRows } from './exact-rows.ts'
import { type Declared, type SeedContent, SeedFile } from './format.ts'
import { isLeftOutKind } from './left-out.ts'
import { countsIn } from './numbered.ts'
import type { SeedPreset } from './presets.ts'
import { rowFault } from './row-shape.ts'
import { maximumFaults, type SeedFault, SeedRefusal } from './seed-refusal.ts'
import { type Place, readYaml } from './yaml-values.ts'

export type SeedSource = SeedPreset | { readonly file: string } | { readonly text: string }

/** One text's part of a world; a seed that extends a preset has two. */
export interface Layer {
  /** For people: `The seed /tmp/lab.yaml`. */
  readonly name: string
  readonly declared: Declared
  readonly placeOf: (path: string) => Place
}

export interface ExactRows {
  readonly entities: () => Iterable<ExactRow>
  readonly facts: () => Iterable<ExactRow>
}

export interface SeedPlan {
  /** For people. */
  readonly name: string
  /** What the layers add to: the inventory of the demo, what every world has, or not even that. */
  readonly base: 'demo' | 'empty' | 'nothing'
  /** Seeds everything that is drawn. Absent for the bare preset `empty`: each such world is another one. */
  readonly random?: string
  /** Equal texts have equal ones. */
  readonly digest: string
  /** Other names for what the demo calls by these. */
  readonly names: Readonly<Record<string, string>>
  readonly rows: ExactRows
  readonly layers: readonly Layer[]
  /** Of an exported world. */
  readonly world?: NonNullable<SeedContent['world']>
}

/** Larger ones are not one text for the engine. */
const largestFileBytes = 400 * 1024 ** 2
/** Of what is not written one row a line. */
const largestHandwritten = 512 * 1024

/** @throws SeedRefusal with every fault, its line and its column; StartRefusal for a file that cannot be read */
export function readSeed(source: SeedSource): SeedPlan {
  if (typeof source === 'string') return presetPlan(source)
  if ('text' in source) return planOf('The seed', source.text)
  return planOf(`The seed ${source.file}`, textOf(source.file))
}

function textOf(file: string): string {
  let bytes: Buffer
  try {
    bytes = readFileSync(file)
  } catch (error) {
    throw new StartRefusal(
      `The seed ${file} cannot be read (${reasonOf(error)}): correct the path of --seed, or the file's permissions.`,
      { cause: error },
    )
  }
  if (bytes.byteLength > largestFileBytes)
    throw new StartRefusal(`The seed ${file} has ${bytes.byteLength} bytes: expected at most ${largestFileBytes}.`)
  return bytes.toString('utf8')
}

function presetPlan(preset: SeedPreset): SeedPlan {
  const none = { digest: preset, names: {}, rows: { entities: () => [], facts: () => [] }, layers: [] }
  if (preset === 'empty') return { ...none, name: 'The preset empty', base: 'empty' }
  if (preset === 'demo') return { ...none, name: 'The preset demo', base: 'demo', random: 'demo' }
  const file = join(import.meta.dirname, 'presets', `${preset}.yaml`)
  return { ...planOf(`The preset ${preset}`, readFileSync(file, 'utf8')), random: preset }
}

function planOf(name: string, text: string): SeedPlan {
  const { rest, lineOf, rows } = splitExactRows(text)
  if (rest.length > largestHandwritten) {
    const message = `has ${rest.length} characters that are not rows one a line: expected at most ${largestHandwritten}`
    throw new SeedRefusal(name, [{ path: '', message: `${message}; use count, or write it as an export does` }])
  }
  // Rows alone are a whole seed.
  const isRowsOnly = rest.trim() === '' && text.trim() !== ''
  const { value, faults: found, placeOf } = readYaml(isRowsOnly ? '{}' : rest, SeedFile, lineOf)
  if (found.length > 0) throw new SeedRefusal(name, found)
  const {
    extends: extended = 'empty',
    random,
    names = {},
    world,
    entities,
    facts,
    leftOut: _,
    ...declared
  } = value as SeedContent
  const exact: ExactRows = {
    entities: () => both(rows('entities'), handwrittenEntities(entities, placeOf)),
    facts: () => both(rows('facts'), handwrittenFacts(facts, placeOf)),
  }
  const at = (path: string, message: string): SeedFault => ({ ...placeOf(path), path, message })
  const faults: SeedFault[] = [...countsIn(declared).map(({ path, message }) => at(path, message)), ...rowFaults(exact)]
  if (extended === 'nothing' && world === undefined)
    faults.push(at('extends', 'expected world with it, as in an export: a world of nothing has its own tenant'))
  if (extended !== 'nothing' && world !== undefined) faults.push(at('world', 'expected only with extends: nothing'))
  if (extended !== 'demo' && Object.keys(names).length > 0) faults.push(at('names', 'expected only with extends: demo'))
  if (faults.length > 0) throw new SeedRefusal(name, faults)
  const base = extended === 'nothing' ? undefined : presetPlan(extended)
  const digest = hash('sha256', text, 'base64url')
  return {
    name,
    base: base?.base ?? 'nothing',
    random: random ?? digest,
    digest,
    names,
    rows: exact,
    layers: [...(base?.layers ?? []), { name, declared, placeOf }],
    ...(world === undefined ? {} : { world }),
  }
}

function* both<T>(first: Iterable<T>, second: Iterable<T>): Generator<T> {
  yield* first
  yield* second
}

function* handwrittenEntities(entities: SeedContent['entities'], placeOf: Layer['placeOf']): Generator<ExactRow> {
  for (const [group, rows] of Object.entries(entities ?? {}))
    for (const [index, value] of rows.entries())
      yield { group, ...placeOf(`entities.${group}[${index}]`), value: () => value }
}

function* handwrittenFacts(facts: SeedContent['facts'], placeOf: Layer['placeOf']): Generator<ExactRow> {
  for (const [group, byId] of Object.entries(facts ?? {}))
    for (const [id, value] of Object.entries(byId))
      yield { group, id, ...placeOf(`facts.${group}.${id}`), value: () => value }
}

/** Every row is read once here, so that a seed that is accepted can be written. */
function rowFaults(exact: ExactRows): SeedFault[] {
  const faults: SeedFault[] = []
  const tables = storeTables()
  const kinds = [...tables.keys()].filter((kind) => !isLeftOutKind(kind))
  for (const row of exact.entities()) {
    const table = kinds.includes(row.group) ? tables.get(row.group) : undefined
    const fault =
      table === undefined
        ? `${row.group} is no kind that a seed holds${didYouMean(row.group, kinds)}`
        : readable(row, (value) => rowFault(table.resource, value))
    if (fault !== undefined)
      faults.push({ line: row.line, column: row.column, path: `entities.${row.group}`, message: fault })
    if (faults.length >= maximumFaults) return faults
  }
  for (const row of exact.facts()) {
    const fault = readable(row, (value) => (value === null ? 'expected a value' : undefined))
    if (fault !== undefined)
      faults.push({ line: row.line, column: row.column, path: `facts.${row.group}`, message: fault })
    if (faults.length >= maximumFaults) return faults
  }
  return faults
}

function readable({ value }: ExactRow, judge: (value: unknown) => string | undefined): string | undefined {
  try {
    return judge(value())
  } catch (error) {
    return `is not JSON on one line (${reasonOf(error)})`
  }
}
