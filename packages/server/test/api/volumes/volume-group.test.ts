/** Volume groups through the API. Source: behaviour volumes-storage.md 1.1, 1.2, 5. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { blockDiskFacts, targetFacts } from '../../../src/drivers/simulated/block-facts.ts'
import { http } from '../../support/http.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import {
  act,
  aDisk,
  aGroup,
  aVm,
  changeVm,
  chap,
  clusterId,
  containerId,
  externClusterId,
  GiB,
  groups,
  nameOf,
  onContainer,
  pathsOf,
  postDisk,
  postGroup,
  put,
  read,
  refusal,
  secret,
  send,
  succeeded,
  usageOf,
} from '../../support/volumes.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const plainOf = (answer: unknown): string => JSON.stringify(answer)

test('name and cluster alone make a group with all defaults, and the task names it', async () => {
  const name = nameOf('Plain Group')
  const task = await succeeded(app, postGroup(app, { name }))
  assert.equal(task.operation, 'VolumeGroupCreate')
  const [affected] = task.entitiesAffected
  assert.equal(affected.rel, 'volumes:config:volume-group')
  const { ownerReferenceId: _, tenantId: __, extId, ...shown } = await read(app, affected.extId)
  assert.deepEqual(shown, {
    name,
    clusterReference: clusterId,
    createdBy: 'admin',
    usageType: 'USER',
    isHidden: false,
    shouldLoadBalanceVmAttachments: false,
    attachmentType: 'NONE',
    protocol: 'NOT_ASSIGNED',
    targetName: `${name.toLowerCase().replace(' ', '-')}-${extId}`,
  })
})

test('a group without a cluster is 400, with an unknown one 404, with the manager 400', async () => {
  const body = (clusterReference?: string) => ({ body: { name: nameOf(), clusterReference } })
  assert.deepEqual(pathsOf(await send(app, 'POST', groups, body())), ['clusterReference'])
  assert.equal((await send(app, 'POST', groups, body(randomUUID()))).status, 404)
  const manager = await send(app, 'POST', groups, body(seedId('manager')))
  assert.equal(manager.status, 400)
  assert.deepEqual(pathsOf(manager), ['clusterReference'])
})

test('the target name starts with the requested prefix, and a prefix together with a name is refused', async () => {
  const group = await aGroup(app, { targetPrefix: 'vg1' })
  assert.equal(group.targetName, `vg1-${group.extId}`)
  assert.equal(group.targetPrefix, 'vg1')
  assert.equal((await postGroup(app, { targetPrefix: 'vg1', targetName: 'twelve-chars' })).status, 400)
  const named = nameOf('a-target-name')
  await aGroup(app, { targetName: named })
  assert.equal((await postGroup(app, { targetName: named })).status, 409)
})

test('CHAP needs a secret of 12 to 16 characters, which is neither stored nor returned in plain text', async () => {
  assert.deepEqual(pathsOf(await postGroup(app, { enabledAuthentications: 'CHAP' })), ['iscsiFeatures/targetSecret'])
  for (const targetSecret of ['a'.repeat(11), 'a'.repeat(17), 'with a blank']) {
    const result = await postGroup(app, { iscsiFeatures: { enabledAuthentications: 'CHAP', targetSecret } })
    assert.deepEqual([result.status, pathsOf(result)], [400, ['iscsiFeatures/targetSecret']])
  }
  const differing = {
    enabledAuthentications: 'NONE',
    iscsiFeatures: { enabledAuthentications: 'CHAP', targetSecret: secret },
  }
  assert.equal((await postGroup(app, differing)).status, 400)
  const own = 'Zq8!unseen-ever'
  const started = await postGroup(app, { iscsiFeatures: { enabledAuthentications: 'CHAP', targetSecret: own } })
  const task = await succeeded(app, started)
  const { extId } = task.entitiesAffected[0]
  const group = await app.call('GET', `${groups}/${extId}`)
  assert.equal(group.data.iscsiFeatures.enabledAuthentications, 'CHAP')
  const changed = await succeeded(app, put(app, `${groups}/${extId}`, { iscsiFeatures: { targetSecret: own } }))
  const refusedAgain = await put(app, `${groups}/${extId}`, {
    targetName: 'short',
    iscsiFeatures: { targetSecret: own },
  })
  assert.equal(refusedAgain.status, 400)
  const listed = await app.call('GET', `${groups}?$filter=extId eq '${extId}'`)
  const older = await app.call('GET', `/storage/v4.0.a3/config/volume-groups/${extId}`)
  for (const answer of [started, task, group, changed, refusedAgain, listed, older])
    assert.equal(plainOf(answer).includes(own), false)
  for (const file of ['world.sqlite', 'world.sqlite-wal']) {
    assert.equal(readFileSync(join(app.folder, file)).includes(own), false, file)
  }
})

test('a PUT of three fields leaves every other one, the cluster and the secret as they were', async () => {
  const group = await aGroup(app, { ...chap, usageType: 'TEMPORARY', isHidden: true, description: 'before' })
  const digest = targetFacts(app.world).get(group.extId)?.chapDigest
  const changes = { name: nameOf('renamed'), description: 'after', sharingStatus: 'SHARED' }
  await succeeded(app, put(app, `${groups}/${group.extId}`, changes))
  assert.deepEqual(await read(app, group.extId), { ...group, ...changes })
  assert.ok(digest !== undefined)
  assert.equal(targetFacts(app.world).get(group.extId)?.chapDigest, digest)
})

test('a PUT accepts the unchanged body of a GET', async () => {
  const group = await aGroup(app, { targetPrefix: 'back', sharingStatus: 'SHARED' })
  const { ownerReferenceId: _, ...shown } = group
  await succeeded(app, put(app, `${groups}/${group.extId}`, shown))
  assert.deepEqual(await read(app, group.extId), group)
})

test('the authentication is returned only in the field that was sent: of the group or of its iSCSI features', async () => {
  const shown = ({ enabledAuthentications, iscsiFeatures }: any) => [
    enabledAuthentications,
    iscsiFeatures?.enabledAuthentications,
  ]
  const { extId } = await aGroup(app)
  assert.deepEqual(shown(await read(app, extId)), [undefined, undefined])
  const nested = { iscsiFeatures: { enabledAuthentications: 'CHAP', targetSecret: secret } }
  await succeeded(app, put(app, `${groups}/${extId}`, nested))
  assert.deepEqual(shown(await read(app, extId)), [undefined, 'CHAP'])
  assert.ok(targetFacts(app.world).get(extId)?.chapDigest)
  const own = await aGroup(app, { enabledAuthentications: 'CHAP', iscsiFeatures: { targetSecret: secret } })
  assert.deepEqual(shown(own), ['CHAP', undefined])
  await succeeded(app, put(app, `${groups}/${own.extId}`, { iscsiFeatures: { enabledAuthentications: 'NONE' } }))
  assert.deepEqual(shown(await read(app, own.extId)), ['NONE', 'NONE'])
})

test('disabling CHAP removes the secret, and enabling it again needs a new one', async () => {
  const group = await aGroup(app, chap)
  const none = { enabledAuthentications: 'NONE', iscsiFeatures: { enabledAuthentications: 'NONE' } }
  await succeeded(app, put(app, `${groups}/${group.extId}`, none))
  assert.equal(targetFacts(app.world).get(group.extId)?.chapDigest, undefined)
  assert.deepEqual((await read(app, group.extId)).iscsiFeatures, { enabledAuthentications: 'NONE' })
  const again = { enabledAuthentications: 'CHAP', iscsiFeatures: { enabledAuthentications: 'CHAP' } }
  assert.equal((await put(app, `${groups}/${group.extId}`, again)).status, 400)
})

test('a PUT cannot change cluster and creator', async () => {
  const { extId } = await aGroup(app)
  for (const change of [{ clusterReference: externClusterId }, { createdBy: 'somebody' }]) {
    assert.deepEqual(refusal(await put(app, `${groups}/${extId}`, change)), {
      status: 400,
      group: 'IMMUTABLE_ATTRIBUTE',
    })
  }
})

test('a PUT without an ETag is 428, and of two with the same ETag exactly one is accepted', async () => {
  const { extId } = await aGroup(app)
  const path = `${groups}/${extId}`
  assert.equal((await send(app, 'PUT', path, { body: { description: 'x' } })).status, 428)
  const ifMatch = (await app.call('GET', path)).etag as string
  const both = await Promise.all(
    ['a', 'b'].map((description) => send(app, 'PUT', path, { body: { description }, ifMatch })),
  )
  assert.deepEqual(both.map(({ status }) => status).sort(), [202, 412])
})

test('of two concurrent creations with one name one is 409, and so is renaming to a name in use', async () => {
  const name = nameOf('twice')
  const both = await Promise.all([postGroup(app, { name }), postGroup(app, { name })])
  assert.deepEqual(both.map(({ status }) => status).sort(), [202, 409])
  assert.equal(both.find(({ status }) => status === 409)?.errors[0]?.errorGroup, 'VOLUME_GROUP_NAME_EXISTS')
  const other = await aGroup(app)
  assert.equal((await put(app, `${groups}/${other.extId}`, { name })).status, 409)
})

test('filters find exact rows, count after filtering, and refuse a property that is not listed', async () => {
  const prefix = nameOf('filtered')
  for (const end of ['a', 'b', 'c']) await aGroup(app, { name: `${prefix}-${end}` })
  const found = await app.call('GET', `${groups}?$filter=startswith(name,'${prefix}')&$limit=2&$orderby=name desc`)
  assert.equal(found.total, 3)
  assert.deepEqual(
    found.data.map((group: any) => group.name),
    [`${prefix}-c`, `${prefix}-b`],
  )
  assert.equal((await app.call('GET', `${groups}?$filter=name eq '${prefix}-a'`)).total, 1)
  assert.equal((await app.call('GET', `${groups}?$filter=description eq 'x'`)).status, 400)
  assert.equal((await app.call('GET', `${groups}?$filter=clusterReference eq 'nothing'`)).total, 0)
})

test('pages: 0 and 101 items are refused, a page past the end is empty', async () => {
  for (const limit of [0, 101]) assert.equal((await app.call('GET', `${groups}?$limit=${limit}`)).status, 400)
  const beyond = await app.call('GET', `${groups}?$page=999`)
  assert.deepEqual([beyond.status, beyond.data], [200, []])
})

test('cluster and metadata expand to a name and category ids; a selection keeps only what it names', async () => {
  const category = seedId('category/Environment/Dev')
  const { extId, name } = await aGroup(app)
  await succeeded(app, act(app, extId, 'associate-category', { categories: [{ extId: category }] }))
  const expanded = (await app.call('GET', `${groups}/${extId}?$expand=cluster,metadata`)).data
  assert.deepEqual(expanded.clusterProjection, { clusterExtId: clusterId, clusterName: 'hp-native-01' })
  assert.deepEqual(expanded.volumeGroupMetadataProjection.categoryIds, [category])
  const selected = await app.call('GET', `${groups}?$filter=extId eq '${extId}'&$select=name`)
  assert.deepEqual(selected.data, [{ extId, name }])
})

test('unknown groups are 404 with an error code of the namespace', async () => {
  const extId = randomUUID()
  const result = await app.call('GET', `${groups}/${extId}`)
  assert.equal(result.status, 404)
  assert.deepEqual(
    { code: result.errors[0]?.code, group: result.errors[0]?.errorGroup, message: result.errors[0]?.message },
    { code: 'VOL-10001', group: 'VOLUME_UNKNOWN_ENTITY_ERROR', message: `Unknown volume group ${extId}` },
  )
})

test('invalid values are 400 and name their field', async () => {
  const { extId } = await aGroup(app)
  const cases: [Promise<{ status: number; errors: readonly any[] }>, string][] = [
    [postGroup(app, { name: 'n'.repeat(257) }), 'name'],
    [postGroup(app, { targetPrefix: 'with blank' }), 'targetPrefix'],
    [act(app, extId, 'attach-iscsi-client', { iscsiInitiatorName: `iqn'quote` }), 'iscsiInitiatorName'],
    [postDisk(app, extId, { index: 2 ** 63, diskSizeBytes: GiB }), 'index'],
    [postDisk(app, extId, { diskSizeBytes: Number.MAX_VALUE }), 'diskSizeBytes'],
    [app.call('GET', `${groups}/not-a-uuid`), 'extId'],
  ]
  for (const [sent, path] of cases) {
    const result = await sent
    assert.deepEqual([result.status, pathsOf(result as never)], [400, [path]])
  }
})

test('the count of a category follows its associations and the deletion of a group', async () => {
  const created = await app.call('POST', '/platform/v4.3/config/categories', {
    requestId: randomUUID(),
    body: { key: nameOf('key'), value: 'v' },
  })
  const category = created.data.extId
  const count = async (): Promise<number> => {
    const { data } = await app.call('GET', `/platform/v4.3/config/categories/${category}?$expand=associations`)
    return data.associations?.find((one: any) => one.resourceType === 'VOLUMEGROUP')?.count ?? 0
  }
  const { extId } = await aGroup(app)
  const body = { categories: [{ extId: category, entityType: 'CATEGORY' }] }
  const task = await succeeded(app, act(app, extId, 'associate-category', body))
  assert.equal(task.operation, 'UpdateCategoryAssociations_kOperationAttach')
  assert.equal(await count(), 1)
  await succeeded(app, act(app, extId, 'associate-category', body))
  assert.equal(await count(), 1)
  const listed = await app.call('GET', `${groups}/${extId}/category-associations`)
  assert.equal(listed.data[0].name, `${created.data.key}/v`)
  const metadata = await app.call('GET', `${groups}/${extId}/metadata`)
  assert.deepEqual(metadata.data.categoryIds, [category])
  assert.equal(metadata.data.ownerUserName, 'admin')
  await succeeded(app, act(app, extId, 'disassociate-category', body))
  assert.equal(await count(), 0)
  // What is not associated is no fault.
  await succeeded(app, act(app, extId, 'disassociate-category', body))
  assert.equal(await count(), 0)
  await succeeded(app, act(app, extId, 'associate-category', body))
  const expanded = await app.call(
    'GET',
    `/platform/v4.3/config/categories?$expand=associations&$filter=extId eq '${category}'`,
  )
  assert.deepEqual(
    expanded.data[0].associations.map(({ resourceType, count: n }: any) => [resourceType, n]),
    [['VOLUMEGROUP', 1]],
  )
  await succeeded(app, send(app, 'DELETE', `${groups}/${extId}`))
  assert.equal(await count(), 0)
})

test('categories: no id and another type are 400, an unknown one 404, more than 20 are 422', async () => {
  const { extId } = await aGroup(app)
  const known = seedId('category/Environment/Dev')
  assert.equal((await act(app, extId, 'associate-category', { categories: [{}] })).status, 400)
  assert.equal(
    (await act(app, extId, 'associate-category', { categories: [{ extId: known, entityType: 'VM' }] })).status,
    400,
  )
  assert.equal((await act(app, extId, 'associate-category', { categories: [{ extId: randomUUID() }] })).status, 404)
  const ids: string[] = []
  for (let value = 0; value < 21; value++) {
    const body = { key: 'many', value: String(value) }
    ids.push((await send(app, 'POST', '/platform/v4.3/config/categories', { body })).data.extId)
  }
  await succeeded(
    app,
    act(app, extId, 'associate-category', { categories: ids.slice(0, 20).map((id) => ({ extId: id })) }),
  )
  assert.equal((await act(app, extId, 'associate-category', { categories: [{ extId: ids[20] }] })).status, 422)
})

test('a creation makes the group with all of its disks, or nothing', async () => {
  const disks = [
    { diskSizeBytes: GiB, index: 4, ...onContainer() },
    { diskSizeBytes: 2 * GiB, ...onContainer() },
  ]
  const task = await succeeded(app, postGroup(app, { disks }))
  const [group, ...made] = task.entitiesAffected
  assert.deepEqual(
    made.map(({ rel }: any) => rel),
    Array(2).fill('volumes:config:volume-group:disk'),
  )
  const listed = (await app.call('GET', `${groups}/${group.extId}/disks`)).data
  assert.deepEqual(
    listed.map((disk: any) => [disk.index, disk.diskSizeBytes]),
    [
      [0, 2 * GiB],
      [4, GiB],
    ],
  )
  const twice = [
    { diskSizeBytes: GiB, index: 1 },
    { diskSizeBytes: GiB, index: 1 },
  ]
  assert.deepEqual(pathsOf(await postGroup(app, { disks: twice })), ['disks[1]/index'])
  const eleven = Array.from({ length: 11 }, () => ({ diskSizeBytes: GiB }))
  assert.deepEqual(pathsOf(await postGroup(app, { disks: eleven })), ['disks'])
})

test('a creation whose last disk is refused by the cluster leaves nothing behind', async () => {
  const name = nameOf('torn')
  const faults = app.world.collection('hardware.faults')
  const before = await usageOf(app)
  await faults.put(clusterId, { refuses: ['publishDisk'] })
  const task = await app.task(await postGroup(app, { name, disks: [{ diskSizeBytes: GiB }] }))
  await faults.remove(clusterId)
  assert.equal(task.status, 'FAILED')
  const [group, disk] = task.entitiesAffected
  assert.equal(targetFacts(app.world).get(group.extId), undefined)
  assert.equal(blockDiskFacts(app.world).get(disk.extId), undefined)
  assert.deepEqual(await usageOf(app), before)
  // The name is free again.
  await aGroup(app, { name })
})

test('an attached group cannot be deleted; after the detach the deletion removes its disks and frees their space', async () => {
  const vm = await aVm(app)
  await changeVm(app, vm.extId, 'power-on')
  const { extId } = await aGroup(app)
  const disk = await aDisk(app, extId)
  await succeeded(app, act(app, extId, 'attach-vm', { extId: vm.extId }))
  await app.clock.advance(3600 * 1000)
  assert.deepEqual(refusal(await send(app, 'DELETE', `${groups}/${extId}`)), {
    status: 409,
    group: 'VOLUME_GROUP_ATTACHED',
  })
  await succeeded(app, act(app, extId, 'detach-vm', { extId: vm.extId }))
  const written = (await app.drivers.blockStorage.usageOf([disk.extId])).get(disk.extId)?.writtenBytes ?? 0
  assert.ok(written > 0)
  const used = (await usageOf(app)).logicalBytes
  const task = await succeeded(app, send(app, 'DELETE', `${groups}/${extId}`))
  assert.equal(task.operation, 'VolumeGroupDelete')
  assert.equal((await usageOf(app)).logicalBytes, used - written)
  assert.equal((await app.call('GET', `${groups}/${extId}`)).status, 404)
  assert.equal(blockDiskFacts(app.world).get(disk.extId), undefined)
  assert.equal(targetFacts(app.world).get(extId), undefined)
})

test('a container that holds a volume disk cannot be deleted', async () => {
  const { extId } = await aGroup(app)
  const created = await send(app, 'POST', '/clustermgmt/v4.2/config/storage-containers', {
    body: { name: nameOf('sc') },
    clusterId,
  })
  const container = (await succeeded(app, created)).entitiesAffected[0].extId
  const path = `/clustermgmt/v4.2/config/storage-containers/${container}`
  const disk = await aDisk(app, extId, { diskSizeBytes: GiB, ...onContainer(container) })
  assert.equal((await send(app, 'DELETE', path)).status, 409)
  await succeeded(app, send(app, 'DELETE', `${groups}/${extId}/disks/${disk.extId}`))
  await succeeded(app, send(app, 'DELETE', path))
})

/** Sends one of each mutation of volume groups and what belongs to them. */
async function everyMutation(): Promise<() => Promise<Record<string, CallResult>>> {
  const vm = await aVm(app)
  const [free, onVm, outside] = [await aGroup(app), await aGroup(app), await aGroup(app)]
  const disk = await aDisk(app, free.extId)
  await succeeded(app, act(app, onVm.extId, 'attach-vm', { extId: vm.extId }))
  const name = { iscsiInitiatorName: `iqn.2026-01.io.example:${nameOf()}` }
  const attached = await succeeded(app, act(app, outside.extId, 'attach-iscsi-client', name))
  const client = { extId: attached.entitiesAffected[0].extId }
  const category = { categories: [{ extId: seedId('category/Environment/Dev') }] }
  const path = `${groups}/${free.extId}`
  const client_ = `/volumes/v4.2/config/iscsi-clients/${client.extId}`
  return async () => ({
    createVolumeGroup: await postGroup(app),
    updateVolumeGroupById: await put(app, path, { description: 'x' }),
    deleteVolumeGroupById: await send(app, 'DELETE', path),
    associateCategory: await act(app, free.extId, 'associate-category', category),
    disassociateCategory: await act(app, free.extId, 'disassociate-category', category),
    createVolumeDisk: await postDisk(app, free.extId, { diskSizeBytes: GiB }),
    updateVolumeDiskById: await put(app, `${path}/disks/${disk.extId}`, { diskSizeBytes: 2 * GiB }),
    deleteVolumeDiskById: await send(app, 'DELETE', `${path}/disks/${disk.extId}`),
    attachVm: await act(app, free.extId, 'attach-vm', { extId: vm.extId }),
    detachVm: await act(app, onVm.extId, 'detach-vm', { extId: vm.extId }),
    attachIscsiClient: await act(app, free.extId, 'attach-iscsi-client', client),
    detachIscsiClient: await act(app, outside.extId, 'detach-iscsi-client', client),
    updateIscsiClientById: await put(app, client_, { enabledAuthentications: 'NONE' }),
    attachNvmfClient: await act(app, free.extId, 'attach-nvmf-client', { nvmfInitiatorName: 'nqn.2026:x' }),
    'storage updateIscsiClientById': await app.call('PATCH', client_.replace(/^.volumes.v4.2/, '/storage/v4.0.a3'), {
      body: { enabledAuthentications: 'NONE' },
    }),
    'storage deleteVolumeDisk': await app.call(
      'DELETE',
      `/storage/v4.0.a3/config/volume-groups/${free.extId}/disks/${disk.extId}`,
    ),
  })
}
const statusesOf = (results: Record<string, CallResult>): Record<string, number> =>
  Object.fromEntries(Object.entries(results).map(([operation, { status }]) => [operation, status]))
