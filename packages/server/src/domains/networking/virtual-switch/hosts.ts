/** One host after the other; unless in quick mode, without its VMs while its uplinks change. Source: networking.md 1.18, 1.22. */

import { isDeepStrictEqual } from 'node:util'
import { ApiError } from '../../../core/api-error.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import type { BridgeProgram } from '../../../drivers/host-networking.ts'
import type { StepContext } from '../../context.ts'
import { type EvacuationRefusals, evacuateFor, repopulateAfter } from '../../scheduling/host-evacuation.ts'
import { bridgesOf } from '../../scheduling/switch-bridges.ts'
import type { SwitchEntity } from './rules.ts'

/** For the evacuation of a host, and for the return of its VMs. */
const timeoutSeconds = 3600

interface HostChange {
  readonly hostExtId: string
  readonly before: BridgeProgram | undefined
  readonly after: BridgeProgram | undefined
}

/** Hosts of the switch before and after the change; those with a bridge that stays as it is are left out. */
function changesOf(drivers: Drivers, before: SwitchEntity | undefined, after: SwitchEntity | undefined): HostChange[] {
  const old = new Map(before && bridgesOf(drivers, before).map((bridge) => [bridge.hostExtId, bridge]))
  const next = new Map(after && bridgesOf(drivers, after).map((bridge) => [bridge.hostExtId, bridge]))
  return [...new Set([...next.keys(), ...old.keys()])]
    .map((hostExtId) => ({ hostExtId, before: old.get(hostExtId), after: next.get(hostExtId) }))
    .filter(({ before, after }) => !isDeepStrictEqual(before, after))
}

const bondOf = (bridge: BridgeProgram | undefined) =>
  bridge && { uplinks: bridge.uplinks, activeUplink: bridge.activeUplink, bondMode: bridge.bondMode }

const changesUplinks = ({ before, after }: HostChange): boolean =>
  (before?.uplinks.length ?? 0) + (after?.uplinks.length ?? 0) > 0 && !isDeepStrictEqual(bondOf(before), bondOf(after))

/** @param share of the task's progress for the hosts */
export async function configureHosts(
  ctx: StepContext,
  before: SwitchEntity | undefined,
  after: SwitchEntity,
  share: number,
): Promise<void> {
  const changes = changesOf(ctx.drivers, before, after)
  for (const [index, change] of changes.entries()) {
    const host = { hostExtId: change.hostExtId, clusterExtId: after.clusterExtId as string }
    const pace = after.isQuickMode !== true && changesUplinks(change) ? 'careful' : 'quick'
    if (pace === 'careful') await evacuateFor(ctx, host, refusals, timeoutSeconds)
    if (change.after !== undefined) await ctx.drivers.networkFabric.putBridge(change.after, pace)
    else if (change.before !== undefined) await ctx.drivers.networkFabric.removeBridge(change.before)
    await repopulateAfter(ctx, host, timeoutSeconds)
    await ctx.progress(Math.floor((share * (index + 1)) / changes.length))
  }
}

/** Also after a failed `configureHosts`; in quick mode, last host first. */
export async function restoreHosts(
  ctx: StepContext,
  stored: SwitchEntity | undefined,
  after: SwitchEntity,
): Promise<void> {
  for (const { hostExtId, before, after: bridge } of changesOf(ctx.drivers, stored, after).reverse()) {
    if (before !== undefined) await ctx.drivers.networkFabric.putBridge(before, 'quick')
    else if (bridge !== undefined) await ctx.drivers.networkFabric.removeBridge(bridge)
    await repopulateAfter(ctx, { hostExtId, clusterExtId: after.clusterExtId as string }, timeoutSeconds)
  }
}

export async function removeFromHosts(ctx: StepContext, entity: SwitchEntity): Promise<void> {
  for (const bridge of bridgesOf(ctx.drivers, entity).reverse()) await ctx.drivers.networkFabric.removeBridge(bridge)
}

const refusals: EvacuationRefusals = {
  busy: (host) => new ApiError('VIRTUAL_SWITCH_HOST_BUSY', { host }),
  notEmpty: (host, further) => new ApiError('VIRTUAL_SWITCH_HOST_NOT_EMPTY', { host }, { further }),
}
