import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brokenRules, difference } from './password-policy.ts'

test('a password that meets every rule breaks none', () => {
  assert.deepEqual(brokenRules('Correct.Horse7', 'carol'), [])
  assert.deepEqual(brokenRules('Pässwörter.9', 'carol', 'Correct.Horse7'), [])
})

test('every broken rule is reported, and no message contains the password', () => {
  const rules = brokenRules('aaa', 'carol')
  assert.equal(rules.length, 4)
  assert.ok(rules.every((rule) => !rule.includes('aaa')))
  assert.equal(brokenRules('Aa1!'.repeat(64), 'carol').length, 1)
})

test('the user name counts from four characters on, without case', () => {
  assert.equal(brokenRules('X9.CAROLine', 'carol').length, 1)
  assert.equal(brokenRules('X9.BOBsleigh', 'bob').length, 0)
})

test('a few changed characters are not a new password', () => {
  assert.equal(difference('kitten', 'sitting'), 3)
  assert.equal(difference('', 'abcd'), 4)
  assert.equal(brokenRules('Correct.Horse8', 'carol', 'Correct.Horse7').length, 1)
  assert.equal(brokenRules('Correct.Mouse12', 'carol', 'Correct.Horse7').length, 0)
})
