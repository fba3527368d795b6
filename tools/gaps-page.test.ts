import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'

const textOf = (path: string): string => readFileSync(resolve(import.meta.dirname, '..', path), 'utf8')

interface Row {
  readonly section: string
  readonly what: string
  readonly state: string
}

const rows: readonly Row[] = textOf('docs/reference/gaps.md')
  .split('\n## ')
  .slice(1)
  .flatMap((text) => {
    const [section = '', ...lines] = text.split('\n')
    const cells = lines.filter((line) => line.startsWith('| ')).map((line) => line.split(' | '))
    return cells.map(([what = '', state = '']) => ({ section, what: what.slice(2), state }))
  })
  .filter(({ what }) => what !== 'What')

interface Unbuilt {
  readonly key: string
  readonly namespace: string
  readonly method: string
  readonly path: string
}

const unbuilt: readonly Unbuilt[] = textOf('packages/server/test/golden/unimplemented.txt')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => {
    const [key = '', call = ''] = line.split(' | ')
    const [method = '', path = ''] = call.split(' ')
    return { key, namespace: key.split('.')[0] as string, method, path: path.replaceAll(/\{\w+\}/g, '*') }
  })

/** `/path` means everything below it, `METHOD /path` that call alone. */
const callsOf = ({ what, state }: Row): readonly string[] =>
  state === 'refused 501' ? [...what.matchAll(/`((?:[A-Z]+ )?\/[^`]+)`/g)].map(([, call]) => call as string) : []

const covers = (call: string, { method, path }: Unbuilt): boolean =>
  call.startsWith('/') ? path === call || path.startsWith(`${call}/`) : `${method} ${path}` === call

test('every row has one of the four states', () => {
  const states = ['absent', 'refused 501', 'partial', 'simulated only']
  assert.ok(rows.length > 50)
  assert.deepEqual(
    rows.filter(({ state }) => !states.includes(state)),
    [],
  )
})

test('every operation that answers 501 is in a row of its namespace', () => {
  const missing = unbuilt.filter(
    (each) => !rows.some((row) => row.section === each.namespace && callsOf(row).some((call) => covers(call, each))),
  )
  assert.deepEqual(
    missing.map(({ key }) => key),
    [],
  )
})

test('every call that a row names answers 501', () => {
  const built = rows.flatMap((row) =>
    callsOf(row).filter((call) => !unbuilt.some((each) => each.namespace === row.section && covers(call, each))),
  )
  assert.deepEqual(built, [])
})
