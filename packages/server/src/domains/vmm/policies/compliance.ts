/** Compliance with policies, computed for each answer and never stored. Source: behaviour vmm.md 1.12. */
import type { AnyResource, EntityOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import type { ReadContext as CoreReadContext } from '../../../core/context.ts'
import { parseTime } from '../../../core/time/clock.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import { idsOf, vmsCarrying } from '../../scheduling/policy-selection.ts'
import type { VmEntity } from '../../virtual-machines/entity.ts'
import { isNative } from '../vm/create/clusters.ts'

export type Evaluating = Pick<CoreReadContext<Drivers>, 'clock' | 'drivers' | 'store'>

/** What is particular to one kind of policy. `Reason`: the shapes with which its answers explain non-compliance. */
export interface PolicyRules<R extends AnyResource, Reason> {
  readonly kind: R
  readonly categoriesOf: (policy: EntityOf<R>) => readonly string[]
  readonly clusterNotSupported: Reason
  readonly conflictWith: (olderPolicyExtId: string) => Reason
  /** The violations among VMs of one cluster that one policy governs, by VM; VMs left out comply. */
  readonly violationsOf: (
    ctx: Evaluating,
    clusterExtId: string,
    vms: readonly VmEntity[],
  ) => Promise<ReadonlyMap<string, Violation<Reason>>>
}

export interface Violation<Reason> {
  readonly reason: Reason
  /** A live migration to this host would end the violation. */
  readonly moveTo?: string
}

export interface VmState<Reason> {
  readonly vm: VmEntity
  readonly verdict: 'pending' | 'compliant' | Violation<Reason>
}

interface Dated {
  readonly extId: string
  readonly updateTime?: string | undefined
}

/** After a change of a VM, or of a policy that selects the VM, the state of the VM is pending for this long. */
const pendingMillis = 5_000

/** The states of the VMs that each of these policies selects, by policy; VMs oldest first. */
export async function complianceOf<R extends AnyResource, Reason>(
  ctx: Evaluating,
  rules: PolicyRules<R, Reason>,
  wanted: readonly EntityOf<R>[],
): Promise<ReadonlyMap<string, readonly VmState<Reason>[]>> {
  // Oldest first: the first policy that selects a VM governs it.
  const policies = await ctx.store.find(rules.kind)
  const vms = await vmsCarrying(ctx.store, wanted.flatMap(rules.categoriesOf))
  const clusters = await ctx.store.getMany(Cluster, [...new Set(vms.map(clusterOf))])
  const supported = new Set(clusters.filter(isNative).map(({ extId }) => extId))
  const selectorsFor = selectorFinder(policies, rules.categoriesOf)
  const selecting = new Map(vms.map((vm) => [vm.extId, selectorsFor(vm)]))
  const states = new Map<string, readonly VmState<Reason>[]>()
  for (const { extId } of wanted) {
    const selected = vms.filter((vm) => selecting.get(vm.extId)?.some((policy) => policy.extId === extId))
    const governed = selected.filter((vm) => selecting.get(vm.extId)?.[0]?.extId === extId)
    const violations = await violationsIn(ctx, rules, governed)
    const verdictOf = (vm: VmEntity): VmState<Reason>['verdict'] => {
      const selectors: readonly Dated[] = selecting.get(vm.extId) ?? []
      if (isPending(ctx.clock.now(), [vm, ...selectors])) return 'pending'
      if (!supported.has(clusterOf(vm))) return { reason: rules.clusterNotSupported }
      const [oldest] = selectors
      if (oldest !== undefined && oldest.extId !== extId) return { reason: rules.conflictWith(oldest.extId) }
      return violations.get(vm.extId) ?? 'compliant'
    }
    states.set(
      extId,
      selected.map((vm) => ({ vm, verdict: verdictOf(vm) })),
    )
  }
  return states
}

export const countsOf = (states: readonly VmState<unknown>[]) => {
  const count = (verdict: unknown): number => states.filter((state) => state.verdict === verdict).length
  const [numCompliantVms, numPendingVms] = [count('compliant'), count('pending')]
  return { numCompliantVms, numPendingVms, numNonCompliantVms: states.length - numCompliantVms - numPendingVms }
}

const clusterOf = (vm: VmEntity): string => vm.cluster?.extId as string

function selectorFinder<P extends Dated>(
  policies: readonly P[],
  categoriesOf: (policy: P) => readonly string[],
): (vm: VmEntity) => readonly P[] {
  const named = policies.map((policy) => ({ policy, categories: new Set(categoriesOf(policy)) }))
  return (vm) => {
    const carried = idsOf(vm.categories)
    return named.filter(({ categories }) => carried.some((extId) => categories.has(extId))).map(({ policy }) => policy)
  }
}

async function violationsIn<R extends AnyResource, Reason>(
  ctx: Evaluating,
  rules: PolicyRules<R, Reason>,
  governed: readonly VmEntity[],
): Promise<ReadonlyMap<string, Violation<Reason>>> {
  const found = new Map<string, Violation<Reason>>()
  for (const [clusterExtId, vms] of Map.groupBy(governed, clusterOf))
    for (const [extId, violation] of await rules.violationsOf(ctx, clusterExtId, vms)) found.set(extId, violation)
  return found
}

const isPending = (now: number, changed: readonly Dated[]): boolean =>
  changed.some(({ updateTime }) => now < (parseTime(updateTime ?? '') ?? Number.NEGATIVE_INFINITY) + pendingMillis)
