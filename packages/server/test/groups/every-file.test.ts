import assert from 'node:assert/strict'
import { basename } from 'node:path'
import { test } from 'node:test'
import { filesOf, groups } from './groups.ts'

const apart = /^packages\/server\/test\/(groups|process|restart|integration)\//

test('each file of tests that needs no process of its own is in one group, and each group is run', () => {
  const all = filesOf('{packages,tools,docs}/**/*.test.ts').filter((file) => !apart.test(file))
  assert.deepEqual(
    Object.values(groups)
      .flatMap((patterns) => filesOf(...patterns))
      .sort(),
    all,
  )
  const run = filesOf('packages/server/test/groups/*.test.ts').map((file) => basename(file, '.test.ts'))
  assert.deepEqual(run, ['every-file', ...Object.keys(groups)].sort())
})
