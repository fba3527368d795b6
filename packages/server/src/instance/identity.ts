/** Stored with the world; ids and entity tags derive from it. */

import { randomUUID } from 'node:crypto'
import type { Config } from '../config/config.ts'
import { createEntityTags, type EntityTags } from '../core/ids/etag.ts'
import { createIds } from '../core/ids/ids.ts'
import { seedId } from '../core/ids/named-id.ts'
import type { SeedPlan } from '../seeds/read-seed.ts'
import type { InstanceStore } from './store.ts'

export interface Identity {
  readonly tenantId: string
  readonly worldSeed: string
  /** Part of the origin of ids: no start repeats those of an earlier one. */
  readonly timesOpened: number
  readonly ids: ReturnType<typeof createIds>
  readonly tags: EntityTags
}

/** From seed and address, so that worlds of one seed can register each other; the demo's is documented, hence fixed. */
export function managerIdOf(random: string, { host, publicUrl }: Config, world: string): string {
  if (random === 'demo') return seedId('manager')
  const address = publicUrl ?? (host === defaultHost ? '' : host)
  const name = world.toLowerCase() === 'default' ? '' : world.toLowerCase()
  return seedId(['manager', random, ...[name, address].filter((part) => part !== '')].join('/'))
}
const defaultHost = '127.0.0.1'

/** @param plan undefined: the store has an identity */
export function identityOf({
  store,
  meta,
  plan,
}: Pick<InstanceStore, 'store' | 'meta'> & { readonly plan: SeedPlan | undefined }): Identity {
  if (plan !== undefined) {
    const tenant = plan.world?.tenantId ?? (plan.random === undefined ? randomUUID() : seedId('tenant'))
    const random = plan.random ?? randomUUID()
    // Imported rows may have ids drawn from the same seed: a branch of its own avoids repeating them.
    store.setMetas({ tenant, 'world.seed': random, branch: plan.base === 'nothing' ? plan.digest : '' })
  }
  // A backup does not hold the number of openings: a restored store gets a new branch.
  const isFromBackup = store.meta('seeded') !== undefined && store.meta('opened') === undefined
  const worldSeed = store.meta('world.seed') as string
  const branch = meta('branch', () => (isFromBackup ? randomUUID() : ''))
  const timesOpened = Number(store.meta('opened') ?? 0)
  const origin = `${worldSeed}\0${branch}`
  return {
    tenantId: store.meta('tenant') as string,
    worldSeed,
    timesOpened,
    ids: createIds(`${origin}\0${timesOpened}`),
    tags: createEntityTags(meta('tag.salt', () => createIds(origin).of('tags').uuid())),
  }
}
