/** Not visible from outside, because drivers apply a repeated call once. Source: reference faults.md (answerTwice). */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { applyEffects } from './carry-out.ts'
import type { Rule } from './rule.ts'
import type { Strike } from './strike.ts'

test('a call with answerTwice reaches the driver twice, and the second answer counts', async () => {
  const rules = [{ effect: { answerTwice: true } } as Rule]
  const calls: number[] = []
  const answer = await applyEffects({ place: 'call', subject: {}, rules } as unknown as Strike, async () => {
    calls.push(calls.length + 1)
    return calls.length
  })
  assert.deepEqual([calls, answer], [[1, 2], 2])
})
