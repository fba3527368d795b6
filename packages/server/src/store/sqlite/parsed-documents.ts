/** Parsing costs more than the rest of a read. Documents that are read again give the same frozen object, a key for caches. */
import { LRUCache } from 'lru-cache'
import { ReadBefore, sampleOf } from '../read-before.ts'

/** UTF-16 units of the documents; the objects take several times as much memory. */
const maximumLength = 2 * 1024 * 1024
const maximumDocument = 64 * 1024

interface Parsed {
  readonly document: string
  readonly entity: object
}

/** For all stores of the process: rows with equal texts share the entity. By samples: hashing whole texts costs more than reading them. */
const parsed = new LRUCache<number, Parsed>({
  maxSize: maximumLength,
  maxEntrySize: maximumDocument,
  sizeCalculation: ({ document }) => document.length,
})

/** A client that walks through thousands of rows would replace all entities that others poll. */
const readBefore = new ReadBefore(maximumLength)

/** @typeParam E the kind of the row, which only the caller knows */
export function parseDocument<E>(document: string): E {
  const sample = sampleOf(document)
  const cached = parsed.get(sample)
  if (cached?.document === document) return cached.entity as E
  const entity = JSON.parse(document)
  if (document.length <= maximumDocument && readBefore.note(sample, document.length))
    parsed.set(sample, { document, entity: deeplyFrozen(entity) })
  return entity
}

function deeplyFrozen<T extends object>(value: T): T {
  for (const part of Object.values(value)) if (typeof part === 'object' && part !== null) deeplyFrozen(part)
  return Object.freeze(value)
}
