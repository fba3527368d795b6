import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Mutant, mutantsOf } from './mutants.ts'

const changesOf = (source: string): string[] => mutantsOf('a.ts', source).map(({ change }) => change)
const applied = (source: string, { start, end, text }: Mutant): string =>
  source.slice(0, start) + text + source.slice(end)

test('a refusal is removed, and its condition is replaced by both of its values', () => {
  assert.deepEqual(changesOf('if (found > most) throw refusal()'), [
    'found > most -> true',
    'found > most -> false',
    '> -> >=',
    'throw refusal() -> ;',
  ])
})

test('a mutant changes the typed source, at the place that the syntax tree without types names', () => {
  const source = 'const f = (a: Map<string, number>, b?: boolean): unknown => (a as Map<string, 1>).size === 2 && b\n'
  assert.deepEqual(
    mutantsOf('a.ts', source).map((mutant) => applied(source, mutant)),
    [source.replace('===', '!=='), source.replace('&&', '||')],
  )
})

test('steps of tasks and functions without a value do nothing, calls for their effect are left out', () => {
  const source = `export const step = {
    undo: (ctx) => ctx.drivers.remove(1),
    async record(ctx) {
      await ctx.store.update(2)
    },
    value: () => {
      return 3
    },
  }`
  assert.deepEqual(
    changesOf(source).map((change) => change.replaceAll(/\s+/g, ' ')),
    ['ctx.drivers.remove(1) -> undefined', '{ await ctx.store.update(2) } -> {}', 'await ctx.store.update(2) -> ;'],
  )
})

test('log lines, texts and arguments of errors have no mutants', () => {
  assert.deepEqual(changesOf('ctx.log.warn(a === b)'), [])
  assert.deepEqual(changesOf('const text = `of $' + '{a + b}`'), [])
  assert.deepEqual(changesOf("const fault = new ApiError('X', { found: a ?? b })"), [])
  assert.deepEqual(changesOf("const text = 'a' + b"), [])
})

test('an operator is executed where its left side is', () => {
  const source = 'const f = () => a && b'
  assert.equal(mutantsOf('a.ts', source)[0]?.executedAt, source.indexOf('a &&'))
})

test('mutants that read alike are counted, and code outside of functions is marked', () => {
  const [first, second] = mutantsOf('a.ts', 'const all = [a && b, c && d]')
  assert.deepEqual([first?.occurrence, second?.occurrence], [0, 1])
  assert.equal(first?.isModuleLevel, true)
  assert.equal(mutantsOf('a.ts', 'const f = () => a && b')[0]?.isModuleLevel, false)
})
