/** Keeps the targets of load balancers up to date with categories, VMs and NICs. Source: behaviour networking.md 1.14. */

import { LoadBalancerSession } from '@hyperplane/contract/networking/load-balancer-session'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { DriverError, type Schedule, type ScheduleContext } from '../context.ts'
import type { BalancerEntity } from './load-balancer-rules.ts'
import { balancedTargets, resolvedTargets } from './load-balancer-targets.ts'

export const followTargets: Schedule = {
  name: 'networking.follow-targets',
  everySeconds: 2,
  watch: ({ store }, changed) => store.watch([LoadBalancerSession, Subnet, Vm], changed),
  async run(ctx) {
    let isWaiting = false
    for (const session of await ctx.store.find(LoadBalancerSession)) {
      // The task of this session programs the targets itself, and its end triggers the next run.
      if (session.change === undefined && !(await follow(ctx, session))) isWaiting = true
    }
    if (isWaiting) return 'again'
  },
}

/** @returns false when the fabric fails; the schedule then tries again */
async function follow({ store, drivers }: ScheduleContext, session: BalancerEntity): Promise<boolean> {
  const targets = balancedTargets(await resolvedTargets(store, session))
  try {
    const view = await drivers.networkFabric.balancer(session.extId)
    const programmed = view?.targets.map(({ isHealthy: _, ...target }) => target)
    if (programmed !== undefined && JSON.stringify(programmed) !== JSON.stringify(targets))
      await drivers.networkFabric.retargetBalancer(session.extId, targets)
    return true
  } catch (error) {
    if (error instanceof DriverError) return false
    throw error
  }
}
