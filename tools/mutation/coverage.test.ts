import assert from 'node:assert/strict'
import { test } from 'node:test'
import { executedRanges } from './coverage.ts'

const range = (startOffset: number, endOffset: number, count: number) => ({ startOffset, endOffset, count })

test('the innermost range says whether a character was executed', () => {
  assert.deepEqual(executedRanges([range(0, 100, 1), range(10, 30, 0), range(15, 20, 3)]), [0, 10, 15, 20, 30, 100])
  assert.deepEqual(executedRanges([range(0, 100, 0), range(10, 20, 2), range(20, 30, 1)]), [10, 30])
  assert.deepEqual(executedRanges([range(10, 20, 0)]), [])
  assert.deepEqual(executedRanges([]), [])
})
