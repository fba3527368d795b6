/** Startup policies as a graph of categories without cycles, and conflicts of omitted dependencies. Source: behaviour vmm.md 1.13. */
import type { EntityOf } from '@hyperplane/contract'
import type { VmStartupPolicy } from '@hyperplane/contract/vmm/policies/vm-startup-policy'
import { derivedId } from '../../../../core/ids/named-id.ts'
import { idsOf } from '../../../scheduling/policy-selection.ts'

type Policy = Pick<EntityOf<typeof VmStartupPolicy>, 'extId' | 'groups' | 'startConditions'>

export interface Condition {
  readonly delaySeconds: number
  /** Limit of the wait for the guest's boot; absent: wait until the VM is ON. */
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
  /** Begins with the dependency itself; the shortest one. */
  readonly cycle: readonly Dependency[]
}

export interface ConditionConflictFound {
  readonly extId: string
  readonly dependency: Dependency
  /** Equal dependency of an older policy, which holds. */
  readonly older: Dependency
}

export interface StartupOrder {
  /** Dependencies that hold, by dependent category, then by dependee. */
  readonly dependenciesOf: ReadonlyMap<string, ReadonlyMap<string, Dependency>>
  /** By the policy of the omitted dependency; policies without a conflict are absent. */
  readonly dependencyConflicts: ReadonlyMap<string, Conflicts<DependencyConflictFound>>
  readonly conditionConflicts: ReadonlyMap<string, Conflicts<ConditionConflictFound>>
}

/** Computed on demand: all policies together may have millions. */
export interface Conflicts<T> {
  readonly count: number
  readonly all: () => readonly T[]
}

interface Held extends Dependency {
  /** The number of dependencies that held before it. */
  readonly sequence: number
}

type Graph = ReadonlyMap<string, ReadonlyMap<string, Held>>

export const conditionsOf = ({ groups, startConditions }: Policy): Condition[] =>
  groups.slice(1).map((_, index) => {
    const { delayDurationSecs: delaySeconds = 0, powerStateCriteria } = startConditions?.[index] ?? {}
    // Only the criteria of a boot have a time limit.
    const { timeoutDurationSecs } = (powerStateCriteria ?? {}) as { readonly timeoutDurationSecs?: number }
    return timeoutDurationSecs === undefined
      ? { delaySeconds }
      : { delaySeconds, bootTimeoutSeconds: timeoutDurationSecs }
  })

/** @param policies oldest first: they prevail over younger ones */
export function startupOrderOf(policies: readonly Policy[]): StartupOrder {
  const [first] = policies
  const cached = first === undefined ? undefined : orders.get(first)
  if (cached !== undefined && isSame(cached.policies, policies)) return cached.order
  const order = computed(policies)
  if (first !== undefined) orders.set(first, { policies, order })
  return order
}

/** By oldest policy. Rows are frozen and parsed once, so unchanged policies are the same objects. */
const orders = new WeakMap<Policy, { readonly policies: readonly Policy[]; readonly order: StartupOrder }>()

const isSame = (one: readonly Policy[], other: readonly Policy[]): boolean =>
  one.length === other.length && one.every((policy, index) => policy === other[index])

function computed(policies: readonly Policy[]): StartupOrder {
  const dependenciesOf = new Map<string, Map<string, Held>>()
  const dependencyConflicts = new Map<string, Conflicts<DependencyConflictFound>>()
  const conditionConflicts = new Map<string, Conflicts<ConditionConflictFound>>()
  const dependees = new Set<string>()
  const cycles = cycleFinder(dependenciesOf, dependees)
  let sequence = 0
  for (const policy of policies) {
    const policyExtId = policy.extId
    /** Indexes in `edgesOf` of omitted dependencies, with the number of dependencies that hold already. */
    const [cyclic, heldBefore, different]: [number[], number[], number[]] = [[], [], []]
    let place = 0
    let closesCycle: ReturnType<typeof cycles> | undefined
    let from: string | undefined
    for (const { dependee, dependent, condition } of edgesOf(policy)) {
      if (from !== dependee) [from, closesCycle] = [dependee, cycles(dependee)]
      const others = dependenciesOf.get(dependent)
      const older = others?.get(dependee)
      if (older !== undefined) {
        if (older.policyExtId !== policyExtId && !isEqual(older.condition, condition)) different.push(place)
      } else if (closesCycle?.(dependent) === true) {
        cyclic.push(place)
        heldBefore.push(sequence)
      } else {
        const held = { dependent, dependee, condition, policyExtId, sequence: sequence++ }
        if (others === undefined) dependenciesOf.set(dependent, new Map([[dependee, held]]))
        else others.set(dependee, held)
        dependees.add(dependee)
      }
      place++
    }
    const { length: count } = cyclic
    if (count > 0)
      dependencyConflicts.set(policyExtId, { count, all: () => withCycles(policy, cyclic, heldBefore, dependenciesOf) })
    if (different.length > 0)
      conditionConflicts.set(policyExtId, {
        count: different.length,
        all: () => withOlder(policy, different, dependenciesOf),
      })
  }
  return { dependenciesOf, dependencyConflicts, conditionConflicts }
}

