/** Fills a new world, in one transaction: whole or not at all. */
import type { Clock } from '../core/clock.ts'
import { formatTime } from '../core/clock.ts'
import type { Ids } from '../core/context.ts'
import type { Drivers } from '../drivers/drivers.ts'
import type { SeedPlan } from '../seed-file.ts'
import type { Store } from '../store/store.ts'
import { factsIn, type SimulatedWorld } from '../drivers/simulated/world.ts'
import { seedBase as seedIamBase } from './iam/seed.ts'
import { type SeedContext, seedId } from './seed.ts'

export interface SeedOptions {
  readonly plan: SeedPlan
  readonly store: Store
  readonly world: SimulatedWorld
  readonly drivers: Drivers
  readonly clock: Clock
  readonly ids: Ids
  readonly tenantId: string
  readonly adminPasswordHash: string
  readonly tier: SeedContext['tier']
  readonly version: string
  readonly folder: string
}

export async function seedWorld(options: SeedOptions): Promise<void> {
  const { plan, store, world, drivers, clock, ids, tenantId, adminPasswordHash, tier, version, folder } = options
  const now = clock.now()
  await store.transaction(async (transaction) => {
    const ctx: SeedContext = {
      store: transaction,
      world: world.through(factsIn(transaction)),
      drivers,
      clock,
      ids,
      tenantId,
      tier,
      version,
      folder,
      adminId: seedId('user/admin'),
      adminPasswordHash,
      ago: (seconds) => formatTime(now - seconds * 1000),
    }
    await seedIamBase(ctx)
    if (plan.inventory === 'demo') await seedDemo(ctx)
  })
}

/** The inventory that the kinds' pages describe: categories first, what refers to others last. */
async function seedDemo(_ctx: SeedContext): Promise<void> {}
