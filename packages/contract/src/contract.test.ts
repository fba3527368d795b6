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

test('each namespace has all operations of the specification and the catalogue', () => {
  const counts = contract.map(({ name, operations }) => [name, operations.length])
  assert.deepEqual(Object.fromEntries(counts), {
    clustermgmt: 84,
    iam: 53,
    networking: 118,
    platform: 37,
    storage: 15,
    vmm: 179,
    volumes: 30,
  })
  const ofBothVersions = contract
    .flatMap(({ operations }) => operations)
    .filter(({ namespace, versions }) => namespace === 'clustermgmt' && versions.includes('v4.0'))
  assert.equal(ofBothVersions.length, 74)
})
