import assert from 'node:assert/strict'
import { test } from 'node:test'
import { envelopeTypeOf } from './operation.ts'

test('the type of an envelope follows from module and operation', () => {
  const vmm = { name: 'vmm', versions: ['v4.2', 'v4.0'] }
  assert.equal(envelopeTypeOf(vmm, '/ahv/config/vms', 'listVms', 'sync'), 'vmm.v4.ahv.config.ListVmsApiResponse')
  assert.equal(
    envelopeTypeOf(vmm, '/content/images/{extId}', 'getImageById', 'sync'),
    'vmm.v4.content.GetImageApiResponse',
  )
  assert.equal(
    envelopeTypeOf(vmm, '/ahv/stats/vms/{vmExtId}/nics/{extId}', 'getNicStatsById', 'sync'),
    'vmm.v4.ahv.stats.GetNicStatsApiResponse',
  )
})

test('asynchronous operations share the envelope that their namespace names', () => {
  const networking = { name: 'networking', versions: ['v4.3'], taskEnvelope: 'TaskReferenceApiResponse' }
  const typeOf = (runs: 'sync' | 'async') => envelopeTypeOf(networking, '/stats/vpcs/$actions/clear', 'clearVpc', runs)
  assert.equal(typeOf('async'), 'networking.v4.stats.TaskReferenceApiResponse')
  assert.equal(typeOf('sync'), 'networking.v4.stats.ClearVpcApiResponse')
})
