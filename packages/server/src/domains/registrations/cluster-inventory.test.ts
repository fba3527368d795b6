import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contract, type Resource, walk } from '@hyperplane/contract'
import { storeTables } from '../tables.ts'
import { clusterPartsOf } from './cluster-inventory.ts'

const fieldsOf = ({ schema, internal }: Resource) => ({ ...schema.fields, ...internal })
const namesCluster = (resource: Resource): boolean =>
  resource.iam?.attributes['cluster_uuid'] !== undefined ||
  Object.values(fieldsOf(resource)).some((field) =>
    [...walk(field)].some(({ schema }) => schema.type === 'uuid' && schema.refersTo === 'Cluster'),
  )

test('every kind that refers to a cluster is unregistered with it, or declares why not', () => {
  const kinds = contract.flatMap(({ resources }) => resources).filter(({ derived }) => derived !== true)
  const silent = kinds.filter((kind) => namesCluster(kind) && kind.ofCluster === undefined)
  assert.deepEqual(
    silent.map(({ kind }) => kind),
    [],
    'declare `ofCluster` in the contract of these kinds',
  )
})

test('the inventory lists the cluster first, and owners before their parts', () => {
  const order = clusterPartsOf([...storeTables().values()].map(({ resource }) => resource)).owned.map(
    ({ resource }) => resource,
  )
  assert.equal(order[0]?.kind, 'Cluster')
  for (const [index, { kind, ofCluster }] of order.entries()) {
    if (ofCluster === undefined || !('partOf' in ofCluster)) continue
    const owner = order.findIndex((each) => each.kind === ofCluster.partOf)
    assert.ok(owner >= 0 && owner < index, `${kind} comes before ${ofCluster.partOf}`)
  }
})
