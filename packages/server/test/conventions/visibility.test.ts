/**
 * Nothing that the caller may not see shows through another entity: neither by a path that names it nor by a name that stands
 * in an answer. Generated from the contract. Source: behaviour conventions 16, iam.md 9.4.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { contract, type Operation, type Resource } from '@hyperplane/contract'
import { aRobot, aRole, grant } from '../api/iam/people.ts'
import { startApp, type TestApp } from '../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const operations = contract.flatMap((namespace) => namespace.operations)
const resources = new Map(contract.flatMap((namespace) => namespace.resources).map((kind) => [kind.kind, kind]))
const viewsOf = (kind: string): readonly string[] =>
  operations
    .filter(({ verb, resource }) => (verb === 'get' || verb === 'list') && resource?.kind === kind)
    .map(({ iamOperation }) => iamOperation)

/** Stored kinds that the path names and that the operation's own permission does not show. */
const namedKinds = (operation: Operation): readonly (readonly [parameter: string, kind: Resource])[] =>
  Object.entries(operation.pathKinds).flatMap(([parameter, name]) => {
    const kind = resources.get(name)
    const isStored = kind !== undefined && kind.derived !== true
    return isStored && !viewsOf(name).includes(operation.iamOperation) ? [[parameter, kind] as const] : []
  })

/** Needs no body: the refusal of a path comes after the faults of a body. */
const isBare = (operation: Operation): boolean => !operation.bodyRequired && operation.roles !== 'everyone'

const valueAt = (entity: any, path: string): any => path.split('/').reduce((at, name) => at?.[name], entity)

/** Values of the path's parameters that name stored entities, the innermost under its parent; undefined: the demo has none. */
async function existing(operation: Operation): Promise<Record<string, string> | undefined> {
  const values: Record<string, string> = {}
  for (const [parameter, name] of Object.entries(operation.pathKinds).reverse()) {
    const kind = resources.get(name)
    if (values[parameter] !== undefined || kind === undefined || kind.derived === true) continue
    const [entity] = await app.store.find(kind, { limit: 1 })
    if (entity === undefined) return undefined
    values[parameter] = (entity as any).extId
    const parentId = kind.parent === undefined ? undefined : valueAt(entity, kind.parent.field)
    if (kind.parent !== undefined && parentId !== undefined) values[kind.parent.param] = parentId
  }
  return values
}

const someId = '11111111-2222-4333-8444-555555555555'
const pathOf = (operation: Operation, values: Readonly<Record<string, string>>): string =>
  `/${operation.namespace}/${operation.versions[0]}${operation.path.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? someId)}`

const requiredOptions = (operation: Operation): string =>
  operation.query['$startTime'] === undefined
    ? ''
    : '?$startTime=2026-03-02T08:00:00Z&$endTime=2026-03-02T08:30:00Z&$samplingInterval=60'

async function asked(operation: Operation, path: string, apiKey: string) {
  return app.call(operation.method, `${path}${requiredOptions(operation)}`, {
    apiKey,
    ...(operation.requestId === 'required' ? { requestId: crypto.randomUUID() } : {}),
    ...(operation.clusterId === 'required' ? { clusterId: someId } : {}),
  })
}

test('a custom role with one operation alone finds nothing under an entity that it may not see', async () => {
  let checked = 0
  for (const operation of operations.filter((one) => isBare(one) && namedKinds(one).length > 0)) {
    if (operation.namespace === 'storage') continue
    const values = await existing(operation)
    if (values === undefined) continue
    const robot = await aRobot(app)
    await grant(app, { id: await aRole(app, [operation.iamOperation]) }, robot.extId)
    const result = await asked(operation, pathOf(operation, values), robot.apiKey)
    assert.equal(result.status, 404, `${operation.key}: ${result.status} ${JSON.stringify(result.errors)}`)
    checked += 1
  }
  assert.ok(checked > 30, `only ${checked} operations were asked`)
})

const clusterPath = '/clustermgmt/v4.2/config/clusters'

test('hosts of one cluster are found below it by a policy that names its hosts alone, and no other cluster is', async () => {
  const hosts = (await app.call('GET', '/clustermgmt/v4.2/config/hosts?$limit=100')).data
  const [first] = hosts
  const other = hosts.find((host: any) => host.cluster.uuid !== first.cluster.uuid)
  const robot = await aRobot(app)
  const filter = { host: { cluster_uuid: { eq: first.cluster.uuid } } }
  await grant(app, 'Cluster Viewer', robot.extId, filter)
  const seen = async (path: string) => (await app.call('GET', path, { apiKey: robot.apiKey })).status
  assert.equal(await seen(`${clusterPath}/${first.cluster.uuid}/hosts`), 200)
  assert.equal(await seen(`${clusterPath}/${first.cluster.uuid}/hosts/${first.extId}`), 200)
  assert.equal(await seen(`${clusterPath}/${other.cluster.uuid}/hosts`), 404)
  assert.equal(await seen(`${clusterPath}/${other.cluster.uuid}/hosts/${other.extId}`), 404)
})

test('a system role that names an operation below a cluster, but not the cluster itself, reaches every cluster', async () => {
  const { clusterExtId } = (await app.store.find(resources.get('DataStore') as Resource, { limit: 1 }))[0] as any
  const robot = await aRobot(app)
  await grant(app, 'CSI System', robot.extId)
  const path = `${clusterPath}/${clusterExtId}/storage-containers/datastores`
  const listed = await app.call('GET', path, { apiKey: robot.apiKey })
  assert.equal(listed.status, 200)
  assert.ok((listed.total as number) > 0)
})

test('statistics of VMs that the caller may not see are listed as little as they are read', async () => {
  const robot = await aRobot(app)
  await grant(app, { id: await aRole(app, ['View_Virtual_Machine_Stats']) }, robot.extId)
  const listed = await app.call(
    'GET',
    '/vmm/v4.2/ahv/stats/vms?$startTime=2026-03-02T08:00:00Z&$endTime=2026-03-02T08:30:00Z&$samplingInterval=60',
    { apiKey: robot.apiKey },
  )
  assert.deepEqual([listed.status, listed.total], [200, 0])
})
