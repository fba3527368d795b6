/**
 * The order that startup policies give to categories: a graph of dependencies without cycles, and the conflicts of the
 * dependencies that it leaves out. A pure function of the policies. Source: behaviour vmm.md 1.13.
 */
import type { EntityOf } from '@hyperplane/contract'
import type { VmStartupPolicy } from '@hyperplane/contract/vmm/policies/vm-startup-policy'
import { derivedId } from '../../../../core/ids/named-id.ts'
import { idsOf } from '../../../scheduling/policy-selection.ts'

type Policy = Pick<EntityOf<typeof VmStartupPolicy>, 'extId' | 'groups' | 'startConditions'>

export interface Condition {
  readonly delaySeconds: number
  /** Wait until the guest has booted, for at most this time; absent: until the VM is ON. */
  readonly bootTimeoutSeconds?: number
}

/** VMs of the dependent category start after VMs of the dependee category. */
export interface Dependency {
  readonly dependent: string
  readonly dependee: string
  readonly condition: Condition
  readonly policyExtId: string
}

export interface DependencyConflictFound {
  readonly extId: string
  readonly dependency: Dependency
  /** The shortest cycle, which begins with the dependency itself. */
  readonly cycle: readonly Dependency[]
}

export interface ConditionConflictFound {
  readonly extId: string
  readonly dependency: Dependency
  /** The same dependency of an older policy, which holds. */
  readonly older: Dependency
}

export interface StartupOrder {
  /** Dependencies that hold, by dependent category, then by dependee. */
  readonly dependenciesOf: ReadonlyMap<string, ReadonlyMap<string, Dependency>>
  /** Both by the policy whose dependency is left out. */
  readonly dependencyConflicts: ReadonlyMap<string, readonly DependencyConflictFound[]>
  readonly conditionConflicts: ReadonlyMap<string, readonly ConditionConflictFound[]>
}

/** The conditions between the groups of a policy. */
export const conditionsOf = ({ groups, startConditions }: Policy): Condition[] =>
  groups.slice(1).map((_, index) => {
    const { delayDurationSecs: delaySeconds = 0, powerStateCriteria } = startConditions?.[index] ?? {}
    // Only the criteria of a boot have a time limit.
    const { timeoutDurationSecs } = (powerStateCriteria ?? {}) as { readonly timeoutDurationSecs?: number }
    return timeoutDurationSecs === undefined
      ? { delaySeconds }
      : { delaySeconds, bootTimeoutSeconds: timeoutDurationSecs }
  })

/** @param policies oldest first: an older policy prevails over a younger one */
export function startupOrderOf(policies: readonly Policy[]): StartupOrder {
  const [first] = policies
  const cached = first === undefined ? undefined : orders.get(first)
  if (cached !== undefined && isSame(cached.policies, policies)) return cached.order
  const order = computed(policies)
  if (first !== undefined) orders.set(first, { policies, order })
  return order
}

/** Rows are frozen and parsed once, so that unchanged policies are the same objects. By the oldest policy. */
const orders = new WeakMap<Policy, { readonly policies: readonly Policy[]; readonly order: StartupOrder }>()

const isSame = (one: readonly Policy[], other: readonly Policy[]): boolean =>
  one.length === other.length && one.every((policy, index) => policy === other[index])

function computed(policies: readonly Policy[]): StartupOrder {
  const dependenciesOf = new Map<string, Map<string, Dependency>>()
  const dependencyConflicts = new Map<string, DependencyConflictFound[]>()
  const conditionConflicts = new Map<string, ConditionConflictFound[]>()
  for (const policy of policies) {
    const policyExtId = policy.extId
    const groups = policy.groups.map(({ categories }) => idsOf(categories))
    for (const [index, condition] of conditionsOf(policy).entries()) {
      for (const dependee of groups[index] ?? []) {
        const paths = pathsFrom(dependee, dependenciesOf)
        for (const dependent of groups[index + 1] ?? []) {
          const dependency = { dependent, dependee, condition, policyExtId }
          const older = dependenciesOf.get(dependent)?.get(dependee)
          const extIdOf = (kind: string): string => derivedId(kind, policyExtId, dependent, dependee)
          if (older !== undefined) {
            const isOther = older.policyExtId !== policyExtId && !isEqual(older.condition, condition)
            const extId = extIdOf('start condition conflict')
            if (isOther) add(conditionConflicts, policyExtId, { extId, dependency, older })
          } else if (paths.has(dependent)) {
            const cycle = [dependency, ...pathTo(dependent, paths)]
            add(dependencyConflicts, policyExtId, { extId: extIdOf('dependency conflict'), dependency, cycle })
          } else {
            const known = dependenciesOf.get(dependent)
            if (known === undefined) dependenciesOf.set(dependent, new Map([[dependee, dependency]]))
            else known.set(dependee, dependency)
          }
        }
      }
    }
  }
  return { dependenciesOf, dependencyConflicts, conditionConflicts }
}

/**
 * The last dependency of the shortest path to each category on which `start` depends. New dependencies on `start` do not
 * change these paths, since none of them may close a cycle.
 */
function pathsFrom(
  start: string,
  dependenciesOf: ReadonlyMap<string, ReadonlyMap<string, Dependency>>,
): ReadonlyMap<string, Dependency> {
  const paths = new Map<string, Dependency>()
  let reached = [start]
  while (reached.length > 0) {
    const next: string[] = []
    for (const category of reached) {
      for (const [dependee, dependency] of dependenciesOf.get(category) ?? []) {
        if (paths.has(dependee)) continue
        paths.set(dependee, dependency)
        next.push(dependee)
      }
    }
    reached = next
  }
  return paths
}

function pathTo(end: string, paths: ReadonlyMap<string, Dependency>): Dependency[] {
  const path: Dependency[] = []
  for (let last = paths.get(end); last !== undefined; last = paths.get(last.dependent)) path.unshift(last)
  return path
}

const isEqual = (one: Condition, other: Condition): boolean =>
  one.delaySeconds === other.delaySeconds && one.bootTimeoutSeconds === other.bootTimeoutSeconds

function add<T>(found: Map<string, T[]>, policyExtId: string, conflict: T): void {
  const known = found.get(policyExtId)
  if (known === undefined) found.set(policyExtId, [conflict])
  else known.push(conflict)
}
