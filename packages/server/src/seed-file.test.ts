import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { readSeed } from './seed-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'hyperplane-seed-'))
after(() => rmSync(folder, { recursive: true }))
const seedOf = (text: string) => {
  const file = join(folder, 'seed.yaml')
  writeFileSync(file, text)
  return readSeed({ file })
}

test('a preset stands for itself', () => {
  assert.deepEqual(readSeed('empty'), { inventory: 'empty', vms: 0 })
})

test('a file names a preset and adds counts', () => {
  assert.deepEqual(seedOf('inventory: demo\nvms: 50000\n'), { inventory: 'demo', vms: 50000 })
  assert.deepEqual(seedOf('vms: 3\n'), { inventory: 'demo', vms: 3 })
})

test('a fault is refused with line and column', () => {
  assert.throws(
    () => seedOf('inventory: demo\nvms: many\n'),
    /line 2, column 6: vms: expected an integer from 0 to 1000000, found "many"/,
  )
  assert.throws(() => seedOf('inventory: large\n'), /line 1, column 12: inventory: expected demo or empty/)
  assert.throws(() => seedOf('inventory: demo\nhosts: 3\n'), /line 2, column 1: "hosts" is no key of a seed/)
  assert.throws(() => seedOf('inventory: [\n'), /line \d+, column \d+: is not YAML/)
  assert.throws(
    () => seedOf('vms: 3\ninventory: empty\n'),
    /line 1, column 6: vms: the inventory empty has no cluster for them/,
  )
  assert.throws(() => seedOf('- a\n'), /expected a mapping/)
  assert.throws(() => readSeed({ file: join(folder, 'absent.yaml') }), /cannot be read \(ENOENT\)/)
})
