/** Load balancers and network functions of the simulated world check guests whenever something changes that these depend on. */
import { targetChecks } from '../drivers/simulated/balancer-checks.ts'
import { functionProbes } from '../drivers/simulated/function-probes.ts'
import { coalesced, type ObservationOptions } from './coalesced.ts'

/** @returns the function that stops them, after the check under way */
export function startTargetChecks({ world, clock, drivers, isInstant, log }: ObservationOptions): () => Promise<void> {
  const targets = targetChecks(world, isInstant)
  const functions = functionProbes(world, isInstant)
  const check = async (): Promise<void> => {
    await targets()
    await functions()
  }
  const { changed, idle } = coalesced(check, clock, (error) =>
    log.error({ err: error }, 'health checks of the network failed'),
  )
  const ends = [
    drivers.hypervisor.watch(changed),
    drivers.hardware.watch(changed),
    world.watch(['fabric.balancer', 'fabric.network-function', 'fabric.subnet'], changed),
  ]
  changed()
  return () => {
    for (const end of ends) end()
    return idle()
  }
}
