/** Startup policies decide about starts: VMs wait for VMs of their own cluster that are not OFF. Source: vmm.md 1.13, 3.2 (HA). */

import { VmStartupPolicy } from '@hyperplane/contract/vmm/policies/vm-startup-policy'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { parseTime } from '../../../../core/time/clock.ts'
import type { GuestView } from '../../../../drivers/hypervisor.ts'
import type { Schedule, ScheduleContext } from '../../../context.ts'
import { idsOf, vmsCarrying } from '../../../scheduling/policy-selection.ts'
import type { VmEntity } from '../../../virtual-machines/entity.ts'
import { powerHistory } from '../../../virtual-machines/power-journal.ts'
import { hasTools } from '../../policies/startup/guest-tools.ts'
import { type Condition, type StartupOrder, startupOrderOf } from '../../policies/startup/startup-order.ts'
import { bindingsOf } from './bindings.ts'

/** @param candidates in the order in which they start where no policy orders them */
export async function startableNow(
  ctx: ScheduleContext,
  candidates: readonly VmEntity[],
): Promise<readonly VmEntity[]> {
  const policies = candidates.length === 0 ? [] : await ctx.store.find(VmStartupPolicy)
  if (policies.length === 0) return candidates
  const awaited = await awaitedBy(ctx, startupOrderOf(policies), candidates)
  const startable: VmEntity[] = []
  for (const ofCluster of Map.groupBy(candidates, clusterOf).values()) {
    const isFree = (vm: VmEntity): boolean =>
      (awaited.get(vm.extId) ?? []).every((unready) => unready.every(({ extId }) => extId === vm.extId))
    const free = ofCluster.filter(isFree)
    const waiting = new Set(ofCluster.map(({ extId }) => extId))
    const isUnderWay = (vm: VmEntity): boolean => !waiting.has(vm.extId) || ctx.runner.queueLength(vm.extId) > 0
    const all = new Set(ofCluster.flatMap(({ extId }) => awaited.get(extId) ?? []))
    // VMs with categories of several groups can wait for each other: then the first one starts.
    const isDeadlock = free.length === 0 && ![...all].some((unready) => unready.some(isUnderWay))
    startable.push(...(isDeadlock ? ofCluster.slice(0, 1) : free))
  }
  return startable
}

/** By candidate, lists of VMs for which it still waits, perhaps itself. Candidates share lists. */
async function awaitedBy(
  ctx: ScheduleContext,
  order: StartupOrder,
  candidates: readonly VmEntity[],
): Promise<ReadonlyMap<string, readonly (readonly VmEntity[])[]>> {
  const dependees = dependeeFinder(order)
  const wanted = candidates.flatMap((vm) => idsOf(vm.categories).flatMap((category) => [...dependees(category).keys()]))
  const carriers = new Map<string, VmEntity[]>()
  for (const vm of wanted.length === 0 ? [] : await vmsCarrying(ctx.store, wanted)) {
    for (const category of idsOf(vm.categories)) {
      const key = `${clusterOf(vm)} ${category}`
      const others = carriers.get(key)
      if (others === undefined) carriers.set(key, [vm])
      else others.push(vm)
    }
  }
  const isReady = readiness(ctx)
  const lists = new Map<string, readonly VmEntity[]>()
  const unreadyOf = async (key: string, condition: Condition): Promise<readonly VmEntity[]> => {
    const name = `${key} ${condition.delaySeconds} ${condition.bootTimeoutSeconds}`
    let unready = lists.get(name)
    if (unready === undefined) {
      const found: VmEntity[] = []
      for (const vm of carriers.get(key) ?? []) if (!(await isReady(vm, condition))) found.push(vm)
      lists.set(name, (unready = found))
    }
    return unready
  }
  const awaited = new Map<string, readonly (readonly VmEntity[])[]>()
  for (const vm of candidates) {
    const found = new Set<readonly VmEntity[]>()
    for (const category of idsOf(vm.categories))
      for (const [dependee, conditions] of dependees(category))
        for (const condition of conditions) found.add(await unreadyOf(`${clusterOf(vm)} ${dependee}`, condition))
    awaited.set(vm.extId, [...found])
  }
  return awaited
}

