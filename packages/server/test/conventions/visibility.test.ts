/**
 * Nothing that the caller may not see is revealed by another entity: neither by a path to it nor by a name that is
 * in an answer. Generated from the contract. Source: behaviour conventions 16, iam.md 9.4.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type AnySchema, contract, type Operation, type Resource, walk } from '@hyperplane/contract'
import { aRobot, aRole, grant } from '../api/iam/people.ts'
import { makeConflicts } from '../kinds/vmm/vm-startup-policy.ts'
import { create, creations } from '../support/creations.ts'
import { existing, pathOf, requiredOptions, resources, valueAt } from '../support/existing.ts'
import { startApp, type TestApp } from '../support/start-app.ts'

const operations = contract.flatMap((namespace) => namespace.operations)

let app: TestApp
before(async () => {
  app = await startApp()
  for (const { key, resource } of operations) {
    const creation = creations[key]
    if (creation === undefined || creation.seed === 'empty' || resource === undefined) continue
    // The demo does not have one of every kind.
    const isAbsent = resource.derived === true || (await app.store.count(resource)) === 0
    if (isAbsent) await app.task(await create(app, creation))
  }
  await makeConflicts(app)
})
after(() => app.close())

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

/** Without a body: faults of a body would precede the refusal of the path. */
const isBare = (operation: Operation): boolean => !operation.bodyRequired && operation.roles !== 'everyone'

const someId = '11111111-2222-4333-8444-555555555555'
async function asked(operation: Operation, path: string, apiKey: string) {
  return app.call(operation.method, `${path}${requiredOptions(operation)}`, {
    apiKey,
    ...(operation.requestId === 'required' ? { requestId: crypto.randomUUID() } : {}),
    ...(operation.clusterId === 'required' ? { clusterId: someId } : {}),
  })
}

/** The demo has no restore sources and no certificate authorities of users. */
const absentFromDemo = [
  'platform.listRestorableDomainManagers',
  'platform.listRestorePoints',
  'platform.getRestorePointById',
  'platform.deleteRestoreSourceById',
  'iam.deleteCertAuthProviderById',
]

test('a custom role with a single operation finds nothing under an entity that it may not see', async () => {
  let checked = 0
  const unchecked: string[] = []
  for (const operation of operations.filter((one) => isBare(one) && namedKinds(one).length > 0)) {
    // A task of the demo has no result: unconfigured-node.test.ts asks for one of another user.
    if (operation.namespace === 'storage' || operation.id === 'fetchTaskResponse') continue
    const values = await existing(app, operation)
    if (values === undefined) {
      unchecked.push(operation.key)
      continue
    }
    if (operation.method === 'GET') {
      const { status } = await app.call('GET', `${pathOf(operation, values)}${requiredOptions(operation)}`)
      assert.equal(status, 200, `${operation.key}: the administrator is to find it`)
    }
    const robot = await aRobot(app)
    await grant(app, { id: await aRole(app, [operation.iamOperation]) }, robot.extId)
    const result = await asked(operation, pathOf(operation, values), robot.apiKey)
    assert.equal(result.status, 404, `${operation.key}: ${result.status} ${JSON.stringify(result.errors)}`)
    checked += 1
  }
  assert.deepEqual(unchecked, absentFromDemo)
  assert.ok(checked > 50, `only ${checked} operations were asked`)
})

const clusterPath = '/clustermgmt/v4.2/config/clusters'