/** The dependencies that a policy wants, grouped by dependee. */
function* edgesOf(policy: Policy): Generator<Dependency> {
  const policyExtId = policy.extId
  const groups = policy.groups.map(({ categories }) => idsOf(categories))
  for (const [index, condition] of conditionsOf(policy).entries())
    for (const dependee of groups[index] ?? [])
      for (const dependent of groups[index + 1] ?? []) yield { dependent, dependee, condition, policyExtId }
}

/** At most so many categories are remembered, over all starts. */
const maximumRemembered = 500_000

/** Whether a dependency on `dependee` closes a cycle. Dependencies are only added, so findings stay true. */
function cycleFinder(
  dependenciesOf: Graph,
  dependees: ReadonlySet<string>,
): (dependee: string) => (dependent: string) => boolean {
  const cached = new Map<string, ReadonlySet<string>>()
  let remembered = 0
  return (dependee) => {
    let isCurrent = false
    return (dependent) => {
      if (!dependees.has(dependent) || !dependenciesOf.has(dependee)) return false
      if (cached.get(dependee)?.has(dependent) === true) return true
      if (isCurrent) return false
      isCurrent = true
      remembered -= cached.get(dependee)?.size ?? 0
      const found = new Set(pathsFrom(dependee, dependenciesOf).keys())
      if (remembered + found.size > maximumRemembered) {
        cached.clear()
        remembered = 0
      }
      cached.set(dependee, found)
      remembered += found.size
      return found.has(dependent)
    }
  }
}

function withCycles(
  policy: Policy,
  places: readonly number[],
  heldBefore: readonly number[],
  dependenciesOf: Graph,
): readonly DependencyConflictFound[] {
  const edges = [...edgesOf(policy)]
  let last: { readonly from: string; readonly before: number; readonly paths: Paths } | undefined
  return places.map((place, index) => {
    const dependency = edges[place] as Dependency
    const { dependee: from, dependent } = dependency
    const before = heldBefore[index] as number
    if (last?.from !== from || last.before !== before)
      last = { from, before, paths: pathsFrom(from, dependenciesOf, before) }
    const extId = derivedId('dependency conflict', policy.extId, dependent, from)
    return { extId, dependency, cycle: [dependency, ...pathTo(dependent, last.paths)] }
  })
}

function withOlder(
  policy: Policy,
  places: readonly number[],
  dependenciesOf: Graph,
): readonly ConditionConflictFound[] {
  const edges = [...edgesOf(policy)]
  return places.map((place) => {
    const dependency = edges[place] as Dependency
    const { dependent, dependee } = dependency
    const extId = derivedId('start condition conflict', policy.extId, dependent, dependee)
    return { extId, dependency, older: dependenciesOf.get(dependent)?.get(dependee) as Dependency }
  })
}

type Paths = ReadonlyMap<string, Dependency>

/** The last dependency of the shortest path to each category on which `start` depends. `before`: over the first ones only. */
function pathsFrom(start: string, dependenciesOf: Graph, before = Number.POSITIVE_INFINITY): Paths {
  const paths = new Map<string, Dependency>()
  let reached = [start]
  while (reached.length > 0) {
    const next: string[] = []
    for (const category of reached) {
      for (const [dependee, dependency] of dependenciesOf.get(category) ?? []) {
        if (dependency.sequence >= before || paths.has(dependee)) continue
        paths.set(dependee, dependency)
        next.push(dependee)
      }
    }
    reached = next
  }
  return paths
}

function pathTo(end: string, paths: Paths): Dependency[] {
  const path: Dependency[] = []
  for (let last = paths.get(end); last !== undefined; last = paths.get(last.dependent)) path.unshift(last)
  return path
}

const isEqual = (one: Condition, other: Condition): boolean =>
  one.delaySeconds === other.delaySeconds && one.bootTimeoutSeconds === other.bootTimeoutSeconds
