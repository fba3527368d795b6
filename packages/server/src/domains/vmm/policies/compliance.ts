/** Compliance with policies, computed for each answer and never stored. Source: behaviour vmm.md 1.12, 1.13. */
import type { AnyResource, EntityOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import type { ReadContext as CoreReadContext } from '../../../core/context.ts'
import { parseTime } from '../../../core/time/clock.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import { idsOf, vmsCarrying } from '../../scheduling/policy-selection.ts'
import type { VmEntity } from '../../virtual-machines/entity.ts'
import { isNative } from '../vm/create/clusters.ts'

export type Evaluating = Pick<CoreReadContext<Drivers>, 'clock' | 'drivers' | 'store'>

/** Differences between kinds of policies. `Reason`: shapes that explain non-compliance. */
export interface PolicyRules<R extends AnyResource, Reason> {
  readonly kind: R
  readonly categoriesOf: (policy: EntityOf<R>) => readonly string[]
  readonly clusterNotSupported: Reason
  /** Absent: several policies may govern one VM. */
  readonly conflictWith?: (olderPolicyExtId: string) => Reason
  /** Groups outside these policies that exclude their VMs, by VM. */
  readonly conflictsElsewhere?: (ctx: Evaluating) => ReadonlyMap<string, Reason>
  /** The violations among VMs of one cluster that the policy governs, by VM; VMs left out comply. */
  readonly violationsOf: (
    ctx: Evaluating,
    clusterExtId: string,
    vms: readonly VmEntity[],
    policy: EntityOf<R>,
  ) => Promise<ReadonlyMap<string, Violation<Reason>>>
  /** A VM complies or not whatever other VMs do, so that one can be judged alone. */
  readonly judgesVmsAlone?: true
  /** Types of a compliance status in answers. */
  readonly statusTypes: { readonly pending: string; readonly compliant: string; readonly nonCompliant: string }
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

export interface Evaluation {
  /** Also judges VMs that changed just now, instead of reporting them as pending. */
  readonly isImmediate?: boolean
  readonly about?: VmEntity
}

interface Dated {
  readonly extId: string
  readonly updateTime?: string | undefined
}

/** Duration of the pending state, after a change of a VM or of a policy that selects it. */
const pendingMillis = 5_000

/** The states of the VMs that each of these policies selects, by policy; VMs oldest first. */
export async function complianceOf<R extends AnyResource, Reason>(
  ctx: Evaluating,
  rules: PolicyRules<R, Reason>,
  wanted: readonly EntityOf<R>[],
  { isImmediate = false, about }: Evaluation = {},
): Promise<ReadonlyMap<string, readonly VmState<Reason>[]>> {
  // Oldest first: the first policy that selects a VM governs it.
  const policies = await ctx.store.find(rules.kind)
  const isAlone = about !== undefined && rules.judgesVmsAlone === true
  const vms = isAlone ? [about] : await vmsCarrying(ctx.store, wanted.flatMap(rules.categoriesOf))
  const clusters = await ctx.store.getMany(Cluster, [...new Set(vms.map(clusterOf))])
  const supported = new Set(clusters.filter(isNative).map(({ extId }) => extId))
  const elsewhere = rules.conflictsElsewhere?.(ctx)
  const selectorsOf = selectorFinder(policies, rules.categoriesOf)
  const selections = new Map(
    wanted.map(({ extId }) => [extId, { selected: [] as Selected[], governed: [] as VmEntity[] }]),
  )
  for (const vm of vms) {
    const selectors = selectorsOf(vm)
    const isGoverned = !(elsewhere?.has(vm.extId) ?? false)
    for (const [index, { extId }] of selectors.entries()) {
      const selection = selections.get(extId)
      selection?.selected.push({ vm, selectors })
      if (isGoverned && (index === 0 || rules.conflictWith === undefined)) selection?.governed.push(vm)
    }
  }

  const states = new Map<string, readonly VmState<Reason>[]>()
  for (const policy of wanted) {
    const { selected = [], governed = [] } = selections.get(policy.extId) ?? {}
    const violations = await violationsIn(ctx, rules, governed, policy)
    const verdictOf = ({ vm, selectors }: Selected): VmState<Reason>['verdict'] => {
      if (!isImmediate && isPending(ctx.clock.now(), [vm, ...selectors])) return 'pending'
      if (!supported.has(clusterOf(vm))) return { reason: rules.clusterNotSupported }
      const [oldest] = selectors
      if (rules.conflictWith !== undefined && oldest !== undefined && oldest.extId !== policy.extId)
        return { reason: rules.conflictWith(oldest.extId) }
      const conflict = elsewhere?.get(vm.extId)
      if (conflict !== undefined) return { reason: conflict }
      return violations.get(vm.extId) ?? 'compliant'
    }
    states.set(
      policy.extId,
      selected.map((each) => ({ vm: each.vm, verdict: verdictOf(each) })),
    )
  }
  return states
}

interface Selected {
  readonly vm: VmEntity
  readonly selectors: readonly Dated[]
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
  const naming = new Map<string, number[]>()
  for (const [index, policy] of policies.entries()) {
    for (const extId of new Set(categoriesOf(policy))) {
      const indexes = naming.get(extId)
      if (indexes === undefined) naming.set(extId, [index])
      else indexes.push(index)
    }
  }
  return (vm) => {
    const indexes = new Set(idsOf(vm.categories).flatMap((extId) => naming.get(extId) ?? []))
    return [...indexes].sort((a, b) => a - b).map((index) => policies[index] as P)
  }
}

async function violationsIn<R extends AnyResource, Reason>(
  ctx: Evaluating,
  rules: PolicyRules<R, Reason>,
  governed: readonly VmEntity[],
  policy: EntityOf<R>,
): Promise<ReadonlyMap<string, Violation<Reason>>> {
  const found = new Map<string, Violation<Reason>>()
  for (const [clusterExtId, vms] of Map.groupBy(governed, clusterOf))
    for (const [extId, violation] of await rules.violationsOf(ctx, clusterExtId, vms, policy))
      found.set(extId, violation)
  return found
}

const isPending = (now: number, changed: readonly Dated[]): boolean =>
  changed.some(({ updateTime }) => now < (parseTime(updateTime ?? '') ?? Number.NEGATIVE_INFINITY) + pendingMillis)