const all = (results: Record<string, CallResult>, status: number): Record<string, number> =>
  Object.fromEntries(Object.keys(results).map((operation) => [operation, status]))

test('while a cluster does not answer, each mutation is 503 CLUSTER-10503, and reads succeed', async () => {
  const send = await everyMutation()
  const tasks = (await app.call('GET', '/platform/v4.3/config/tasks')).total
  const faults = app.world.collection('hardware.faults')
  await faults.put(clusterId, { isDown: true })
  const results = await send()
  assert.equal((await app.call('GET', groups)).status, 200)
  await faults.remove(clusterId)
  assert.deepEqual(statusesOf(results), all(results, 503))
  for (const { errors } of Object.values(results)) assert.equal(errors[0]?.code, 'CLUSTER-10503')
  assert.equal((await app.call('GET', '/platform/v4.3/config/tasks')).total, tasks)
})

test('a cluster in the operation mode READ_ONLY takes no change: each mutation is 409, and says so', async () => {
  const send = await everyMutation()
  const tasks = (await app.call('GET', '/platform/v4.3/config/tasks')).total
  const mode = (operationMode: string | undefined) =>
    app.store.transaction(async (store) => {
      const cluster = await store.get(Cluster, clusterId)
      await store.observe(Cluster, clusterId, { config: { ...cluster?.config, operationMode } } as never)
    })
  const before = (await app.store.get(Cluster, clusterId))?.config?.operationMode
  await mode('READ_ONLY')
  const results = await send()
  await mode(before)
  assert.deepEqual(statusesOf(results), all(results, 409))
  for (const [operation, { errors }] of Object.entries(results))
    assert.match(errors[0]?.message ?? '', /READ_ONLY/, operation)
  assert.equal((await app.call('GET', '/platform/v4.3/config/tasks')).total, tasks)
})

