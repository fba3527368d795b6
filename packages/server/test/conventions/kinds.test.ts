/** The files of kinds, which suites that cover every kind read: what they export is in use. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contract } from '@hyperplane/contract'
import { fileOf, kindFiles } from '../kinds/collected.ts'

const files = new Map(
  contract.flatMap(({ operations }) => operations.map((operation) => [operation.key, fileOf(operation)] as const)),
)

test('each entry names an operation of the contract, and is in the file of its kind', () => {
  const misplaced: string[] = []
  for (const [path, { creations, fieldBases, fieldValues, orderCases }] of kindFiles)
    for (const entry of [creations, fieldBases, fieldValues, orderCases].flatMap((entries) =>
      Object.keys(entries ?? {}),
    )) {
      const [operation = ''] = entry.split(' ')
      if (operation !== '*' && files.get(operation) !== path)
        misplaced.push(
          `${path}: "${entry}" belongs into ${files.get(operation) ?? 'no file: there is no such operation'}`,
        )
    }
  assert.deepEqual(misplaced, [])
})
