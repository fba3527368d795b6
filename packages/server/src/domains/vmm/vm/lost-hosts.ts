/**
 * Which VMs are restarted elsewhere, when, and in which order: those of hosts that have been silent for long enough, while
 * another host of their cluster answers. Startup policies are not built: larger VMs come first, which are harder to place.
 * Source: behaviour vmm.md 3.2 (HA).
 */

import { Host } from '@hyperplane/contract/clustermgmt/host'
import { Vm } from '@hyperplane/contract/vmm/vm'
import { parseTime } from '../../../core/time/clock.ts'
import { type Schedule, type ScheduleContext, startingTasks } from '../../../core/time/schedules.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import { HostAllocation } from '../../scheduling/host-allocation.ts'
import type { VmEntity } from '../../virtual-machines/entity.ts'
import { isEmulated } from './nics.ts'
import { restartElsewhere } from './restart-elsewhere.ts'

type Looking = ScheduleContext<Drivers>

/** 30 s until its VMs are out of sight, and 30 s more. */
const lostMillis = 60_000

export const restartVmsOfLostHosts: Schedule<Drivers> = {
  name: 'vmm.restart-vms-of-lost-hosts',
  everySeconds: 10,
  watch({ drivers }, changed) {
    const ends = [drivers.hypervisor.watch(changed), drivers.hardware.watch(changed)]
    return () => {
      for (const end of ends) end()
    }
  },
  async run(ctx) {
    const stranded = await strandedVms(ctx)
    const unseen = stranded.filter(({ powerState }) => powerState === 'UNDETERMINED')
    const lostFrom = timesOfLoss(unseen)
    const isLostBy = (time: number) => (vm: VmEntity) => (lostFrom.get(vm.host?.extId as string) as number) <= time
    for (const { extId } of unseen.filter(isLostBy(ctx.clock.now())).sort(byTurn)) {
      // One that a task is busy with waits for the next look.
      if (ctx.runner.queueLength(extId) === 0) await accept(ctx, extId)
    }
    if (stranded.length > 0) return 'again'
  },
}

/** Those that hold something of a host that is silent, and could run on another one. While none answers, they wait for the first. */
async function strandedVms({ drivers: { hardware }, store }: Looking): Promise<readonly VmEntity[]> {
  // In a cluster that is cut off nobody knows who answers.
  const hosts = (await store.find(Host)).filter(({ cluster }) => hardware.isReachable(cluster.uuid))
  const isUp = ({ extId }: { readonly extId: string }): boolean => hardware.isHostUp(extId)
  const haveOthers = new Set(hosts.filter(isUp).map(({ cluster }) => cluster.uuid))
  const found = new Map<string, VmEntity>()
  for (const host of hosts) {
    if (isUp(host) || !haveOthers.has(host.cluster.uuid)) continue
    for (const { vmExtId } of await store.findWhere(HostAllocation, { hostExtId: host.extId })) {
      const vm = await store.get(Vm, vmExtId)
      if (vm !== undefined && !isBoundToHost(vm)) found.set(vmExtId, vm)
    }
  }
  return [...found.values()]
}

/** It is an agent of its host, or has a device of it. */
function isBoundToHost({ isAgentVm, gpus = [], pcieDevices = [], nics = [] }: VmEntity): boolean {
  const hasGpu = gpus.some(({ mode }) => mode !== 'VIRTUAL')
  return isAgentVm === true || hasGpu || pcieDevices.length > 0 || nics.some((nic) => !isEmulated(nic))
}

/** By host: when its VMs are given up. It fell silent for all of them at once; one that was busy was seen to be later. */
function timesOfLoss(vms: readonly VmEntity[]): ReadonlyMap<string, number> {
  const times = new Map<string, number>()
  for (const { host, hostSilentSince } of vms) {
    const hostExtId = host?.extId as string
    const time = (parseTime(hostSilentSince ?? '') ?? 0) + lostMillis
    times.set(hostExtId, Math.min(time, times.get(hostExtId) ?? time))
  }
  return times
}

/** Larger before smaller; the rest only so that the order is always the same. */
function byTurn(a: VmEntity, b: VmEntity): number {
  const bySize = (b.memorySizeBytes ?? 0) - (a.memorySizeBytes ?? 0)
  if (bySize !== 0) return bySize
  if (a.name !== b.name) return a.name < b.name ? -1 : 1
  return a.extId < b.extId ? -1 : 1
}

/** Unless its host has come back meanwhile. */
const accept = (ctx: Looking, vmExtId: string): Promise<void> =>
  startingTasks(ctx, async (store, startTask) => {
    const vm = await store.get(Vm, vmExtId)
    const isSilent = !ctx.drivers.hardware.isHostUp(vm?.host?.extId ?? '')
    if (vm?.powerState === 'UNDETERMINED' && isSilent) await restartElsewhere({ ...ctx, store, startTask }, vm)
  })
