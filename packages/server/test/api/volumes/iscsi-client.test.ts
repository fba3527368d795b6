/** iSCSI clients through the API. Source: behaviour volumes-storage.md 1.1, 1.5, 1.6, 5. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { IscsiClient } from '@hyperplane/contract/volumes/iscsi-client'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { removeUnused } from '../../../src/domains/volumes/iscsi-attachment.ts'
import { targetFacts } from '../../../src/drivers/simulated/block-facts.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import {
  act,
  aGroup,
  aVm,
  chap,
  clients,
  clusterId,
  groups,
  nameOf,
  pathsOf,
  put,
  read,
  refusal,
  secret,
  send,
  succeeded,
} from '../../support/volumes.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const iqn = (): string => `iqn.2026-01.io.example:${nameOf('Host')}`
const attach = (groupId: string, body: object) => act(app, groupId, 'attach-iscsi-client', body)
const detach = (groupId: string, extId: string) => act(app, groupId, 'detach-iscsi-client', { extId })
const client = async (extId: string): Promise<any> => (await app.call('GET', `${clients}/${extId}`)).data
const shared = { sharingStatus: 'SHARED' }
const clientSecret = 'client-secret-1'
const tasks = '/platform/v4.3/config/tasks'

/** A client that this group is attached to. */
async function aClient(groupId: string, body: object = { iscsiInitiatorName: iqn() }): Promise<any> {
  const task = await succeeded(app, attach(groupId, body))
  return client(task.entitiesAffected[0].extId)
}

test('the first attach creates a client, which remains after the last detach and can be attached again by its id', async () => {
  const group = await aGroup(app)
  const name = iqn()
  const task = await succeeded(app, attach(group.extId, { iscsiInitiatorName: name }))
  assert.deepEqual(
    task.entitiesAffected.map(({ rel }: any) => rel),
    ['volumes:config:iscsi-client', 'volumes:config:volume-group'],
  )
  assert.equal(task.operationDescription, 'Volume group attach to iSCSI Client')
  const found = await app.call('GET', `${clients}?$filter=iscsiInitiatorName eq '${name}'`)
  const [made] = found.data
  assert.deepEqual(made.attachedTargets, [{ iscsiTargetName: group.targetName, numVirtualTargets: 32 }])
  assert.deepEqual([made.clusterReference, made.enabledAuthentications], [clusterId, undefined])
  const attached = await read(app, group.extId)
  assert.deepEqual([attached.attachmentType, attached.protocol], ['EXTERNAL', 'ISCSI'])
  assert.deepEqual(Object.keys(targetFacts(app.world).get(group.extId)?.accessList ?? {}), [made.extId])

  await succeeded(app, detach(group.extId, made.extId))
  assert.equal((await client(made.extId)).attachedTargets, undefined)
  assert.deepEqual(targetFacts(app.world).get(group.extId)?.accessList, {})
  assert.equal((await read(app, group.extId)).protocol, 'NOT_ASSIGNED')

  await succeeded(app, attach(group.extId, { extId: made.extId }))
  assert.equal((await client(made.extId)).attachedTargets.length, 1)
})

test('an attach with a name, in any case, or address of an existing client uses that client', async () => {
  const name = iqn()
  const first = await aClient((await aGroup(app)).extId, { iscsiInitiatorName: name })
  const second = await aClient((await aGroup(app)).extId, { iscsiInitiatorName: name.toUpperCase() })
  assert.equal(second.extId, first.extId)
  assert.equal(second.attachedTargets.length, 2)
  const address = { iscsiInitiatorNetworkId: { ipv4: { value: '10.44.9.77' } } }
  const third = await aClient((await aGroup(app)).extId, address)
  assert.equal((await aClient((await aGroup(app)).extId, address)).extId, third.extId)
  const ipv6 = (value: string) => ({ iscsiInitiatorNetworkId: { ipv6: { value } } })
  const fourth = await aClient((await aGroup(app)).extId, ipv6('2001:db8::77'))
  assert.equal((await aClient((await aGroup(app)).extId, ipv6('2001:0DB8:0:0::77'))).extId, fourth.extId)
  assert.equal((await attach((await aGroup(app)).extId, ipv6('::::'))).status, 400)
})

