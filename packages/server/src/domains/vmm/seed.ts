/** What the demo holds of vmm: images before the VMs that were made from them. Source: behaviour vmm.md 4. */
import type { SeedContext } from '../seed.ts'
import { seedExternVms } from './extern/seed.ts'
import { seedImages } from './seed-images.ts'
import { seedDemoVms } from './vm/seed.ts'

export async function seedDemo(ctx: SeedContext): Promise<void> {
  await seedImages(ctx)
  await seedDemoVms(ctx)
  await seedExternVms(ctx)
}
