import { createObserver } from '../../drivers/simulated/flows/observer.ts'
import type { SeedContext } from '../context.ts'

const daysConnected = 8

/** As if networks had been as they are for days. */
export async function seedFlows(ctx: SeedContext): Promise<void> {
  const { observe, end } = createObserver(ctx.world, () => undefined)
  await observe(ctx.clock.now() - daysConnected * 24 * 3600 * 1000)
  end()
}
