/** The older face of volumes. Source: specification 4.1, 4.2; behaviour volumes-storage.md 1.8, 5; conventions 25.36. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { startApp, type TestApp } from '../../support/start-app.ts'
import {
  act,
  aDisk,
  aGroup,
  aVm,
  chap,
  clients,
  clusterId,
  GiB,
  goldId,
  groups,
  nameOf,
  older,
  pathsOf,
  refusal,
  send,
  succeeded,
} from '../../support/volumes.ts'
import { aRobot, grant } from '../iam/people.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const iqn = (): string => `iqn.2026-01.io.example:${nameOf()}`
async function aClient(body: object = {}): Promise<{ clientId: string; group: any }> {
  const group = await aGroup(app, { ...chap, sharingStatus: 'SHARED' })
  const started = act(app, group.extId, 'attach-iscsi-client', { iscsiInitiatorName: iqn(), ...body })
  return { clientId: (await succeeded(app, started)).entitiesAffected[0].extId, group }
}
const patch = (path: string, body: object, options: object = {}) =>
  app.call('PATCH', `${older}${path}`, { body, ...options })

test('a volume group has the same values and ETag in both namespaces', async () => {
  const { group } = await aClient()
  const vm = await aVm(app)
  await succeeded(app, act(app, group.extId, 'attach-vm', { extId: vm.extId }))
  const [there, here] = [
    await app.call('GET', `${groups}/${group.extId}`),
    await app.call('GET', `${older}/volume-groups/${group.extId}`),
  ]
  assert.equal(here.status, 200)
  assert.deepEqual(JSON.parse(JSON.stringify(here.data).replaceAll('"storage.v4.', '"volumes.v4.')), there.data)
  assert.equal(here.etag, there.etag)
})

test('a client has its targets in two lists of the same order, and an ETag', async () => {
  const { clientId, group } = await aClient({ numVirtualTargets: 3 })
  const shown = await app.call('GET', `${older}/iscsi-clients/${clientId}`)
  assert.deepEqual(shown.data.targetParams, [{ numVirtualTargets: 3 }])
  assert.deepEqual(shown.data.iscsiTargetNames, [group.targetName])
  assert.equal(shown.data.clusterReference, clusterId)
  assert.equal(shown.etag, (await app.call('GET', `${clients}/${clientId}`)).etag)
})

test('lists clamp a limit of 500 or -1 to 100, return nothing for 0, and return the first or last page for a page outside the range', async () => {
  for (const count of [32, 32, 32, 5]) {
    const group = await aGroup(app, { sharingStatus: 'SHARED' })
    for (let client = 0; client < count; client++)
      await succeeded(app, act(app, group.extId, 'attach-iscsi-client', { iscsiInitiatorName: iqn() }))
  }
  const list = (query: string) => app.call('GET', `${older}/iscsi-clients?${query}`)
  const all = await list('$limit=500')
  assert.ok(all.total !== undefined && all.total > 100)
  assert.equal(all.data.length, 100)
  assert.equal((await list('$limit=-1')).data.length, 100)
  const none = await list('$limit=0')
  assert.deepEqual([none.data, none.total], [[], all.total])
  const ids = (result: { data: any[] }) => result.data.map(({ extId }) => extId)
  assert.deepEqual(ids(await list('$limit=2&$page=-3')), ids(all).slice(0, 2))
  const last = Math.ceil(all.total / 2) - 1
  assert.deepEqual(ids(await list('$limit=2&$page=999')), ids(await list(`$limit=2&$page=${last}`)))
  assert.deepEqual(ids(await list('$page=999')), ids(await list(`$page=${Math.ceil(all.total / 50) - 1}`)))
  assert.equal((await list('$limit=abc')).status, 400)
  assert.equal((await list('$page=x')).status, 400)
})

test('lists filter and order by the listed fields alone', async () => {
  const { clientId, group } = await aClient()
  const found = await app.call('GET', `${older}/iscsi-clients?$filter=extId eq '${clientId}'&$orderby=extId desc`)
  assert.equal(found.total, 1)
  assert.equal((await app.call('GET', `${older}/iscsi-clients?$filter=iscsiInitiatorName eq 'x'`)).status, 400)
  const attached = await app.call('GET', `${older}/volume-groups/${group.extId}/iscsi-client-attachments?$page=7`)
  assert.deepEqual(attached.data, [{ extId: clientId, clusterReference: clusterId }])
})

test('a PATCH needs no ETag, returns the future client and the task, and changes the client in volumes too', async () => {
  const { clientId } = await aClient()
  const path = `/iscsi-clients/${clientId}`
  const started = await patch(path, { enabledAuthentications: 'CHAP', clientSecret: 'patched-secret' })
  assert.equal(started.status, 202)
  assert.equal(started.data.enabledAuthentications, 'CHAP')
  assert.equal(started.data.iscsiTargetNames.length, 1)
  assert.equal(started.data.clientSecret, undefined)
  assert.match(started.location ?? '', /^\/platform\/v4\.3\/config\/tasks\//)
  await succeededAt(started.location as string)
  assert.equal((await app.call('GET', `${clients}/${clientId}`)).data.enabledAuthentications, 'CHAP')
})

test('a PATCH merges: absent fields keep their value, read-only lists are ignored, an empty object and another name are 400', async () => {
  const { clientId } = await aClient({ enabledAuthentications: 'CHAP', clientSecret: 'first-secret1' })
  const path = `/iscsi-clients/${clientId}`
  const renewed = await patch(path, { clientSecret: 'second-secret', targetParams: [], iscsiTargetNames: [] })
  assert.equal(renewed.data.enabledAuthentications, 'CHAP')
  await succeededAt(renewed.location as string)
  assert.equal((await patch(path, {})).status, 400)
  assert.deepEqual(refusal(await patch(path, { iscsiInitiatorName: iqn() })), {
    status: 400,
    group: 'IMMUTABLE_ATTRIBUTE',
  })
  assert.deepEqual(pathsOf(await patch(path, { attachmentSite: 'PRIMARY' })), ['attachmentSite'])
  const stale = await patch(path, { clientSecret: 'third-secret1' }, { ifMatch: '"stale"' })
  assert.equal(stale.status, 412)
})

test('PATCH grows a disk and DELETE removes it, without an ETag', async () => {
  const { extId } = await aGroup(app)
  const disk = await aDisk(app, extId, { diskSizeBytes: GiB, description: 'kept' })
  const path = `/volume-groups/${extId}/disks/${disk.extId}`
  await succeeded(app, await patch(path, { diskSizeBytes: 2 * GiB }))
  const grown = (await app.call('GET', `${groups}/${extId}/disks/${disk.extId}`)).data
  assert.deepEqual([grown.diskSizeBytes, grown.description], [2 * GiB, 'kept'])
  assert.equal(refusal(await patch(path, { diskSizeBytes: GiB })).group, 'DISK_CANNOT_SHRINK')
  for (const change of [{ index: 9 }, { storageContainerId: goldId }]) {
    assert.equal(refusal(await patch(path, change)).group, 'IMMUTABLE_ATTRIBUTE')
  }
  await succeeded(app, await app.call('DELETE', `${older}${path}`))
  assert.equal((await app.call('GET', `${groups}/${extId}/disks/${disk.extId}`)).status, 404)
})

test('an API key that is valid for volumes is 401 in storage', async () => {
  const { extId, apiKey } = await aRobot(app)
  await grant(app, 'Storage Admin', extId)
  assert.equal((await app.call('GET', clients, { apiKey })).status, 200)
  assert.equal((await app.call('GET', `${older}/iscsi-clients`, { apiKey })).status, 401)
})

test('unknown ids are 404 with the codes of volumes', async () => {
  for (const path of ['iscsi-clients', 'volume-groups']) {
    assert.equal((await app.call('GET', `${older}/${path}/${randomUUID()}`)).errors[0]?.code, 'VOL-10001')
  }
})

test('a request that is repeated with its request id is replayed', async () => {
  const { extId } = await aGroup(app)
  const disk = await aDisk(app, extId)
  const path = `${older}/volume-groups/${extId}/disks/${disk.extId}`
  const requestId = randomUUID()
  const [first, second] = [await app.call('DELETE', path, { requestId }), await app.call('DELETE', path, { requestId })]
  assert.equal(second.replayed, true)
  assert.equal(second.data.extId, first.data.extId)
})

test('the error for an unknown path names the equivalent path in volumes, if there is one', async () => {
  const posted = await send(app, 'POST', `${older}/volume-groups`, { body: {} })
  assert.equal(posted.status, 404)
  assert.match(posted.errors[0]?.message ?? '', /\/volumes\/v4\.2\/config\/volume-groups/)
  assert.match(
    posted.headers['Link'] ?? '',
    /^<\/api\/volumes\/v4\.2\/config\/volume-groups>; rel="successor-version"$/,
  )
  const put = await send(app, 'PUT', `${older}/volume-groups/${randomUUID()}`, { body: {} })
  assert.equal(put.status, 405)
  assert.match(put.errors[0]?.message ?? '', /\/volumes\/v4\.2\/config\/volume-groups\//)
  const nowhere = await app.call('GET', `${older}/nothing`)
  assert.equal(nowhere.status, 404)
  assert.equal(nowhere.headers['Link'], undefined)
})

async function succeededAt(location: string): Promise<void> {
  const task = await app.task(location.slice(location.lastIndexOf('/') + 1))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
}