test('two concurrent attaches with one new client name create one client', async () => {
  const name = iqn()
  const [a, b] = [await aGroup(app), await aGroup(app)]
  const started = await Promise.all([a, b].map((group) => attach(group.extId, { iscsiInitiatorName: name })))
  for (const one of started) await succeeded(app, one)
  const found = await app.call('GET', `${clients}?$filter=iscsiInitiatorName eq '${name}'`)
  assert.equal(found.data.length, 1)
  assert.equal(found.data[0].attachedTargets.length, 2)
})

test('exactly one of name and network id is given, and no site', async () => {
  const { extId } = await aGroup(app)
  const address = { iscsiInitiatorNetworkId: { ipv4: { value: '10.44.9.78' } } }
  for (const body of [{}, { iscsiInitiatorName: iqn(), ...address }, { iscsiInitiatorNetworkId: {} }]) {
    assert.equal((await attach(extId, body)).status, 400)
  }
  assert.deepEqual(pathsOf(await attach(extId, { ...address, attachmentSite: 'PRIMARY' })), ['attachmentSite'])
  assert.equal((await attach(extId, { extId: randomUUID() })).status, 404)
  const known = await aClient(extId)
  assert.deepEqual(
    pathsOf(await attach((await aGroup(app)).extId, { extId: known.extId, iscsiInitiatorName: iqn() })),
    ['iscsiInitiatorName'],
  )
})

test('load balancing and external clients exclude each other, in either order', async () => {
  const balanced = await aGroup(app, { ...shared, shouldLoadBalanceVmAttachments: true })
  const group = 'LOAD_BALANCING_EXCLUDES_EXTERNAL_CLIENTS'
  assert.deepEqual(refusal(await attach(balanced.extId, { iscsiInitiatorName: iqn() })), { status: 409, group })
  const { extId } = await aGroup(app, shared)
  await aClient(extId)
  const refused = await put(app, `${groups}/${extId}`, { shouldLoadBalanceVmAttachments: true })
  assert.deepEqual(refusal(refused), { status: 409, group })
})

test('a group with iSCSI clients refuses NVMe-TCP clients, and the other way round', async () => {
  const bench = seedId('volume-group/vg-nvme-bench')
  await succeeded(app, put(app, `${groups}/${bench}`, shared))
  const mismatch = { status: 409, group: 'PROTOCOL_MISMATCH' }
  assert.deepEqual(refusal(await attach(bench, { iscsiInitiatorName: iqn() })), mismatch)
  const { extId } = await aGroup(app, shared)
  await aClient(extId)
  const nvme = { nvmfInitiatorName: 'nqn.2026-01.io.example:late' }
  assert.deepEqual(refusal(await act(app, extId, 'attach-nvmf-client', nvme)), mismatch)
  assert.equal((await read(app, extId)).protocol, 'ISCSI')
})

test('of concurrent attaches of an iSCSI and an NVMe-TCP client to one group one succeeds', async () => {
  const { extId } = await aGroup(app, shared)
  const both = await Promise.all([
    attach(extId, { iscsiInitiatorName: iqn() }),
    act(app, extId, 'attach-nvmf-client', { nvmfInitiatorName: 'nqn.2026-01.io.example:same-time' }),
  ])
  assert.deepEqual(both.map(({ status }) => status).sort(), [202, 409])
  await succeeded(app, both.find(({ status }) => status === 202)!)
  assert.equal((await read(app, extId)).attachments.length, 1)
})

