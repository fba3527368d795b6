/** Reading finds faults of form; dangling names and conflicts are found while the world is filled. */

import { join } from 'node:path'
import { Semaphore } from '../core/concurrency/semaphore.ts'
import { defined } from '../core/defined.ts'
import { StartRefusal } from '../core/start-refusal.ts'
import { type ExactRow, rowsInFile, rowsInText, type Section } from './exact-rows.ts'
import type { Declared, SeedContent } from './format.ts'
import type { SeedPreset } from './presets.ts'
import { readSeedSource, type SeedText } from './seed-reader.ts'
import type { SeedReading } from './seed-reading.ts'
import { type Place, placeIn } from './yaml-values.ts'

export type SeedSource = SeedPreset | SeedText

/** A seed that extends a preset has two layers. */
export interface Layer {
  readonly name: string
  readonly declared: Declared
  readonly placeOf: (path: string) => Place
}

export interface ExactRows {
  readonly entities: () => AsyncIterable<ExactRow>
  readonly facts: () => AsyncIterable<ExactRow>
}

export interface SeedPlan {
  readonly name: string
  readonly base: 'demo' | 'empty' | 'nothing'
  /** Absent for the preset `empty` alone, whose worlds all differ. */
  readonly random?: string
  readonly digest: string
  readonly names: Readonly<Record<string, string>>
  readonly rows: ExactRows
  readonly layers: readonly Layer[]
  readonly world?: NonNullable<SeedContent['world']>
}

/** @param threads limits reader threads @throws SeedRefusal with every fault and its place; StartRefusal for an unreadable file */
export async function readSeed(source: SeedSource, threads = new Semaphore(1)): Promise<SeedPlan> {
  if (typeof source === 'string') return presetPlan(source, threads)
  return planOf('text' in source ? 'The seed' : `The seed ${source.file}`, source, threads)
}

async function presetPlan(preset: SeedPreset, threads: Semaphore): Promise<SeedPlan> {
  const none = { digest: preset, names: {}, rows: { entities: nothing, facts: nothing }, layers: [] }
  if (preset === 'empty') return { ...none, name: 'The preset empty', base: 'empty' }
  if (preset === 'demo') return { ...none, name: 'The preset demo', base: 'demo', random: 'demo' }
  const file = join(import.meta.dirname, 'presets', `${preset}.yaml`)
  return { ...(await planOf(`The preset ${preset}`, { file }, threads)), random: preset }
}

async function planOf(name: string, source: SeedText, threads: Semaphore): Promise<SeedPlan> {
  const reading = await readSeedSource({ name, source }, threads)
  const { extends: extended = 'empty', random, digest, names, world, declared, places } = reading
  const base = extended === 'nothing' ? undefined : await presetPlan(extended, threads)
  const layer = { name, declared, placeOf: (path: string) => placeIn(places, path) }
  return {
    name,
    base: base?.base ?? 'nothing',
    random: random ?? digest,
    digest,
    names,
    rows: { entities: () => rowsOf(source, reading, 'entities'), facts: () => rowsOf(source, reading, 'facts') },
    layers: [...(base?.layers ?? []), layer],
    ...defined({ world }),
  }
}

async function* nothing(): AsyncGenerator<never> {}

async function* rowsOf(source: SeedText, reading: SeedReading, section: Section): AsyncGenerator<ExactRow> {
  const span = reading.spans.find((each) => each.section === section)
  yield* 'text' in source ? rowsInText(source.text, span) : unchanged(source.file, rowsInFile(source.file, span))
  for (const { value, ...head } of reading.handwritten[section]) yield { ...head, value: () => value }
}

/** Rows of a file that was validated before. @throws StartRefusal when the file has changed since */
async function* unchanged(file: string, rows: AsyncIterable<ExactRow>): AsyncGenerator<ExactRow> {
  try {
    for await (const row of rows) {
      const value = row.value()
      yield { ...row, value: () => value }
    }
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause
    throw new StartRefusal(`The seed ${file} was changed while it was read: leave it until its world is made.`, {
      cause,
    })
  }
}
