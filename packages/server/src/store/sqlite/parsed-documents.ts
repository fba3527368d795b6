/** Parsing costs more than the rest of a read. Equal documents give the same frozen object, a key for caches. */
import { LRUCache } from 'lru-cache'

/** UTF-16 units of the documents; the objects take several times as much memory. */
const maximumLength = 2 * 1024 * 1024
const maximumDocument = 64 * 1024

/** For all stores of the process: rows with equal texts share the entity. */
const parsed = new LRUCache<string, object>({
  maxSize: maximumLength,
  maxEntrySize: maximumDocument,
  sizeCalculation: (_, document) => document.length,
})

/** @typeParam E the kind of the row, which only the caller knows */
export function parseDocument<E>(document: string): E {
  let entity = parsed.get(document)
  if (entity === undefined) parsed.set(document, (entity = deeplyFrozen(JSON.parse(document))))
  return entity as E
}

function deeplyFrozen<T extends object>(value: T): T {
  for (const part of Object.values(value)) if (typeof part === 'object' && part !== null) deeplyFrozen(part)
  return Object.freeze(value)
}
