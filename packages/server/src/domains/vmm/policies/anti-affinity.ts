/** Violations of anti-affinity policies, and the live migrations that end them. Source: behaviour vmm.md 1.12. */
import type { ValueOf } from '@hyperplane/contract'
import {
  type VmAntiAffinityNonCompliance,
  VmAntiAffinityPolicy,
} from '@hyperplane/contract/vmm/policies/vm-anti-affinity-policy'
import { HostAllocation } from '../../scheduling/host-allocation.ts'
import { type Choice, chooseByLoad, loadsOf } from '../../scheduling/placement.ts'
import { idsOf } from '../../scheduling/policy-selection.ts'
import { candidatesOf, demandOf } from '../../scheduling/scheduler.ts'
import type { VmEntity } from '../../virtual-machines/entity.ts'
import type { Evaluating, PolicyRules, Violation } from './compliance.ts'

export type Reason = ValueOf<typeof VmAntiAffinityNonCompliance>

const because = (type: string, details: object = {}): Reason => ({
  $objectType: `vmm.v4.ahv.policies.${type}`,
  ...details,
})

export const antiAffinity: PolicyRules<typeof VmAntiAffinityPolicy, Reason> = {
  kind: VmAntiAffinityPolicy,
  categoriesOf: ({ categories }) => idsOf(categories),
  clusterNotSupported: because('ClusterNotSupportedForVmAntiAffinity'),
  conflictWith: (conflictingVmAntiAffinityPolicyExtId) =>
    because('ConflictingVmAntiAffinityPolicy', { conflictingVmAntiAffinityPolicyExtId }),
  conflictsElsewhere: (ctx) => legacyConflicts(ctx),
  violationsOf,
  statusTypes: {
    pending: 'vmm.v4.ahv.policies.PendingVmAntiAffinityPolicy',
    compliant: 'vmm.v4.ahv.policies.CompliantVmAntiAffinityPolicy',
    nonCompliant: 'vmm.v4.ahv.policies.NonCompliantVmAntiAffinityPolicy',
  },
}

const legacyConflicts = ({ drivers }: Evaluating): ReadonlyMap<string, Reason> =>
  new Map(
    drivers.hypervisor
      .vmGroups()
      .flatMap(({ extId: legacyVmAntiAffinityPolicyExtId, vmExtIds }) =>
        vmExtIds.map((vmExtId) => [
          vmExtId,
          because('ConflictingLegacyVmAntiAffinityPolicy', { legacyVmAntiAffinityPolicyExtId }),
        ]),
      ),
  )

/** One VM may stay on each host: one that cannot migrate, else the oldest. Planned moves count as made, so no two VMs get the same host. */
async function violationsOf(
  ctx: Evaluating,
  clusterExtId: string,
  vms: readonly VmEntity[],
): Promise<ReadonlyMap<string, Violation<Reason>>> {
  const running = vms.filter(({ host }) => host !== undefined)
  const canMove = movability(ctx, clusterExtId)
  const byHost = Map.groupBy([...running.filter((vm) => !canMove(vm)), ...running.filter(canMove)], hostOf)
  const surplus = new Set([...byHost.values()].flatMap(([, ...others]) => others))
  const found = new Map<string, Violation<Reason>>()
  if (surplus.size === 0) return found

  const usable = (await candidatesOf(ctx, clusterExtId)).filter(({ closed }) => closed === undefined)
  const allocations = await ctx.store.findWhere(HostAllocation, { clusterExtId })
  // A VM that is being powered on has a reservation before it has a host.
  const selected = new Set(vms.map(({ extId }) => extId))
  const reservations = Map.groupBy(allocations, ({ vmExtId }) => vmExtId)
  const taken = new Set(allocations.flatMap((held) => (selected.has(held.vmExtId) ? held.hostExtId : [])))
  let free = usable.filter(({ extId }) => !taken.has(extId))
  const loads = loadsOf(allocations)
  for (const vm of running.filter((each) => surplus.has(each))) {
    // No VM of the policy holds a free host: the demand needs no peers.
    const demand = free.length === 0 ? undefined : await demandOf(ctx.store, vm)
    const choice: Choice = demand === undefined ? { reasons: [] } : chooseByLoad(free, loads, demand)
    const reason =
      running.length > usable.length
        ? because('NotEnoughHostsForVmAntiAffinity')
        : 'reasons' in choice
          ? because('NotEnoughResourcesForVmAntiAffinity')
          : because('OtherVmAntiAffinityPolicyNonComplianceReason')
    const isMoving = (reservations.get(vm.extId)?.length ?? 0) > 1
    const moves = 'hostExtId' in choice && canMove(vm) && !isMoving
    if (moves) free = free.filter(({ extId }) => extId !== choice.hostExtId)
    found.set(vm.extId, moves ? { reason, moveTo: choice.hostExtId } : { reason })
  }
  return found
}

/** Whether a running VM of the cluster can be live-migrated now. */
export function movability({ drivers }: Evaluating, clusterExtId: string): (vm: VmEntity) => boolean {
  const isReachable = drivers.hardware.isReachable(clusterExtId)
  return (vm) =>
    isReachable && vm.powerState === 'ON' && vm.isLiveMigrateCapable === true && drivers.hardware.isHostUp(hostOf(vm))
}

const hostOf = (vm: VmEntity): string => vm.host?.extId as string