test('an attach or detach is refused for a group that is not shared, attached already or not attached, for a cluster without data services address, and for a client of another cluster', async () => {
  const group = await aGroup(app)
  const known = await aClient(group.extId)
  assert.equal(refusal(await attach(group.extId, { extId: known.extId })).group, 'ALREADY_ATTACHED')
  assert.equal(refusal(await attach(group.extId, { iscsiInitiatorName: iqn() })).group, 'VOLUME_GROUP_NOT_SHARED')
  const vm = await aVm(app)
  assert.equal(refusal(await act(app, group.extId, 'attach-vm', { extId: vm.extId })).group, 'VOLUME_GROUP_NOT_SHARED')
  const other = await aGroup(app)
  assert.deepEqual(refusal(await detach(other.extId, known.extId)), { status: 409, group: 'NOT_ATTACHED' })
  const elsewhere = await aGroup(app, { clusterReference: seedId('cluster/cloud-1') })
  assert.equal(refusal(await attach(elsewhere.extId, { iscsiInitiatorName: iqn() })).group, 'NO_DATA_SERVICES_ADDRESS')
  assert.deepEqual(refusal(await attach(elsewhere.extId, { extId: known.extId })), { status: 409, group: 'CONFLICT' })
})

test('the target name cannot be changed while an external client is attached', async () => {
  const { extId } = await aGroup(app)
  await aClient(extId)
  assert.equal((await put(app, `${groups}/${extId}`, { targetName: nameOf('another-name') })).status, 409)
})

test('updating a client changes its authentication, and only that; both headers are required', async () => {
  const known = await aClient((await aGroup(app, chap)).extId)
  const path = `${clients}/${known.extId}`
  const task = await succeeded(app, put(app, path, { enabledAuthentications: 'CHAP', clientSecret }))
  assert.deepEqual([task.operation, task.entitiesAffected[0].rel], ['IscsiClientUpdate', 'volumes:config:iscsi-client'])
  assert.equal((await client(known.extId)).enabledAuthentications, 'CHAP')
  await succeeded(app, put(app, path, { enabledAuthentications: 'CHAP' }))
  const named = await put(app, path, { enabledAuthentications: 'CHAP', iscsiInitiatorName: iqn() })
  assert.deepEqual(refusal(named), { status: 400, group: 'IMMUTABLE_ATTRIBUTE' })
  const address = { iscsiInitiatorNetworkId: { ipv4: { value: '10.44.9.79' } } }
  assert.deepEqual(pathsOf(await put(app, path, { enabledAuthentications: 'CHAP', ...address })), [
    'iscsiInitiatorNetworkId',
  ])
  const ifMatch = (await app.call('GET', path)).etag as string
  const without = await app.call('PUT', path, { body: {}, ifMatch })
  assert.deepEqual([without.status, pathsOf(without)], [400, ['SVC-Request-Id']])
  assert.equal((await send(app, 'PUT', path, { body: {} })).status, 428)
})

test('once set, the authentication of a client is shown, even after an update without it', async () => {
  const { extId } = await aClient((await aGroup(app, { ...chap, ...shared })).extId)
  const path = `${clients}/${extId}`
  const shown = async () => (await app.call('GET', path)).data.enabledAuthentications
  await succeeded(app, put(app, path, {}))
  assert.equal(await shown(), undefined)
  await succeeded(app, put(app, path, { enabledAuthentications: 'CHAP', clientSecret }))
  assert.equal(await shown(), 'CHAP')
  await succeeded(app, put(app, path, {}))
  assert.equal(await shown(), 'NONE')
})

