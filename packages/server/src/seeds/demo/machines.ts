/** VMs of the demo, after the images that they were created from. Source: behaviour vmm.md 4. */
import type { SeedContext } from '../context.ts'
import { seedProfiles } from './customization-profiles.ts'
import { seedImages, seedRateLimit } from './images.ts'
import { seedExternVms } from './outside-machines.ts'
import { seedRecoveryPoints } from './recovery-points.ts'
import { seedDemoVms } from './vms.ts'

export async function seedDemo(ctx: SeedContext): Promise<void> {
  await seedImages(ctx)
  await seedProfiles(ctx)
  await seedRateLimit(ctx)
  await seedDemoVms(ctx)
  await seedRecoveryPoints(ctx)
  await seedExternVms(ctx)
}
