/** Owner and categories of external VMs. Source: behaviour vmm.md 1.0 (category associations), 1.7, 2, 5 (17, 44, 46, 48). */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { happen } from '../../support/events.ts'
import { aUser } from '../../support/identities.ts'
import { type CallOptions, startApp, type TestApp } from '../../support/start-app.ts'

const vms = '/vmm/v4.2/extern/config/vms'
const erp = `${vms}/${seedId('extern-vm/legacy-erp')}`
const cluster = seedId('cluster/hp-extern-01')

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const act = (action: string, body: object, options: CallOptions = {}) =>
  app.call('POST', `${erp}/$actions/${action}`, { requestId: randomUUID(), body, ...options })
const ended = async (action: string, body: object): Promise<any> => app.task(await act(action, body))
const references = (...extIds: string[]) => ({ categories: extIds.map((extId) => ({ extId })) })
const read = async (): Promise<any> => (await app.call('GET', erp)).data
const carried = async (): Promise<string[]> => ((await read()).categories ?? []).map(({ extId }: any) => extId)
async function aCategory(): Promise<string> {
  const body = { key: 'extern', value: randomUUID() }
  return (await app.call('POST', '/platform/v4.3/config/categories', { body })).data.extId
}
async function countOf(category: string): Promise<number> {
  const { data } = await app.call('GET', `/platform/v4.3/config/categories/${category}?$expand=associations`)
  return data.associations?.find(({ resourceType }: any) => resourceType === 'MH_VM')?.count ?? 0
}
async function anotherUser(): Promise<string> {
  const { data } = await app.call('GET', '/iam/v4.1.b2/authn/users')
  return data.find(({ username }: any) => username !== 'admin').extId
}

test('an association counts once as MH_VM, keeps the order of categories, and ends with the disassociation', async () => {
  const [first, second] = [await aCategory(), await aCategory()]
  const task = await ended('associate-categories', references(second))
  assert.deepEqual(
    [task.status, task.operation, task.entitiesAffected[0].rel, task.clusterExtIds],
    ['SUCCEEDED', 'UpdateCategoryAssociations_kOperationAttach', 'vmm:extern:config:vm', [cluster]],
  )
  await ended('associate-categories', references(first, second))
  assert.deepEqual(await carried(), [second, first])
  assert.deepEqual([await countOf(first), await countOf(second)], [1, 1])
  const removed = await ended('disassociate-categories', references(second, await aCategory()))
  assert.deepEqual([removed.status, removed.operation], ['SUCCEEDED', 'UpdateCategoryAssociations_kOperationDetach'])
  assert.deepEqual([await carried(), await countOf(second)], [[first], 0])
  await ended('disassociate-categories', references(first))
  assert.equal((await read()).categories, undefined)
})

test('a new owner must be a user; the change needs no entity tag, refuses a stale one, and changes the tag', async () => {
  const extId = await anotherUser()
  const { etag } = await app.call('GET', erp)
  const task = await ended('assign-owner', { owner: { entityType: 'USER', extId } })
  assert.deepEqual([task.status, task.operation], ['SUCCEEDED', 'AssignVmOwner'])
  assert.deepEqual((await read()).ownershipInfo.owner.extId, extId)
  assert.equal((await read()).ownershipInfo.owner.entityType, 'USER')
  const stale = await act('assign-owner', { owner: { extId } }, { ifMatch: etag as string })
  assert.deepEqual([stale.status, stale.errors[0]?.code], [412, 'VMM-30303'])
})

test('unknown users and categories are refused with 404, empty and too long lists with 400, and nothing changes', async () => {
  const before = await app.call('GET', erp)
  const refused: [action: string, body: object, status: number][] = [
    ['assign-owner', { owner: { extId: randomUUID() } }, 404],
    ['assign-owner', { owner: {} }, 400],
    ['assign-owner', { owner: { entityType: 'GROUP', extId: await anotherUser() } }, 400],
    ['associate-categories', references(await aCategory(), randomUUID()), 404],
    ['associate-categories', { categories: [] }, 400],
    ['associate-categories', { categories: [{}] }, 400],
    ['associate-categories', references(...Array.from({ length: 257 }, () => randomUUID())), 400],
    ['disassociate-categories', references(randomUUID()), 404],
    ['disassociate-categories', {}, 400],
  ]
  for (const [action, body, status] of refused)
    assert.equal((await act(action, body)).status, status, `${action} ${JSON.stringify(body).slice(0, 80)}`)
  const after = await app.call('GET', erp)
  assert.deepEqual([after.etag, after.data], [before.etag, before.data])
})

test('a VM holds at most 256 categories', async () => {
  const all = await Promise.all(Array.from({ length: 257 }, aCategory))
  assert.equal((await ended('associate-categories', references(...all.slice(0, 256)))).status, 'SUCCEEDED')
  const answer = await act('associate-categories', references(all[256] as string))
  assert.equal(answer.status, 422)
  assert.equal((await carried()).length, 256)
  assert.equal((await ended('disassociate-categories', references(...all.slice(0, 256)))).status, 'SUCCEEDED')
})

test('the manager stores owner and categories: both change while the external management is away', async () => {
  await happen(app, { type: 'EXTERNAL_MANAGEMENT_FAILS', cluster })
  const category = await aCategory()
  assert.equal((await ended('associate-categories', references(category))).status, 'SUCCEEDED')
  assert.equal((await ended('assign-owner', { owner: { extId: await anotherUser() } })).status, 'SUCCEEDED')
  assert.equal(await countOf(category), 1)
  await happen(app, { type: 'EXTERNAL_MANAGEMENT_RETURNS', cluster })
  assert.equal((await ended('disassociate-categories', references(category))).status, 'SUCCEEDED')
})

test('a VM that its management removed is 404, and no longer counts in its categories', async () => {
  const spare = `${vms}/${seedId('extern-vm/legacy-test')}`
  const category = await aCategory()
  const body = references(category)
  assert.equal(
    (
      await app.task(
        await app.call('POST', `${spare}/$actions/associate-categories`, { requestId: randomUUID(), body }),
      )
    ).status,
    'SUCCEEDED',
  )
  await happen(app, { type: 'EXTERNAL_VM_VANISHES', vm: 'legacy-test' })
  await app.clock.advance(31_000)
  const gone = await app.call('POST', `${spare}/$actions/associate-categories`, { requestId: randomUUID(), body })
  assert.equal(gone.status, 404)
  assert.equal(await countOf(category), 0)
})

test('a Virtual Machine Viewer reads, and every mutation is 403 and starts no task', async () => {
  const as = await aUser(app, ['Virtual Machine Viewer'])
  assert.equal((await app.call('GET', erp, { as })).status, 200)
  const body = references(await aCategory())
  for (const action of ['associate-categories', 'disassociate-categories'])
    assert.equal((await act(action, body, { as })).status, 403)
  assert.equal((await act('assign-owner', { owner: { extId: await anotherUser() } }, { as })).status, 403)
  assert.equal((await read()).categories, undefined)
})
