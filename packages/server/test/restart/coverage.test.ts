import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { definitions, endingWithProcess } from './killing.ts'
import { scenarios } from './scenarios.ts'

test('every task definition has a scenario, and every scenario has a definition', () => {
  assert.deepEqual(Object.keys(scenarios).sort(), [...definitions.keys()].sort())
})

test('the definitions of every namespace are killed in a file of their own', () => {
  for (const name of definitions.keys()) {
    const file = new URL(`${name.split('.')[0]}.test.ts`, import.meta.url)
    assert.ok(existsSync(file), `${name}: no ${file.pathname}`)
  }
})

test('only the restore is not resumed; its kills have a file of their own', () => {
  for (const { name } of endingWithProcess) assert.match(name, /^platform\.restore(?:-|$)/)
  assert.ok(existsSync(new URL('restore.test.ts', import.meta.url)))
})
