import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contract } from './index.ts'

test('no two operations have the same key, or the same method and path', () => {
  const seen = new Set<string>()
  for (const { name: namespace, operations } of contract) {
    for (const { key, method, path } of operations) {
      for (const id of [key, `${method} ${namespace} ${path}`]) {
        assert.ok(!seen.has(id), id)
        seen.add(id)
      }
    }
  }
})
