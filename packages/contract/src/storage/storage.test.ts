import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clustermgmt } from '../clustermgmt/index.ts'
import { walk } from '../schema.ts'
import { volumes } from '../volumes/index.ts'
import { storage } from './index.ts'

const successors = [...volumes.operations, ...clustermgmt.operations]

test('the namespace follows the conventions of alpha versions', () => assert.equal(storage.conventions, 'alpha'))

test('every operation names a successor that exists', () => {
  const paths = new Set(successors.map(({ namespace, path }) => `/api/${namespace}/v4.2${path}`))
  for (const { id, deprecated } of storage.operations) assert.ok(paths.has(deprecated?.successor ?? ''), id)
})

test('every operation finds its rows among the kinds of the successors', () => {
  const kinds = new Set([...volumes.resources, ...clustermgmt.resources])
  for (const { id, resource } of storage.operations) assert.ok(resource !== undefined && kinds.has(resource), id)
})

test('an IAM operation that is shared with a successor has the same roles', () => {
  for (const { iamOperation, roles } of storage.operations) {
    for (const successor of successors.filter((candidate) => candidate.iamOperation === iamOperation)) {
      assert.deepEqual([...roles].sort(), [...successor.roles].sort(), iamOperation)
    }
  }
})

test('nothing requires a precondition or a request id', () => {
  for (const { id, ifMatch, requestId } of storage.operations) {
    assert.deepEqual([ifMatch, requestId], ['optional', 'optional'], id)
  }
})

test('bodies and answers carry type names of this namespace', () => {
  for (const { id, body, answer } of storage.operations) {
    for (const root of [body, answer]) {
      for (const { schema } of root === undefined ? [] : walk(root)) {
        if (schema.type === 'object') assert.doesNotMatch(schema.objectType ?? '', /^(volumes|clustermgmt)\./, id)
      }
    }
  }
})
