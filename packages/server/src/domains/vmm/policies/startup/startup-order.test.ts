import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { startupOrderOf } from './startup-order.ts'

const policy = (extId: string, groups: readonly (readonly string[])[], startConditions?: readonly object[]) =>
  ({
    extId,
    groups: groups.map((categories) => ({ categories: categories.map((category) => ({ extId: category })) })),
    ...(startConditions === undefined ? {} : { startConditions }),
  }) as never

const boot = { powerStateCriteria: { timeoutDurationSecs: 60 }, delayDurationSecs: 5 }
const inWords = ({ dependent, dependee, policyExtId }: Record<'dependent' | 'dependee' | 'policyExtId', string>) =>
  `${policyExtId}: ${dependent} after ${dependee}`

test('every category of a group depends on every category of the group before, with the condition between them', () => {
  const { dependenciesOf } = startupOrderOf([policy('p', [['a', 'b'], ['c'], ['d']], [boot, {}])])
  assert.deepEqual([...(dependenciesOf.get('c')?.keys() ?? [])], ['a', 'b'])
  assert.deepEqual(dependenciesOf.get('c')?.get('a')?.condition, { delaySeconds: 5, bootTimeoutSeconds: 60 })
  assert.deepEqual(
    [...(dependenciesOf.get('d') ?? [])].map(([category, { condition }]) => [category, condition]),
    [['c', { delaySeconds: 0 }]],
  )
})

test('a younger policy that closes a cycle has a conflict with the shortest cycle, and its dependency is left out', () => {
  const policies = [
    policy('long', [['a'], ['b'], ['c'], ['d']]),
    policy('short', [['a'], ['d']]),
    policy('back', [['d'], ['a']]),
  ]
  const order = startupOrderOf(policies)
  const [conflict, ...more] = order.dependencyConflicts.get('back')?.all() ?? []
  assert.deepEqual(more, [])
  assert.deepEqual(conflict?.cycle.map(inWords), ['back: a after d', 'short: d after a'])
  assert.equal(order.dependenciesOf.has('a'), false)
  const without = startupOrderOf(policies.slice(2))
  assert.deepEqual([...without.dependencyConflicts], [])
})

test('a conflict keeps its id while it exists, also when other policies change', () => {
  const policies = [policy('one', [['a'], ['b']]), policy('two', [['b'], ['a']])]
  const idOf = (all: typeof policies) => startupOrderOf(all).dependencyConflicts.get('two')?.all()[0]?.extId
  assert.equal(idOf(policies), idOf([policy('zero', [['x'], ['y']]), ...policies]))
})

test('the same dependency with another condition conflicts with the older policy; with the same condition it does not', () => {
  const older = policy('older', [['a'], ['b']], [boot])
  const order = startupOrderOf([older, policy('same', [['a'], ['b']], [boot]), policy('other', [['a'], ['b']])])
  assert.equal(order.conditionConflicts.has('same'), false)
  const [conflict] = order.conditionConflicts.get('other')?.all() ?? []
  assert.deepEqual([conflict?.older.policyExtId, conflict?.dependency.condition], ['older', { delaySeconds: 0 }])
  assert.deepEqual(order.dependenciesOf.get('b')?.get('a')?.condition, { delaySeconds: 5, bootTimeoutSeconds: 60 })
})

test('for any set of policies, the dependencies in force have no cycle, and each conflict names a cycle of them', () => {
  const group = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), { minLength: 1, maxLength: 2 })
  fc.assert(
    fc.property(fc.array(fc.tuple(group, group), { maxLength: 12 }), (pairs) => {
      const disjoint = pairs.filter(([one, other]) => one.every((category) => !other.includes(category)))
      const order = startupOrderOf(disjoint.map((groups, index) => policy(String(index), groups)))
      const holds = [...order.dependenciesOf.values()].flatMap((dependees) => [...dependees.values()])
      const depthOf = (category: string, above: readonly string[] = []): number => {
        assert.ok(!above.includes(category), `${[...above, category]} is a cycle`)
        const dependees = [...(order.dependenciesOf.get(category)?.keys() ?? [])]
        return Math.max(0, ...dependees.map((dependee) => 1 + depthOf(dependee, [...above, category])))
      }
      for (const { dependent } of holds) depthOf(dependent)
      for (const { cycle, dependency } of [...order.dependencyConflicts.values()].flatMap(({ all }) => all())) {
        assert.equal(cycle[0], dependency)
        for (const [index, link] of cycle.entries()) {
          assert.equal(link.dependee, cycle[(index + 1) % cycle.length]?.dependent)
          if (index > 0) assert.ok(holds.includes(link))
        }
      }
    }),
  )
})

test('many policies with opposite orders of the same categories, or with others each, are judged within seconds', () => {
  const groups = Array.from({ length: 10 }, (_, group) => Array.from({ length: 20 }, (__, each) => `${group}/${each}`))
  const opposite = Array.from({ length: 99 }, (_, index) => policy(String(index), groups.toReversed()))
  const distinct = opposite.map((_, index) =>
    policy(
      `distinct ${index}`,
      groups.map((group) => group.map((category) => `${index}/${category}`)),
    ),
  )
  const start = performance.now()
  const { dependencyConflicts } = startupOrderOf([policy('oldest', groups), ...opposite, ...distinct])
  assert.ok(performance.now() - start < 3000)
  assert.deepEqual([...new Set([...dependencyConflicts.values()].map(({ count }) => count))], [9 * 400])
  assert.equal(dependencyConflicts.get('98')?.all()[0]?.cycle.length, 2)
})
