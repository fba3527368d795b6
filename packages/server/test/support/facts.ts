/** Reads the stored facts of the simulated world. */
import { Fact } from '../../src/drivers/simulated/world.ts'
import type { TestApp } from './start-app.ts'

/** Facts by collection and id, once observations have been written. */
export async function factsById(app: TestApp): Promise<ReadonlyMap<string, ReadonlyMap<string, unknown>>> {
  await app.clock.settled()
  const collections = new Map<string, Map<string, unknown>>()
  for (const { collection, id, value } of await app.store.find(Fact)) {
    const facts = collections.get(collection) ?? new Map<string, unknown>()
    collections.set(collection, facts.set(id, value))
  }
  return collections
}