type Dependees = ReadonlyMap<string, readonly Condition[]>

/** Every category on which a category depends, also over groups without VMs, with its conditions. */
function dependeeFinder({ dependenciesOf }: StartupOrder): (category: string) => Dependees {
  const cache = new Map<string, Dependees>()
  return (category) => {
    const cached = cache.get(category)
    if (cached !== undefined) return cached
    const found = new Map<string, Condition[]>()
    const reached = [category]
    for (const each of reached)
      for (const [dependee, { condition }] of dependenciesOf.get(each) ?? []) {
        const conditions = found.get(dependee)
        if (conditions !== undefined) conditions.push(condition)
        else {
          found.set(dependee, [condition])
          reached.push(dependee)
        }
      }
    cache.set(category, found)
    return found
  }
}

/** Whether VMs that depend on this one may start. */
function readiness(ctx: ScheduleContext): (vm: VmEntity, condition: Condition) => Promise<boolean> {
  const now = ctx.clock.now()
  const guests = new Map<string, GuestView | undefined>()
  const starts = new Map<string, number>()
  const guestOf = async ({ extId }: VmEntity): Promise<GuestView | undefined> => {
    if (!guests.has(extId)) guests.set(extId, (await ctx.drivers.hypervisor.observeGuests([extId])).get(extId))
    return guests.get(extId)
  }
  const startOf = async ({ extId }: VmEntity): Promise<number> => {
    let start = starts.get(extId)
    if (start === undefined) {
      const last = (await powerHistory(ctx.store, extId)).findLast(
        ({ change }) => change === 'ON' || change === 'RESET',
      )
      starts.set(extId, (start = timeOf(last?.time)))
    }
    return start
  }
  return async (vm, { delaySeconds, bootTimeoutSeconds }) => {
    if (vm.powerState === 'UNDETERMINED') return bindingsOf(vm).length > 0
    if (vm.powerState !== 'ON') return true
    const delay = 1000 * delaySeconds
    const timeout = bootTimeoutSeconds === undefined || !hasTools(vm) ? 0 : 1000 * bootTimeoutSeconds
    // No power state has changed since the last update of the VM: reading its journal is not necessary.
    if (now >= timeOf(vm.updateTime) + timeout + delay || now >= (await startOf(vm)) + timeout + delay) return true
    if (timeout === 0) return false
    const guest = await guestOf(vm)
    return guest?.areToolsReachable === true && guest.upSince !== undefined && now >= guest.upSince + delay
  }
}

const timeOf = (time: string | undefined): number => parseTime(time ?? '') ?? Number.NEGATIVE_INFINITY
const clusterOf = (vm: VmEntity): string => vm.cluster?.extId as string

/** Dependent VMs do not start with their host: the others may be on a host that starts later. */
export const holdDependentVms: Schedule = {
  name: 'vmm.hold-dependent-vms',
  everySeconds: 10,
  watch: ({ store }, changed) => store.watch([Vm, VmStartupPolicy], changed),
  async run({ store, drivers: { hypervisor } }) {
    const { dependenciesOf } = startupOrderOf(await store.find(VmStartupPolicy))
    const dependents = dependenciesOf.size === 0 ? [] : await vmsCarrying(store, [...dependenciesOf.keys()])
    const wanted = new Set(dependents.filter((vm) => bindingsOf(vm).length === 0).map(({ extId }) => extId))
    const held = hypervisor.heldAtStart()
    if (wanted.size !== held.size || [...wanted].some((extId) => !held.has(extId))) await hypervisor.holdAtStart(wanted)
  },
}
