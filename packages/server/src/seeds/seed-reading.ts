import type { RowHead, Section, Span } from './exact-rows.ts'
import type { Declared, SeedContent } from './format.ts'
import type { Place } from './yaml-values.ts'

export interface SeedReading extends Pick<SeedContent, 'extends' | 'random' | 'world'> {
  readonly digest: string
  readonly names: Readonly<Record<string, string>>
  readonly declared: Declared
  /** Positions of described values. */
  readonly places: ReadonlyMap<string, Place>
  readonly spans: readonly Span[]
  /** Rows in other YAML forms than one row per line. */
  readonly handwritten: Readonly<Record<Section, readonly HandwrittenRow[]>>
}

export interface HandwrittenRow extends RowHead {
  readonly value: unknown
}
