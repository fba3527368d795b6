/** What follows from nothing else but chance: who a world is, and what its ids are drawn from. Kept with its store. */

import { randomUUID } from 'node:crypto'
import type { Config } from '../config/config.ts'
import { createEntityTags, type EntityTags } from '../core/ids/etag.ts'
import { createIds } from '../core/ids/ids.ts'
import { seedId } from '../core/ids/named-id.ts'
import type { SeedPlan } from '../seeds/read-seed.ts'
import type { InstanceStore } from './store.ts'

export interface DrawnFrom {
  readonly tenantId: string
  readonly worldSeed: string
  /** How often it was opened before, not counting that it began: what is drawn now was not drawn then. */
  readonly opened: number
  readonly ids: ReturnType<typeof createIds>
  readonly tags: EntityTags
}

/**
 * The id of a new world's manager. It follows from the seed and from where the manager is reached, so that two worlds of one
 * seed can register each other. Only the demo has the same id everywhere: its documents name it.
 */
export function managerIdOf(random: string, { host, publicUrl }: Config, world: string): string {
  if (random === 'demo') return seedId('manager')
  const place = publicUrl ?? (host === usualHost ? '' : host)
  const name = world.toLowerCase() === 'default' ? '' : world.toLowerCase()
  return seedId(['manager', random, ...[name, place].filter((part) => part !== '')].join('/'))
}
const usualHost = '127.0.0.1'

/** @param asked what it is to be filled with; undefined: it is filled */
export function drawnFrom({
  store,
  meta,
  asked,
}: Pick<InstanceStore, 'store' | 'meta'> & { readonly asked: SeedPlan | undefined }): DrawnFrom {
  if (asked !== undefined) {
    const tenant = asked.world?.tenantId ?? (asked.random === undefined ? randomUUID() : seedId('tenant'))
    const random = asked.random ?? randomUUID()
    // An exported world brings rows along whose ids were drawn from the same: it goes on as another branch.
    store.setMetas({ tenant, 'world.seed': random, branch: asked.base === 'nothing' ? asked.digest : '' })
  }
  // A store that a restore made does not know how often it was opened, and is another branch.
  const isFromBackup = store.meta('seeded') !== undefined && store.meta('opened') === undefined
  const worldSeed = store.meta('world.seed') as string
  const branch = meta('branch', () => (isFromBackup ? randomUUID() : ''))
  const opened = Number(store.meta('opened') ?? 0)
  const origin = `${worldSeed}\0${branch}`
  return {
    tenantId: store.meta('tenant') as string,
    worldSeed,
    opened,
    ids: createIds(`${origin}\0${opened}`),
    tags: createEntityTags(meta('tag.salt', () => createIds(origin).of('tags').uuid())),
  }
}