test('a group that is being deleted is busy: changes, disks, attaches and a second delete are 409 VOLUME_GROUP_BUSY', async () => {
  let open = (): void => undefined
  const gate = new Promise<void>((resolve) => (open = resolve))
  const hung = await startApp({
    beforeStep: (definition) => (definition === 'volumes.delete-volume-group' ? gate : undefined),
  })
  const vm = await aVm(hung)
  const { extId } = await aGroup(hung)
  const disk = await aDisk(hung, extId)
  const path = `${groups}/${extId}`
  const gone = await send(hung, 'DELETE', path)
  const busy = { status: 409, group: 'VOLUME_GROUP_BUSY' }
  for (const sent of [
    put(hung, path, { description: 'x' }),
    send(hung, 'DELETE', path),
    postDisk(hung, extId, { diskSizeBytes: GiB }),
    put(hung, `${path}/disks/${disk.extId}`, { diskSizeBytes: 2 * GiB }),
    send(hung, 'DELETE', `${path}/disks/${disk.extId}`),
    act(hung, extId, 'attach-vm', { extId: vm.extId }),
    act(hung, extId, 'attach-iscsi-client', { iscsiInitiatorName: 'iqn.2026-01.io.example:late' }),
    act(hung, extId, 'attach-nvmf-client', { nvmfInitiatorName: 'nqn.2026-01.io.example:late' }),
    act(hung, extId, 'associate-category', { categories: [{ extId: seedId('category/Environment/Dev') }] }),
  ])
    assert.deepEqual(refusal(await sent), busy)
  open()
  assert.equal((await hung.task(gone)).status, 'SUCCEEDED')
  await hung.close()
})

