import { LRUCache } from 'lru-cache'

const one = (): number => 1

/**
 * A cache of up to `maximum` entries that allocates nothing in advance, because a process holds many worlds. With
 * `max`, the library would allocate all slots at once; with `maxSize` and entries of size 1 it does not.
 */
export const createLru = <V extends {}>(maximum: number): LRUCache<string, V> =>
  new LRUCache({ maxSize: maximum, sizeCalculation: one })
