/** Owner and categories of a VM. Source: behaviour vmm.md 1.0 (category associations), 1.1, 5 (17). */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { User } from '@hyperplane/contract/iam/user'
import { Category } from '@hyperplane/contract/platform/category'
import { act, aNativeCluster, aVm, changed, type NativeCluster, readVm } from '../../support/native-cluster.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
let cluster: NativeCluster
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
  cluster = await aNativeCluster(app)
})
after(() => app.close())

async function aCategory(type = 'USER'): Promise<string> {
  const extId = randomUUID()
  await app.store.transaction((store) => store.insert(Category, { extId, key: extId, value: 'yes', type } as never))
  return extId
}
const ended = async (vm: string, action: string, body: object): Promise<any> =>
  app.task(await act(app, vm, action, body))
const references = (extIds: readonly string[]) => ({ categories: extIds.map((extId) => ({ extId })) })
const carried = async (vm: string): Promise<string[]> =>
  ((await readVm(app, vm)).categories ?? []).map(({ extId }: any) => extId)
async function countOf(category: string): Promise<number> {
  const { data } = await app.call('GET', `/platform/v4.3/config/categories/${category}?$expand=associations`)
  return data.associations?.find(({ resourceType }: any) => resourceType === 'VM')?.count ?? 0
}

test('an association counts once, however often it is made, and ends with the VM', async () => {
  const { extId } = await aVm(app, cluster)
  const category = await aCategory()
  const task = await ended(extId, 'associate-categories', references([category]))
  assert.equal(task.status, 'SUCCEEDED')
  assert.equal(task.operation, 'UpdateCategoryAssociations_kOperationAttach')
  assert.equal(await countOf(category), 1)
  assert.equal((await ended(extId, 'associate-categories', references([category]))).status, 'SUCCEEDED')
  assert.equal(await countOf(category), 1)
  assert.equal((await changed(app, extId, 'delete')).status, 'SUCCEEDED')
  assert.equal(await countOf(category), 0)
})

test('categories keep their order; those that the VM does not have are skipped on disassociation', async () => {
  const [first, second, third] = [await aCategory(), await aCategory('SYSTEM'), await aCategory()]
  const { extId } = await aVm(app, cluster, references([first]))
  await ended(extId, 'associate-categories', references([third, first, second]))
  assert.deepEqual(await carried(extId), [first, third, second])
  const task = await ended(extId, 'disassociate-categories', references([first, await aCategory()]))
  assert.equal(task.status, 'SUCCEEDED')
  assert.equal(task.operation, 'UpdateCategoryAssociations_kOperationDetach')
  assert.deepEqual(await carried(extId), [third, second])
  assert.deepEqual([await countOf(first), await countOf(second)], [0, 1])
  await ended(extId, 'disassociate-categories', references([third, second]))
  assert.equal((await readVm(app, extId)).categories, undefined)
})

test('unknown and internal categories are refused together with 404, missing lists and ids with 400', async () => {
  const { extId } = await aVm(app, cluster)
  const missing = [randomUUID(), await aCategory('INTERNAL')]
  const { status, errors } = await act(app, extId, 'associate-categories', references(missing))
  assert.deepEqual([status, errors.length, errors[0]?.code], [404, 2, 'VMM-20005'])
  assert.equal((await act(app, extId, 'associate-categories', {})).status, 400)
  assert.equal((await act(app, extId, 'associate-categories', { categories: [{}] })).status, 400)
})

test('a VM has at most 256 categories', async () => {
  const all = []
  for (let index = 0; index < 257; index++) all.push(await aCategory())
  const { extId } = await aVm(app, cluster, references(all.slice(0, 200)))
  const { status, errors } = await act(app, extId, 'associate-categories', references(all.slice(100)))
  assert.deepEqual([status, errors[0]?.code], [422, 'VMM-40004'])
  assert.equal((await ended(extId, 'associate-categories', references(all.slice(100, 256)))).status, 'SUCCEEDED')
  assert.equal((await carried(extId)).length, 256)
})

test('a VM gets another owner, who must exist', async () => {
  const { extId } = await aVm(app, cluster)
  const owner = randomUUID()
  await app.store.transaction((store) =>
    store.insert(User, { extId: owner, username: 'owner', userType: 'LOCAL', status: 'ACTIVE' } as never),
  )
  const task = await ended(extId, 'assign-owner', { owner: { extId: owner } })
  assert.deepEqual([task.status, task.operation], ['SUCCEEDED', 'AssignVmOwner'])
  assert.equal((await readVm(app, extId)).ownershipInfo.owner.extId, owner)
  assert.equal((await act(app, extId, 'assign-owner', { owner: { extId: randomUUID() } })).status, 404)
  assert.equal((await act(app, extId, 'assign-owner', { owner: {} })).status, 400)
  assert.equal((await act(app, extId, 'assign-owner', { owner: { extId: owner } }, { ifMatch: undefined })).status, 428)
})