test('CHAP of a client needs a secret, CHAP on each of its groups, and a secret that differs from theirs', async () => {
  const withChap = await aGroup(app, { ...chap, ...shared })
  const without = await aGroup(app)
  const known = await aClient(withChap.extId)
  const path = `${clients}/${known.extId}`
  assert.deepEqual(pathsOf(await put(app, path, { enabledAuthentications: 'CHAP' })), ['clientSecret'])
  assert.deepEqual(pathsOf(await put(app, path, { enabledAuthentications: 'NONE', clientSecret })), ['clientSecret'])
  assert.deepEqual(pathsOf(await put(app, path, { enabledAuthentications: 'CHAP', clientSecret: secret })), [
    'clientSecret',
  ])
  await succeeded(app, attach(without.extId, { extId: known.extId }))
  assert.deepEqual(pathsOf(await put(app, path, { enabledAuthentications: 'CHAP', clientSecret })), [
    'enabledAuthentications',
  ])
  await succeeded(app, detach(without.extId, known.extId))
  await succeeded(app, put(app, path, { enabledAuthentications: 'CHAP', clientSecret }))
  assert.ok(targetFacts(app.world).get(withChap.extId)?.accessList[known.extId]?.chapDigest)
  assert.deepEqual(pathsOf(await attach(without.extId, { extId: known.extId })), ['enabledAuthentications'])
  const leaving = { enabledAuthentications: 'NONE', iscsiFeatures: { enabledAuthentications: 'NONE' } }
  assert.deepEqual(pathsOf(await put(app, `${groups}/${withChap.extId}`, leaving)), ['enabledAuthentications'])
  const same = { iscsiFeatures: { targetSecret: clientSecret } }
  assert.deepEqual(pathsOf(await put(app, `${groups}/${withChap.extId}`, same)), ['iscsiFeatures/targetSecret'])
})

test('attaching does not change an existing client', async () => {
  const known = await aClient((await aGroup(app, chap)).extId, {
    iscsiInitiatorName: iqn(),
    enabledAuthentications: 'CHAP',
    clientSecret,
    numVirtualTargets: 4,
  })
  assert.equal(known.attachedTargets[0].numVirtualTargets, 4)
  const other = await aGroup(app, chap)
  const again = (body: object) => attach(other.extId, { iscsiInitiatorName: known.iscsiInitiatorName, ...body })
  assert.deepEqual(pathsOf(await again({ numVirtualTargets: 8 })), ['numVirtualTargets'])
  assert.deepEqual(pathsOf(await again({ enabledAuthentications: 'CHAP', clientSecret: 'another-secret' })), [
    'clientSecret',
  ])
  await succeeded(app, again({ enabledAuthentications: 'CHAP', clientSecret }))
})

test('an attach that the cluster refuses leaves neither a client nor an attachment', async () => {
  const { extId } = await aGroup(app)
  const name = iqn()
  const faults = app.world.collection('hardware.faults')
  await faults.put(clusterId, { refuses: ['allow'] })
  const task = await app.task(await attach(extId, { iscsiInitiatorName: name }))
  await faults.remove(clusterId)
  assert.equal(task.status, 'FAILED')
  assert.equal((await app.call('GET', `${clients}?$filter=iscsiInitiatorName eq '${name}'`)).total, 0)
  assert.equal((await client(task.entitiesAffected[0].extId)) === undefined, true)
  await aClient(extId, { iscsiInitiatorName: name })
})

test('an attach fails and revokes access when the client was changed to require CHAP before the task ended', async () => {
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>()
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>()
  const slow = await startApp({
    beforeStep: async (definition, step) => {
      if (definition !== 'volumes.attach-iscsi-client' || step !== 'record') return
      reach()
      await held
    },
  })
  try {
    const group = await aGroup(slow)
    const started = await act(slow, group.extId, 'attach-iscsi-client', { iscsiInitiatorName: iqn() })
    await reached
    const { extId } = (await slow.call('GET', `${tasks}/${started.data.extId}`)).data.entitiesAffected[0]
    assert.ok(targetFacts(slow.world).get(group.extId)?.accessList[extId])
    // An update counts attachments under way, so no operation leads here: the last check stands by itself.
    await slow.store.transaction((store) =>
      store.update(IscsiClient, extId, { enabledAuthentications: 'CHAP' } as never),
    )
    letGo()
    const task = await slow.task(started)
    assert.deepEqual([task.status, task.errorMessages[0].errorGroup], ['FAILED', 'INVALID_ARGUMENT'])
    assert.match(task.errorMessages[0].message, /CHAP/)
    assert.equal(targetFacts(slow.world).get(group.extId)?.accessList[extId], undefined)
    assert.equal((await read(slow, group.extId)).attachmentType, 'NONE')
  } finally {
    letGo()
    await slow.close()
  }
})

