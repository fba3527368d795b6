/** Each place is served by the first implementation that knows it. */
import type { ObjectStore, Place } from './object-store.ts'

export interface KnowingObjectStore extends ObjectStore {
  /** True also if it only refuses the place. */
  knows(place: Place): boolean
}

export function objectStoreByPlace(stores: readonly KnowingObjectStore[], otherwise: ObjectStore): ObjectStore {
  const of = (place: Place): ObjectStore => stores.find((one) => one.knows(place)) ?? otherwise
  return {
    list: (place, prefix) => of(place).list(place, prefix),
    get: (place, key) => of(place).get(place, key),
    put: (place, key, content) => of(place).put(place, key, content),
    remove: (place, key) => of(place).remove(place, key),
  }
}
