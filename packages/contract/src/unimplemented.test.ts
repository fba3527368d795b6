import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operationsOf } from './unimplemented.ts'

const textsOf = (rows: Parameters<typeof operationsOf>[0]): readonly string[] =>
  operationsOf(rows).map(({ id, method, path, versions }) => [id, method, path, ...(versions ?? [])].join(' '))

test('the usual operations of a kind follow from its name and path', () => {
  assert.deepEqual(textsOf({ '/config/policies': { Policy: 'list create get update delete' } }), [
    'createPolicy POST /config/policies',
    'deletePolicyById DELETE /config/policies/{extId}',
    'getPolicyById GET /config/policies/{extId}',
    'listPolicies GET /config/policies',
    'updatePolicyById PUT /config/policies/{extId}',
  ])
  assert.deepEqual(textsOf({ '/config/vms/{vmExtId}/gateways': { Gateway: 'list' } }), [
    'listGatewaysByVmId GET /config/vms/{vmExtId}/gateways',
  ])
})

test('an action, and an operation with a path of its own', () => {
  assert.deepEqual(textsOf({ '/config/vms': { cloneVm: 'clone', getFile: 'v4.2 GET /{extId}/file' } }), [
    'cloneVm POST /config/vms/{extId}/$actions/clone',
    'getFile GET /config/vms/{extId}/file v4.2',
  ])
})

test('a misspelt verb is refused', () => {
  assert.throws(() => operationsOf({ '/config/vms': { Vm: 'lists' } }), /Vm at \/config\/vms: "lists" is none of list,/)
})
