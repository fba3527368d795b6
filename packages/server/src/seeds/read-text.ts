/** Long texts block the thread, so `seed-reader.ts` reads them in another one. */
import { hash } from 'node:crypto'
import { splitExactRows } from './exact-rows.ts'
import { type SeedContent, SeedFile } from './format.ts'
import { countsIn } from './numbered.ts'
import { faultsOfRows } from './row-faults.ts'
import type { HandwrittenRow, SeedReading } from './seed-reading.ts'
import { maximumFaults, type SeedFault, SeedRefusal } from './seed-refusal.ts'
import { placeIn, readYaml } from './yaml-values.ts'

/** Limit for the text without exact rows. */
const largestHandwritten = 512 * 1024

/** @throws SeedRefusal with every fault, its line and its column */
export function readText(name: string, text: string): SeedReading {
  const { rest, lineOf, spans } = splitExactRows(text)
  if (rest.length > largestHandwritten) {
    const message = `has ${rest.length} characters that are not rows one a line: expected at most ${largestHandwritten}`
    throw new SeedRefusal(name, [{ path: '', message: `${message}; use count, or write it as an export does` }])
  }
  const isRowsOnly = rest.trim() === '' && text.trim() !== ''
  const { value, faults: found, places } = readYaml(isRowsOnly ? '{}' : rest, SeedFile, lineOf)
  if (found.length > 0) throw new SeedRefusal(name, found)
  const {
    extends: extended,
    random,
    names = {},
    world,
    entities,
    facts,
    leftOut: _,
    ...declared
  } = value as SeedContent
  const at = (path: string, message: string): SeedFault => ({ ...placeIn(places, path), path, message })
  const handwritten = { entities: [...entitiesByHand(entities, places)], facts: [...factsByHand(facts, places)] }
  const faults: SeedFault[] = countsIn(declared).map(({ path, message }) => at(path, message))
  for (const fault of faultsOfRows(text, { spans, handwritten, places })) {
    faults.push(fault)
    if (faults.length >= maximumFaults) break
  }
  if (extended === 'nothing' && world === undefined)
    faults.push(at('extends', 'expected world with it, as in an export: a world of nothing has its own tenant'))
  if (extended !== 'nothing' && world !== undefined) faults.push(at('world', 'expected only with extends: nothing'))
  if (extended !== 'demo' && Object.keys(names).length > 0) faults.push(at('names', 'expected only with extends: demo'))
  if (faults.length > 0) throw new SeedRefusal(name, faults)
  const digest = hash('sha256', text, 'base64url')
  return { extends: extended, random, world, digest, names, declared, places, spans, handwritten }
}

type Places = SeedReading['places']

function* entitiesByHand(entities: SeedContent['entities'], places: Places): Generator<HandwrittenRow> {
  for (const [group, rows] of Object.entries(entities ?? {}))
    for (const [index, value] of rows.entries())
      yield { group, ...placeIn(places, `entities.${group}[${index}]`), value }
}

function* factsByHand(facts: SeedContent['facts'], places: Places): Generator<HandwrittenRow> {
  for (const [group, byId] of Object.entries(facts ?? {}))
    for (const [id, value] of Object.entries(byId))
      yield { group, id, ...placeIn(places, `facts.${group}.${id}`), value }
}
