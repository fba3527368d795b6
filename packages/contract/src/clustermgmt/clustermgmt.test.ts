import assert from 'node:assert/strict'
import { test } from 'node:test'
import { perSecond } from '../operation.ts'
import { walk } from '../schema.ts'
import { clustermgmt } from './index.ts'

const operation = (id: string) => {
  const found = clustermgmt.operations.find((candidate) => candidate.id === id)
  assert.ok(found, id)
  return found
}

test('operations that share an IAM operation share their roles', () => {
  const roles = new Map<string, string>()
  for (const { iamOperation, roles: own } of clustermgmt.operations) {
    const text = [...own].sort().join()
    assert.equal(roles.get(iamOperation) ?? text, text, iamOperation)
    assert.notEqual(text, '')
    roles.set(iamOperation, text)
  }
})

test('rates are those of the specification', () => {
  for (const id of ['getBmcInfo', 'updateBmcInfo']) assert.deepEqual(operation(id).rateLimit, perSecond(1, 1, 5, 5))
  assert.deepEqual(operation('getClusterProfileById').rateLimit, perSecond(10))
  for (const id of [
    'updateClusterProfileById',
    'associateCategoriesToCluster',
    'disassociateCategoriesFromCluster',
    'disassociateClusterFromClusterProfile',
  ]) {
    assert.deepEqual(operation(id).rateLimit, perSecond(1))
    assert.deepEqual([...operation(id).roles].sort(), ['Cluster Admin', 'Platform Admin', 'Super Admin'])
  }
})

test('BMC operations exist on premises only', () => {
  const onPremises = clustermgmt.operations.filter(({ deployments }) => !deployments.includes('cloud'))
  assert.deepEqual(onPremises.map(({ id }) => id).sort(), ['getBmcInfo', 'updateBmcInfo'])
})

test('preconditions are required of every PUT and of nothing else', () => {
  for (const { id, method, ifMatch } of clustermgmt.operations) {
    assert.equal(ifMatch, method === 'PUT' ? 'required' : 'optional', id)
  }
})

test('updates and applications of profiles, and the beginning and end of clusters, can run dry', () => {
  const dry = clustermgmt.operations.filter(({ dryRun }) => dryRun).map(({ id }) => id)
  assert.deepEqual(dry.sort(), [
    'applyClusterProfile',
    'createCluster',
    'deleteClusterById',
    'updateClusterProfileById',
  ])
})

test('fields that the specification calls secret are write-only', () => {
  const secrets = new Set<string>()
  for (const { schema } of clustermgmt.resources) {
    for (const { path, schema: field } of walk(schema)) if (field.secret) secrets.add(path.at(-1) as string)
  }
  assert.deepEqual([...secrets].sort(), [
    ...['authKey', 'encryptionKey', 'passphrase', 'password', 'privKey', 'privateKey'],
  ])
})

test('a child is found below its own cluster only', () => {
  assert.deepEqual(operation('getHostById').pathKinds, { clusterExtId: 'Cluster', extId: 'Host' })
  assert.deepEqual(operation('getBmcInfo').pathKinds, { clusterExtId: 'Cluster', extId: 'BmcInfo' })
  assert.deepEqual(operation('listDataStoresByClusterId').pathKinds, { clusterExtId: 'Cluster' })
  assert.deepEqual(operation('associateCategoriesToCluster').pathKinds, { clusterExtId: 'Cluster' })
})
