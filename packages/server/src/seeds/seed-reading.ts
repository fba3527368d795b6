/** A seed as it was read, before anything is made of it. */
import type { RowHead, Section, Span } from './exact-rows.ts'
import type { Declared, SeedContent } from './format.ts'
import type { Place } from './yaml-values.ts'

export interface SeedReading extends Pick<SeedContent, 'extends' | 'random' | 'world'> {
  /** Equal for equal texts. */
  readonly digest: string
  readonly names: Readonly<Record<string, string>>
  readonly declared: Declared
  /** Where what is declared stands. */
  readonly places: ReadonlyMap<string, Place>
  /** Where rows stand one a line. */
  readonly spans: readonly Span[]
  /** Rows that are not written one a line. */
  readonly handwritten: Readonly<Record<Section, readonly HandwrittenRow[]>>
}

export interface HandwrittenRow extends RowHead {
  readonly value: unknown
}
