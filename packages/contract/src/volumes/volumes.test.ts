import assert from 'node:assert/strict'
import { test } from 'node:test'
import { perSecond } from '../operation.ts'
import { volumes } from './index.ts'

const operation = (id: string) => {
  const found = volumes.operations.find((candidate) => candidate.id === id)
  assert.ok(found, id)
  return found
}

test('operations that share an IAM operation share their roles', () => {
  const roles = new Map<string, string>()
  for (const { iamOperation, roles: own } of volumes.operations) {
    const text = [...own].sort().join()
    assert.equal(roles.get(iamOperation) ?? text, text, iamOperation)
    assert.notEqual(text, '')
    roles.set(iamOperation, text)
  }
})

test('rates and roles are those of the specification', () => {
  for (const id of ['getIscsiClientById', 'listNvmfClients']) {
    assert.deepEqual(operation(id).rateLimit, perSecond(20, 25, 25, 25))
    assert.deepEqual(operation(id).deployments, ['on-prem'])
  }
  const viewers = [
    'Platform Admin',
    'Platform Viewer',
    'Project Manager',
    'Self-Service Admin (deprecated)',
    'Storage Admin',
    'Storage Viewer',
    'Super Admin',
  ]
  assert.deepEqual([...operation('listNvmfClients').roles].sort(), viewers)
  assert.deepEqual(
    [...operation('getIscsiClientById').roles].sort(),
    ['Backup Admin', 'CSI System', 'Kubernetes Data Services System', ...viewers].sort(),
  )
})

test('preconditions are required of every PUT and of nothing else', () => {
  for (const { id, method, ifMatch } of volumes.operations) {
    assert.equal(ifMatch, method === 'PUT' ? 'required' : 'optional', id)
  }
})

test('a request id is required of every mutation but those of categories and NVMe-TCP clients', () => {
  const optional = volumes.operations.filter(({ mutates, requestId }) => mutates && requestId === 'optional')
  const ids = ['associateCategory', 'attachNvmfClient', 'detachNvmfClient', 'disassociateCategory']
  assert.deepEqual(optional.map(({ id }) => id).sort(), ids)
})

test('a disk is found below its own group only', () => {
  assert.deepEqual(operation('getVolumeDiskById').pathKinds, { volumeGroupExtId: 'VolumeGroup', extId: 'VolumeDisk' })
  assert.deepEqual(operation('getVolumeGroupMetadataById').pathKinds, { volumeGroupExtId: 'VolumeGroup' })
})
