/**
 * VMs to restart: elsewhere if their host has been silent for a minute and another one is up, at home if it came back without starting
 * them. Order: startup policies, then size (larger VMs are harder to place). Source: behaviour vmm.md 1.13, 3.2 (HA).
 */

import { Host } from '@hyperplane/contract/clustermgmt/host'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { parseTime } from '../../../../core/time/clock.ts'
import { startingTasks } from '../../../../core/time/schedules.ts'
import { type Schedule, type ScheduleContext, together } from '../../../context.ts'
import { HostAllocation } from '../../../scheduling/host-allocation.ts'
import type { VmEntity } from '../../../virtual-machines/entity.ts'
import { bindingsOf } from './bindings.ts'
import { restartElsewhere, restartOf } from './restart-elsewhere.ts'
import { startHeldVm } from './start-held.ts'
import { startableNow } from './waiting-vms.ts'

/** A VM becomes UNDETERMINED after 30 s of silence, and is restarted 30 s later. */
const lostMillis = 60_000

export const restartVmsOfLostHosts: Schedule = {
  name: 'vmm.restart-vms-of-lost-hosts',
  everySeconds: 10,
  watch: ({ drivers }, changed) => together(drivers.hypervisor.watch(changed), drivers.hardware.watch(changed)),
  async run(ctx) {
    const stranded = await strandedVms(ctx)
    const unseen = stranded.filter(({ powerState }) => powerState === 'UNDETERMINED')
    const lostFrom = timesOfLoss(unseen)
    const isLostBy = (time: number) => (vm: VmEntity) => (lostFrom.get(vm.host?.extId as string) as number) <= time
    const held = await heldVms(ctx)
    const heldIds = new Set(held.map(({ extId }) => extId))
    const due = [...unseen.filter(isLostBy(ctx.clock.now())), ...held].sort(byRestartOrder)
    for (const { extId } of await startableNow(ctx, due)) {
      if (ctx.runner.queueLength(extId) === 0) await accept(ctx, extId, heldIds.has(extId))
    }
    if (stranded.length + held.length > 0) return 'again'
  },
}

/** VMs reserved on a silent host that may run elsewhere, in clusters with a host that is up. */
async function strandedVms({ drivers: { hardware }, store }: ScheduleContext): Promise<readonly VmEntity[]> {
  // In an unreachable cluster the state of the hosts is unknown.
  const hosts = (await store.find(Host)).filter(({ cluster }) => hardware.isReachable(cluster.uuid))
  const isUp = ({ extId }: { readonly extId: string }): boolean => hardware.isHostUp(extId)
  const haveOthers = new Set(hosts.filter(isUp).map(({ cluster }) => cluster.uuid))
  const found = new Map<string, VmEntity>()
  for (const host of hosts) {
    if (isUp(host) || !haveOthers.has(host.cluster.uuid)) continue
    for (const { vmExtId } of await store.findWhere(HostAllocation, { hostExtId: host.extId })) {
      const vm = await store.get(Vm, vmExtId)
      if (vm !== undefined && bindingsOf(vm).length === 0) found.set(vmExtId, vm)
    }
  }
  return [...found.values()]
}

/** VMs that wait for their start on a host that is up again. */
async function heldVms({ drivers, store }: ScheduleContext): Promise<readonly VmEntity[]> {
  const states = await drivers.hypervisor.unaskedStates()
  const held = [...states].filter(([, { state }]) => state === 'HELD').map(([extId]) => extId)
  return (await store.getMany(Vm, held)).filter(
    ({ cluster, host, powerState }) =>
      powerState === 'UNDETERMINED' &&
      drivers.hardware.isReachable(cluster?.extId as string) &&
      drivers.hardware.isHostUp(host?.extId ?? ''),
  )
}

/** By host. VMs with a running task got a later `hostSilentSince`, so the earliest one counts. */
function timesOfLoss(vms: readonly VmEntity[]): ReadonlyMap<string, number> {
  const times = new Map<string, number>()
  for (const { host, hostSilentSince } of vms) {
    const hostExtId = host?.extId as string
    const time = (parseTime(hostSilentSince ?? '') ?? 0) + lostMillis
    times.set(hostExtId, Math.min(time, times.get(hostExtId) ?? time))
  }
  return times
}

/** Larger VMs first; name and id make the order deterministic. */
function byRestartOrder(a: VmEntity, b: VmEntity): number {
  const bySize = (b.memorySizeBytes ?? 0) - (a.memorySizeBytes ?? 0)
  if (bySize !== 0) return bySize
  if (a.name !== b.name) return a.name < b.name ? -1 : 1
  return a.extId < b.extId ? -1 : 1
}

const accept = (ctx: ScheduleContext, vmExtId: string, isHeld: boolean): Promise<void> =>
  startingTasks(ctx, async (store, startTask) => {
    const vm = await store.get(Vm, vmExtId)
    if (vm?.powerState !== 'UNDETERMINED') return
    const isSilent = !ctx.drivers.hardware.isHostUp(vm.host?.extId ?? '')
    if (isSilent) await restartElsewhere({ ...ctx, store, startTask }, vm)
    else if (isHeld) await startTask(startHeldVm, { vmExtId }, restartOf(vm))
  })