test('a policy for the hosts of one cluster finds them below it, and shows no other cluster', async () => {
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

test('statistics of VMs that the caller may not see are neither listed nor read', async () => {
  const robot = await aRobot(app)
  await grant(app, { id: await aRole(app, ['View_Virtual_Machine_Stats']) }, robot.extId)
  const listed = await app.call(
    'GET',
    '/vmm/v4.2/ahv/stats/vms?$startTime=2026-03-02T08:00:00Z&$endTime=2026-03-02T08:30:00Z&$samplingInterval=60',
    { apiKey: robot.apiKey },
  )
  assert.deepEqual([listed.status, listed.total], [200, 0])
})

/** Each field of an answer's items that repeats the name of another entity. */
const repeated = (operation: Operation): readonly { path: string; kind: string }[] => {
  const item = operation.answer?.type === 'list' ? operation.answer.items : operation.answer
  const expanded = Object.entries(operation.expand ?? {}).map(
    ([name, { into = name, shape }]) => [into, shape] as const,
  )
  const fields = item === undefined ? [] : [...walk(item)].map((at) => [at.path.join('/'), at.schema] as const)
  return [...fields, ...expanded].flatMap(([path, schema]) =>
    schema?.visibleWith === undefined ? [] : [{ path, kind: schema.visibleWith.kind }],
  )
}
const repeating = operations.filter((one) => !one.mutates && repeated(one).length > 0)

const ofOtherManagers = (...kinds: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    kinds.flatMap((kind) =>
      ['clusterName', 'vpcName'].map((name) => [
        `${kind} ${name}`,
        'at another manager; the handler omits own ones that the caller may not see',
      ]),
    ),
  )

/** Names of other entities, beside those that are declared, that say nothing of an entity of this world. */
const otherNames: Readonly<Record<string, string>> = {
  'AuthorizationPolicy clientName': 'a service, which everyone may read',
  'BgpSession localGateway/vm/name': 'the appliance of the gateway, which is no VM of the interface',
  'BgpSession remoteGateway/vm/name': 'the appliance of the gateway, which is no VM of the interface',
  'Cluster containerName': 'input of a creation alone',
  'Entity clientName': 'a service, which everyone may read',
  'Gateway vm/name': 'the appliance of the gateway, which is no VM of the interface',
  'Host hypervisor/userName': 'an account on the host',
  'Operation clientName': 'a service, which everyone may read',
  ...ofOtherManagers('RemoteSubnet', 'RemoteVpnConnection', 'RemoteVtepGateway'),
  'Role clientName': 'a service, which everyone may read',
}

test('every read-only field that is called after a kind is declared as the name of an entity of that kind', () => {
  const kinds = new Map([...resources.values()].map(({ kind }) => [kind.toLowerCase(), kind]))
  kinds.set('container', 'StorageContainer')
  const undeclared: string[] = []
  for (const { kind, schema } of resources.values()) {
    for (const { path, schema: field } of walk(schema)) {
      const text = path.slice(-2).join('/')
      const named = /(\w+)(?:\/name|Name)$/.exec(text)?.[1]?.toLowerCase() ?? ''
      const other = kinds.get(named)
      if (field.type !== 'text' || other === undefined || other === kind) continue
      const around = path.map((_, depth) => fieldAt(schema, path.slice(0, depth + 1)))
      // A completely expanded entity is read with the caller's own view of its kind.
      const isExpanded = around.some(
        (at) => at?.type === 'object' && at.objectType === resources.get(other)?.objectType,
      )
      if (isExpanded || around.some((at) => at?.visibleWith !== undefined)) continue
      if (otherNames[`${kind} ${path.join('/')}`] === undefined) undeclared.push(`${kind} ${path.join('/')}`)
    }
  }
  assert.deepEqual(undeclared, [])
})

const fieldAt = (schema: AnySchema, path: readonly string[]): AnySchema | undefined =>
  path.reduce<AnySchema | undefined>((at, name) => (at?.type === 'object' ? at.fields[name] : undefined), schema)

test('names of entities that the caller may not see are left out, and are present for callers that may see them', async () => {
  let checked = 0
  const unchecked: string[] = []
  for (const operation of repeating) {
    if (operation.namespace === 'storage') continue
    const values = await existing(app, operation)
    if (values === undefined) {
      unchecked.push(operation.key)
      continue
    }
    const expand = Object.keys(operation.expand ?? {}).join(',')
    const path = `${pathOf(operation, values)}${expand === '' ? '' : `?$expand=${expand}`}`
    const own = [...new Set([operation.iamOperation, ...Object.values(operation.pathKinds).flatMap(viewsOf)])]
    const names = repeated(operation).filter(({ kind }) => !viewsOf(kind).some((view) => own.includes(view)))
    const blind = await aRobot(app)
    await grant(app, { id: await aRole(app, own) }, blind.extId)
    const seeing = await aRobot(app)
    const views = names.flatMap(({ kind }) => viewsOf(kind))
    await grant(app, { id: await aRole(app, [...new Set([...own, ...views])]) }, seeing.extId)
    const without = await app.call('GET', path, { apiKey: blind.apiKey })
    const complete = await app.call('GET', path, { apiKey: seeing.apiKey })
    assert.deepEqual([without.status, complete.status], [200, 200], operation.key)
    assert.equal(without.total, complete.total, operation.key)
    for (const { path: name } of names) {
      const shown = (of: { data: any }) => [of.data].flat().filter((item) => valueAt(item, name) !== undefined).length
      assert.equal(shown(without), 0, `${operation.key} ${name}`)
      assert.ok(shown(complete) > 0 || neverFilled.has(name), `${operation.key} ${name} is nowhere`)
    }
    checked += 1
  }
  assert.deepEqual(unchecked, [])
  assert.ok(checked >= 10, `only ${checked} operations were asked`)
})

/** No operation of gateways fills these yet. */
const neverFilled = new Set(['localGateway/vm', 'remoteGateway/vm'])

test('a filter, an order and a selection reveal nothing about a hidden name', async () => {
  const blind = await aRobot(app)
  await grant(app, { id: await aRole(app, ['View_Storage_Container', 'View_Host']) }, blind.extId)
  const [container] = (await app.call('GET', '/clustermgmt/v4.2/config/storage-containers')).data
  const asked = async (query: string) =>
    app.call('GET', `/clustermgmt/v4.2/config/storage-containers?${query}`, { apiKey: blind.apiKey })
  const filter = encodeURIComponent(`clusterName eq '${container.clusterName}'`)
  assert.equal((await asked(`$filter=${filter}`)).total, 0)
  assert.ok(
    ((await app.call('GET', `/clustermgmt/v4.2/config/storage-containers?$filter=${filter}`)).total as number) > 0,
  )
  assert.equal((await asked('$select=name,clusterName')).data[0].clusterName, undefined)
  const plain = (await asked('$limit=100')).data.map((each: any) => each.extId)
  assert.deepEqual(
    (await asked('$limit=100&$orderby=clusterName')).data.map((each: any) => each.extId),
    plain,
  )
  const byCluster = encodeURIComponent('cluster/name ne null')
  assert.equal(
    (await app.call('GET', `/clustermgmt/v4.2/config/hosts?$filter=${byCluster}`, { apiKey: blind.apiKey })).total,
    0,
  )
})

test('an identity sees only permitted categories of a volume group, and only permitted VMs of a datastore', async () => {
  const groups = (await app.call('GET', '/volumes/v4.2/config/volume-groups?$limit=100')).data
  const carried = new Map<string, number>()
  for (const { extId } of groups) {
    const path = `/volumes/v4.2/config/volume-groups/${extId}/category-associations`
    carried.set(path, (await app.call('GET', path)).total as number)
  }
  const [path] = [...carried].find(([, total]) => total > 0) as [string, number]
  const robot = await aRobot(app)
  const views = ['View_Volume_Group_Details', 'View_Datastore', 'View_Cluster', 'View_External_ISCSI_Client']
  await grant(app, { id: await aRole(app, views) }, robot.extId)
  const blind = await app.call('GET', path, { apiKey: robot.apiKey })
  assert.deepEqual([blind.status, blind.total], [200, 0])

  const { clusterExtId } = (await app.store.find(resources.get('DataStore') as Resource, { limit: 1 }))[0] as any
  const datastores = `${clusterPath}/${clusterExtId}/storage-containers/datastores`
  const namesIn = async (options: object) =>
    (await app.call('GET', datastores, options)).data.flatMap((datastore: any) => datastore.vmNames ?? [])
  assert.ok((await namesIn({})).length > 0)
  assert.deepEqual(await namesIn({ apiKey: robot.apiKey }), [])
})

test('the targets of an iSCSI client are those of volume groups that the caller may see', async () => {
  const path = '/volumes/v4.2/config/iscsi-clients?$limit=100'
  const targetsIn = (listed: { data: any }) => listed.data.flatMap((client: any) => client.attachedTargets ?? [])
  assert.ok(targetsIn(await app.call('GET', path)).length > 0)
  const robot = await aRobot(app)
  await grant(app, { id: await aRole(app, ['View_External_ISCSI_Client']) }, robot.extId)
  assert.deepEqual(targetsIn(await app.call('GET', path, { apiKey: robot.apiKey })), [])
})
