import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { restartScenarios } from '../kinds/collected.ts'
import { definitions, endingWithProcess } from './killing.ts'

test('every task definition has a scenario, and every scenario has a definition', () => {
  const missing = [...definitions.keys()].filter((name) => !(name in restartScenarios))
  assert.deepEqual(
    missing.map((name) => `${name} in packages/server/test/kinds/${name.split('.')[0]}/<kind>.ts`),
    [],
    'export these as "restartScenarios"',
  )
  assert.deepEqual(Object.keys(restartScenarios).sort(), [...definitions.keys()].sort())
})

test('each namespace has a file that kills its task definitions', () => {
  for (const name of definitions.keys()) {
    const file = new URL(`${name.split('.')[0]}.test.ts`, import.meta.url)
    assert.ok(existsSync(file), `${name}: no ${file.pathname}`)
  }
})

test('only the restore is not resumed after a kill; a file of its own kills it', () => {
  for (const { name } of endingWithProcess) assert.match(name, /^platform\.restore(?:-|$)/)
  assert.ok(existsSync(new URL('restore.test.ts', import.meta.url)))
})
