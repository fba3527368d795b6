/** What was used last, by name: where there is no room, what was not used longest goes. */
import { LRUCache } from 'lru-cache'

const one = (): number => 1

/**
 * With room for `maximum` entries, none of which costs anything before it is there: a process holds many worlds. The
 * library would make the room at once if it were told as a number of entries; it is told as a size, of which each has one.
 */
export const createLru = <V extends {}>(maximum: number): LRUCache<string, V> =>
  new LRUCache({ maxSize: maximum, sizeCalculation: one })
