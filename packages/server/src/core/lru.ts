import { LRUCache } from 'lru-cache'

const one = (): number => 1

/** `maxSize` with entries of size 1: `max` would allocate all slots in advance, for each of many worlds. */
export const createLru = <V extends {}>(maximum: number): LRUCache<string, V> =>
  new LRUCache({ maxSize: maximum, sizeCalculation: one })