test('the external attachments of a group are listed with their clients', async () => {
  const { extId } = await aGroup(app, shared)
  const [first, second] = [await aClient(extId), await aClient(extId)]
  const path = `${groups}/${extId}/external-iscsi-attachments`
  const all = await app.call('GET', `${path}?$expand=iscsiClient`)
  assert.deepEqual(
    all.data.map((one: any) => [one.extId, one.clusterReference, one.iscsiClientProjection.iscsiInitiatorName]),
    [first, second].map((one) => [one.extId, clusterId, one.iscsiInitiatorName]),
  )
  assert.deepEqual(all.data[0].iscsiClientProjection.attachedTargets, (await client(first.extId)).attachedTargets)
  const filtered = await app.call('GET', `${path}?$filter=extId eq '${second.extId}'`)
  assert.equal(filtered.total, 1)
})

test('the demo has an iSCSI client without attachments and an NVMe-TCP client with a target', async () => {
  const found = await app.call('GET', `${clients}?$filter=endswith(iscsiInitiatorName,'retired')&$expand=cluster`)
  assert.equal(found.data[0].attachedTargets, undefined)
  assert.equal(found.data[0].clusterProjection.clusterName, 'hp-native-01')
  const nvmf = await app.call('GET', '/volumes/v4.2/config/nvmf-clients?$expand=cluster')
  assert.equal(nvmf.data.length, 1)
  assert.match(nvmf.data[0].attachedTargets[0], /^vg-nvme-bench-/)
  assert.equal((await app.call('GET', `/volumes/v4.2/config/nvmf-clients/${nvmf.data[0].extId}`)).status, 200)
  assert.equal(
    (await app.call('GET', `/volumes/v4.2/config/nvmf-clients/${randomUUID()}`)).errors[0]?.code,
    'VOL-10001',
  )
})

test('a client without attachments for 90 days is removed, one in use is kept', async () => {
  const { extId } = await aGroup(app)
  const used = await aClient(extId)
  const unused = await aClient((await aGroup(app)).extId)
  const long = new Date(app.clock.now() - 91 * 24 * 3600 * 1000).toISOString()
  await app.store.transaction(async (store) => {
    for (const one of [used, unused]) await store.observe(IscsiClient, one.extId, { unusedSince: long } as never)
  })
  const [target] = (await client(unused.extId)).attachedTargets
  const other = (await app.call('GET', `${groups}?$limit=100`)).data.find(
    (one: any) => one.targetName === target.iscsiTargetName,
  )
  await succeeded(app, detach(other.extId, unused.extId))
  assert.equal((await client(unused.extId)).extId, unused.extId)
  await app.store.transaction((store) => store.observe(IscsiClient, unused.extId, { unusedSince: long } as never))
  await removeUnused({ store: app.store, clock: app.clock } as never)
  assert.equal(await client(unused.extId), undefined)
  assert.equal((await client(used.extId)).extId, used.extId)
})

test('a group has at most 32 external clients, a client at most 128 targets', async () => {
  const { extId } = await aGroup(app, shared)
  const started = []
  for (let count = 0; count < 33; count++) started.push(await attach(extId, { iscsiInitiatorName: iqn() }))
  assert.deepEqual(
    started.map(({ status }) => status),
    [...Array(32).fill(202), 422],
  )
  assert.match(started.at(-1)?.errors[0]?.message ?? '', /at most 32, found 33/)
  const name = iqn()
  const last = []
  for (let count = 0; count < 129; count++)
    last.push((await attach((await aGroup(app)).extId, { iscsiInitiatorName: name })).status)
  assert.deepEqual(last, [...Array(128).fill(202), 422])
})
