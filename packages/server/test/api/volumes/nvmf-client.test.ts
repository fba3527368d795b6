/** NVMe-TCP clients through the API. Source: behaviour volumes-storage.md 1.1, 1.6. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { targetFacts } from '../../../src/drivers/simulated/block-facts.ts'
import { aUser } from '../../support/identities.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import {
  act,
  aGroup,
  chap,
  clusterId,
  groups,
  nameOf,
  pathsOf,
  put,
  read,
  refusal,
  send,
  succeeded,
} from '../../support/volumes.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const nvmf = '/volumes/v4.2/config/nvmf-clients'
const nqn = (): string => `nqn.2026-01.io.example:${nameOf('host')}`
const attach = (groupId: string, body: object) => act(app, groupId, 'attach-nvmf-client', body)
const detach = (groupId: string, body: object) => act(app, groupId, 'detach-nvmf-client', body)
const client = async (extId: string): Promise<any> => (await app.call('GET', `${nvmf}/${extId}`)).data
async function aClient(groupId: string, body: object = { nvmfInitiatorName: nqn() }): Promise<any> {
  return client((await succeeded(app, attach(groupId, body))).entitiesAffected[0].extId)
}

test('the first attach creates a client, which remains after the last detach and can be attached again by its id', async () => {
  const group = await aGroup(app)
  const nvmfInitiatorName = nqn()
  const task = await succeeded(app, attach(group.extId, { nvmfInitiatorName }))
  assert.deepEqual(
    [task.operation, task.operationDescription],
    ['VolumeGroupAttachExternal', 'Volume group attach to NVMe-TCP Client'],
  )
  assert.deepEqual(
    task.entitiesAffected.map(({ rel }: any) => rel),
    ['volumes:config:nvmf-client', 'volumes:config:volume-group'],
  )
  const [made] = (await app.call('GET', `${nvmf}?$filter=nvmfInitiatorName eq '${nvmfInitiatorName}'`)).data
  assert.deepEqual([made.clusterReference, made.attachedTargets], [clusterId, [group.targetName]])
  const attached = await read(app, group.extId)
  assert.deepEqual([attached.attachmentType, attached.protocol], ['EXTERNAL', 'NVMF'])
  assert.deepEqual(attached.attachments[0].attachment, {
    $objectType: 'volumes.v4.config.NvmfClientAttachment',
    extId: made.extId,
    clusterReference: clusterId,
  })
  assert.equal(targetFacts(app.world).get(group.extId)?.accessList[made.extId]?.name, nvmfInitiatorName)

  const gone = await succeeded(app, detach(group.extId, { extId: made.extId, nvmfInitiatorName }))
  assert.equal(gone.operationDescription, 'Volume group detach from NVMe-TCP Client')
  assert.equal((await client(made.extId)).attachedTargets, undefined)
  assert.deepEqual(targetFacts(app.world).get(group.extId)?.accessList, {})
  assert.equal((await read(app, group.extId)).protocol, 'NOT_ASSIGNED')

  assert.equal((await aClient(group.extId, { extId: made.extId })).extId, made.extId)
})

test('an attach with the name of an existing client uses that client, even for two groups at once', async () => {
  const nvmfInitiatorName = nqn()
  const [a, b, c] = [await aGroup(app), await aGroup(app), await aGroup(app)]
  const started = await Promise.all([a, b].map(({ extId }) => attach(extId, { nvmfInitiatorName })))
  for (const one of started) await succeeded(app, one)
  const { extId, attachedTargets } = await aClient(c.extId, { nvmfInitiatorName })
  assert.equal(attachedTargets.length, 3)
  assert.equal((await app.call('GET', `${nvmf}?$filter=nvmfInitiatorName eq '${nvmfInitiatorName}'`)).total, 1)
  assert.equal((await client(extId)).nvmfInitiatorName, nvmfInitiatorName)
})

test('a client name must begin with nqn. and have at most 68 characters; a body needs a name or an id, and both must agree', async () => {
  const { extId } = await aGroup(app)
  for (const nvmfInitiatorName of ['iqn.2026-01.io.example:a', `nqn.${'x'.repeat(65)}`])
    assert.deepEqual(pathsOf(await attach(extId, { nvmfInitiatorName })), ['nvmfInitiatorName'])
  assert.deepEqual(pathsOf(await attach(extId, {})), ['nvmfInitiatorName'])
  assert.equal((await attach(extId, { extId: randomUUID() })).status, 404)
  const known = await aClient((await aGroup(app)).extId)
  assert.deepEqual(pathsOf(await attach(extId, { extId: known.extId, nvmfInitiatorName: nqn() })), [
    'nvmfInitiatorName',
  ])
})

test('an attach or detach is refused for a group that is not shared, load balanced, attached already or not attached, for a cluster without data services address, and for a client of another cluster', async () => {
  const group = await aGroup(app)
  const known = await aClient(group.extId)
  assert.equal(refusal(await attach(group.extId, { extId: known.extId })).group, 'ALREADY_ATTACHED')
  assert.equal(refusal(await attach(group.extId, { nvmfInitiatorName: nqn() })).group, 'VOLUME_GROUP_NOT_SHARED')
  assert.deepEqual(refusal(await detach((await aGroup(app)).extId, { extId: known.extId })), {
    status: 409,
    group: 'NOT_ATTACHED',
  })
  const balanced = await aGroup(app, { shouldLoadBalanceVmAttachments: true })
  assert.equal(
    refusal(await attach(balanced.extId, { nvmfInitiatorName: nqn() })).group,
    'LOAD_BALANCING_EXCLUDES_EXTERNAL_CLIENTS',
  )
  const elsewhere = await aGroup(app, { clusterReference: seedId('cluster/cloud-1') })
  assert.equal(refusal(await attach(elsewhere.extId, { nvmfInitiatorName: nqn() })).group, 'NO_DATA_SERVICES_ADDRESS')
  assert.deepEqual(refusal(await attach(elsewhere.extId, { extId: known.extId })), { status: 409, group: 'CONFLICT' })
})

test('CHAP and NVMe-TCP exclude each other, in either order', async () => {
  const mismatch = { status: 409, group: 'PROTOCOL_MISMATCH' }
  const secured = await aGroup(app, chap)
  assert.deepEqual(refusal(await attach(secured.extId, { nvmfInitiatorName: nqn() })), mismatch)
  const { extId } = await aGroup(app)
  await aClient(extId)
  assert.deepEqual(refusal(await put(app, `${groups}/${extId}`, chap)), mismatch)
})

test('an attach that the cluster refuses leaves neither a client nor an attachment', async () => {
  const { extId } = await aGroup(app)
  const nvmfInitiatorName = nqn()
  const faults = app.world.collection('hardware.faults')
  await faults.put(clusterId, { refuses: ['allow'] })
  const task = await app.task(await attach(extId, { nvmfInitiatorName }))
  await faults.remove(clusterId)
  assert.equal(task.status, 'FAILED')
  assert.equal((await app.call('GET', `${nvmf}/${task.entitiesAffected[0].extId}`)).status, 404)
  await aClient(extId, { nvmfInitiatorName })
})

test('an attach beyond 20 targets of a client is refused', async () => {
  const nvmfInitiatorName = nqn()
  const statuses = []
  for (let count = 0; count < 21; count++)
    statuses.push((await attach((await aGroup(app)).extId, { nvmfInitiatorName })).status)
  assert.deepEqual(statuses, [...Array(20).fill(202), 422])
})

test('a Storage Admin attaches and detaches; a Storage Viewer reads clients and is refused both', async () => {
  const { extId } = await aGroup(app)
  const path = `${groups}/${extId}/$actions`
  const body = { nvmfInitiatorName: nqn() }
  const viewer = await aUser(app, ['Storage Viewer'])
  assert.equal((await app.call('GET', nvmf, { as: viewer })).status, 200)
  assert.equal((await send(app, 'POST', `${path}/attach-nvmf-client`, { body, as: viewer })).status, 403)
  const admin = await aUser(app, ['Storage Admin'])
  const task = await succeeded(app, send(app, 'POST', `${path}/attach-nvmf-client`, { body, as: admin }))
  const attached = { extId: task.entitiesAffected[0].extId }
  assert.equal((await send(app, 'POST', `${path}/detach-nvmf-client`, { body: attached, as: viewer })).status, 403)
  await succeeded(app, send(app, 'POST', `${path}/detach-nvmf-client`, { body: attached, as: admin }))
})