test('a requested creator is stored, and hidden groups are listed like others', async () => {
  const { extId, createdBy } = await aGroup(app, { createdBy: 'csi', isHidden: true })
  assert.equal(createdBy, 'csi')
  assert.equal((await app.call('GET', `${groups}?$filter=extId eq '${extId}'`)).total, 1)
})

test('a group whose VMs have ten balanced groups already cannot be balanced as well', async () => {
  const vm = await aVm(app)
  for (let count = 0; count < 10; count++) {
    const balanced = await aGroup(app, { shouldLoadBalanceVmAttachments: true })
    await succeeded(app, act(app, balanced.extId, 'attach-vm', { extId: vm.extId }))
  }
  const { extId } = await aGroup(app)
  await succeeded(app, act(app, extId, 'attach-vm', { extId: vm.extId }))
  const refused = await put(app, `${groups}/${extId}`, { shouldLoadBalanceVmAttachments: true })
  assert.deepEqual(refusal(refused), { status: 422, group: 'LIMIT_EXCEEDED' })
})

test('metadata, category associations and external attachments work, and say that they are deprecated', async () => {
  const own = await startApp()
  const { url } = await own.listen()
  const group = seedId('volume-group/vg-orders-db')
  for (const path of ['metadata', 'category-associations', 'external-iscsi-attachments']) {
    const answer = await http(url, `/api${groups}/${group}/${path}`)
    assert.equal(answer.status, 200, path)
    assert.equal(answer.headers['deprecation'], 'true', path)
  }
  const current = await http(url, `/api${groups}/${group}`)
  assert.equal(current.headers['deprecation'], undefined)
  await own.close()
})

