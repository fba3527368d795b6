/** Fills a new world, in one transaction: whole or not at all. */
import type { Clock } from '../core/clock.ts'
import { formatTime } from '../core/clock.ts'
import type { Ids } from '../core/context.ts'
import type { Drivers } from '../drivers/drivers.ts'
import { factsIn, type SimulatedWorld } from '../drivers/simulated/world.ts'
import type { SeedPlan } from '../seed-file.ts'
import { StartRefusal } from '../start-refusal.ts'
import type { Store } from '../store/store.ts'
import { seedBase as seedClustermgmtBase, seedDemo as seedClustermgmtDemo } from './clustermgmt/seed.ts'
import { seedBase as seedIamBase, seedDemo as seedIamDemo } from './iam/seed.ts'
import { seedDemo as seedNetworkingDemo } from './networking/seed.ts'
import { seedCategories, seedBase as seedPlatformBase, seedDemo as seedPlatformDemo } from './platform/seed.ts'
import { type SeedContext, seedId } from './seed.ts'
import { seedLab } from './seed-lab.ts'
import { seedDemo as seedVmmDemo } from './vmm/seed.ts'
import { seedManyVms } from './vmm/vm/seed-many.ts'
import { seedDemo as seedVolumesDemo } from './volumes/seed.ts'

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
  readonly backup: SeedContext['backup']
}

export async function seedWorld(options: SeedOptions): Promise<void> {
  const { plan, store, world, drivers, clock, ids, tenantId, adminPasswordHash, tier, version, folder, backup } =
    options
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
      backup,
      managerExtId: plan.inventory === 'demo' ? seedId('manager') : ids.uuid(),
      adminId: seedId('user/admin'),
      adminPasswordHash,
      ago: (seconds) => formatTime(now - seconds * 1000),
    }
    await seedCategories(ctx, plan.inventory)
    await seedIamBase(ctx)
    await seedClustermgmtBase(ctx)
    await seedPlatformBase(ctx)
    if (plan.inventory === 'demo') await seedDemo(ctx)
    if ((await seedManyVms(ctx, plan.vms)) < plan.vms) {
      throw new StartRefusal(
        'The seed asks for virtual machines, and its inventory has no native cluster for them: take the inventory demo.',
      )
    }
  })
}

/** The inventory that the kinds' pages describe: categories first, what refers to others last. */
async function seedDemo(ctx: SeedContext): Promise<void> {
  await seedIamDemo(ctx)
  await seedClustermgmtDemo(ctx)
  await seedNetworkingDemo(ctx)
  await seedVmmDemo(ctx)
  await seedVolumesDemo(ctx)
  await seedLab(ctx)
  await seedPlatformDemo(ctx)
}
