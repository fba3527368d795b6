import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contract, type Resource, walk } from '@hyperplane/contract'
import { inventoryKinds } from './cluster-inventory.ts'

/** They name clusters and do not belong to one. */
const staying: Readonly<Record<string, string>> = {
  BackupTarget: 'keeps its cluster registered',
  BgpSession: 'stays with its gateways',
  ClusterProfile: 'keeps its members registered',
  DomainManager: 'keeps its hosting cluster registered',
  Gateway: 'keeps the cluster that it names registered',
  Product: 'only tells what it was enabled for',
  Registration: 'goes by itself',
  Task: 'tells what was',
}

const fieldsOf = ({ schema, internal }: Resource) => ({ ...schema.fields, ...internal })
const namesCluster = (resource: Resource): boolean =>
  resource.iam?.attributes['cluster_uuid'] !== undefined ||
  Object.values(fieldsOf(resource)).some((field) =>
    [...walk(field)].some(({ schema }) => schema.type === 'uuid' && schema.refersTo === 'Cluster'),
  )

test('every kind that names a cluster goes with it, or says why it stays', () => {
  const kinds = contract.flatMap(({ resources }) => resources).filter(({ derived }) => derived !== true)
  const untold = kinds
    .filter(namesCluster)
    .map(({ kind }) => kind)
    .filter((kind) => !inventoryKinds.has(kind) && staying[kind] === undefined)
  assert.deepEqual(untold, [], 'add a line to cluster-inventory.ts, or here')
})
