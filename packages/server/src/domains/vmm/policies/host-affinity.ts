/** Violations of host affinity policies, and the live migrations that end them. Source: behaviour vmm.md 1.12. */
import type { ValueOf } from '@hyperplane/contract'
import {
  type VmHostAffinityNonCompliance,
  VmHostAffinityPolicy,
} from '@hyperplane/contract/vmm/policies/vm-host-affinity-policy'
import { DeviceClaim } from '../../scheduling/device-claim.ts'
import { HostAllocation } from '../../scheduling/host-allocation.ts'
import { admits, Choices, loadsOf } from '../../scheduling/placement.ts'
import { affinityBy, idsOf, peerFinder } from '../../scheduling/policy-selection.ts'
import { candidatesOf, demandOf } from '../../scheduling/scheduler.ts'
import type { VmEntity } from '../../virtual-machines/entity.ts'
import { movability } from './anti-affinity.ts'
import type { Evaluating, PolicyRules, Violation } from './compliance.ts'

type Reason = ValueOf<typeof VmHostAffinityNonCompliance>

const because = (type: string, details: object = {}): Reason => ({
  $objectType: `vmm.v4.ahv.policies.${type}`,
  ...details,
})

export const hostAffinity: PolicyRules<typeof VmHostAffinityPolicy, Reason> = {
  kind: VmHostAffinityPolicy,
  categoriesOf: ({ vmCategories }) => idsOf(vmCategories),
  clusterNotSupported: because('PeNotCapableForVmHostAffinityPolicy'),
  conflictWith: (extId) => because('ConflictingVmHostAffinityPolicy', { extId }),
  violationsOf,
  judgesVmsAlone: true,
  statusTypes: {
    pending: 'vmm.v4.ahv.policies.PendingVmHostAffinityPolicy',
    compliant: 'vmm.v4.ahv.policies.CompliantVmHostAffinityPolicy',
    nonCompliant: 'vmm.v4.ahv.policies.NonCompliantVmHostAffinityPolicy',
  },
}

/** VMs on other hosts than the policy allows. A planned move counts as made when the next one is planned. */
async function violationsOf(
  ctx: Evaluating,
  clusterExtId: string,
  vms: readonly VmEntity[],
  policy: Parameters<typeof affinityBy>[0],
): Promise<ReadonlyMap<string, Violation<Reason>>> {
  const affinity = affinityBy(policy)
  const allowed = (await candidatesOf(ctx, clusterExtId)).filter((host) => admits(host, affinity))
  if (allowed.length === 0) {
    const violation = { reason: because('NoHostsForVmHostAffinityPolicy') }
    return new Map(vms.map(({ extId }) => [extId, violation]))
  }
  const allowedIds = new Set(allowed.map(({ extId }) => extId))
  const violators = vms.filter(({ host }) => host !== undefined && !allowedIds.has(host.extId as string))
  const found = new Map<string, Violation<Reason>>()
  if (violators.length === 0) return found

  const canMove = movability(ctx, clusterExtId)
  const allocations = await ctx.store.findWhere(HostAllocation, { clusterExtId })
  const hostsHolding = Map.groupBy(allocations, ({ vmExtId }) => vmExtId)
  const hostsOf = (extId: string): string[] => (hostsHolding.get(extId) ?? []).map(({ hostExtId }) => hostExtId)
  const claims = await ctx.store.findWhere(DeviceClaim, { clusterExtId })
  const preloaded = { hostAffinity: affinity, claimed: new Map(claims.map((claim) => [claim.vmExtId, claim])) }
  const peersOf = peerFinder(ctx.store, ctx.drivers.hypervisor)
  const planned = new Map<string, string>()
  const choices = new Choices(allowed, loadsOf(allocations))
  for (const vm of violators) {
    // The VM moves already: it has a reservation on its target.
    const isMoving = hostsOf(vm.extId).some((hostExtId) => allowedIds.has(hostExtId))
    const demand = await demandOf(ctx.store, vm, preloaded)
    const peers = [...(await peersOf(vm))].flatMap((extId) => planned.get(extId) ?? hostsOf(extId))
    const choice = choices.choose(demand, peers)
    if ('reasons' in choice && !isMoving) {
      found.set(vm.extId, { reason: because('NotEnoughResourcesForVmHostAffinityPolicy') })
      continue
    }
    const reason = because('OtherVmHostAffinityPolicyVmNonComplianceReason')
    const moves = 'hostExtId' in choice && !isMoving && canMove(vm)
    if (moves) {
      choices.take(demand, choice.hostExtId)
      planned.set(vm.extId, choice.hostExtId)
    }
    found.set(vm.extId, moves ? { reason, moveTo: choice.hostExtId } : { reason })
  }
  return found
}
