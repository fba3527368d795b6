import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'

test('the hooks of a file run for its own tests, not for those of other files of its group', () => {
  const group = `${import.meta.dirname}/../groups/own-hooks/group.ts`
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--test-reporter=tap', group], {
    env,
    encoding: 'utf8',
  })
  assert.equal(status, 0, `${stdout}${stderr}`)
  assert.doesNotMatch(stdout, /^ *not ok/m)
  assert.deepEqual(stdout.match(/^ {4}ok .*/gm), [
    '    ok 1 - one',
    '    ok 2 - another',
    '    ok 1 - one',
    '    ok 2 - another',
  ])
})
