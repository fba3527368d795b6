/** Parsing costs more than the rest of a read. Equal documents give the same frozen object, a key for caches. */
import { BoundedCache } from '../bounded-cache.ts'
import type { Table } from '../tables.ts'

interface Parsed {
  readonly document: string
  readonly entity: object
}

/** UTF-16 units; the objects take several times as much memory. */
const maximumLength = 2 * 1024 * 1024
const maximumDocument = 64 * 1024

/** Worlds of one seed have rows with equal ids, which may differ. */
const maximumVariants = 4

/** For all stores of the process: the text decides, so worlds with equal rows share the entities. */
const parsed = new BoundedCache<readonly Parsed[]>(maximumLength)

export function parseDocument(table: Table, extId: string, document: string): any {
  if (document.length > maximumDocument) return JSON.parse(document)
  const key = table.name + extId
  const variants = parsed.get(key) ?? []
  for (const variant of variants) if (variant.document === document) return variant.entity
  const entity = deeplyFrozen(JSON.parse(document))
  const kept = [{ document, entity }, ...variants.slice(0, maximumVariants - 1)]
  const length = kept.reduce((sum, variant) => sum + variant.document.length, 0)
  parsed.set(key, kept, length)
  return entity
}

function deeplyFrozen<T extends object>(value: T): T {
  for (const part of Object.values(value)) if (typeof part === 'object' && part !== null) deeplyFrozen(part)
  return Object.freeze(value)
}