test('numbers that JSON cannot carry are 400 and name their field, over HTTP', async () => {
  const own = await startApp()
  const { url } = await own.listen()
  const group = seedId('volume-group/vg-unused')
  for (const [field, body] of [
    ['diskSizeBytes', '{"diskSizeBytes": 1e400}'],
    ['index', '{"diskSizeBytes": 1073741824, "index": 9223372036854775808}'],
    ['index', '{"diskSizeBytes": 1073741824, "index": 1e-3}'],
  ] as const) {
    const answer = await http(url, `/api${groups}/${group}/disks`, {
      method: 'POST',
      headers: { 'SVC-Request-Id': randomUUID() },
      body,
    })
    assert.equal(answer.status, 400, body)
    assert.match(answer.text, new RegExp(`"attributePath":"${field}"`), body)
  }
  await own.close()
})

test('the groups of the demo are attached as its inventory says', async () => {
  const shown = async (name: string) => {
    const { attachmentType, protocol, attachments = [] } = await read(app, seedId(`volume-group/${name}`))
    return { attachmentType, protocol, attachments: attachments.length }
  }
  assert.deepEqual(await shown('vg-orders-db'), { attachmentType: 'EXTERNAL', protocol: 'ISCSI', attachments: 2 })
  assert.deepEqual(await shown('vg-app-shared'), { attachmentType: 'DIRECT', protocol: 'NOT_ASSIGNED', attachments: 2 })
  assert.deepEqual(await shown('vg-nvme-bench'), { attachmentType: 'EXTERNAL', protocol: 'NVMF', attachments: 1 })
  assert.deepEqual(await shown('vg-unused'), { attachmentType: 'NONE', protocol: 'NOT_ASSIGNED', attachments: 0 })
  assert.equal((await app.call('GET', `${groups}?$filter=startswith(name,'pvc-')`)).total, 6)
  const disks = await app.call(
    'GET',
    `${groups}/${seedId('volume-group/vg-app-shared')}/disks?$filter=storageContainerId eq '${containerId}'`,
  )
  assert.equal(disks.total, 4)
})
