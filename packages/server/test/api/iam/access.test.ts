/** On which entities: scopes of policies in lists, reads, mutations, creations and references. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { contract } from '@hyperplane/contract'
import { Category } from '@hyperplane/contract/platform/category'
import { Image } from '@hyperplane/contract/vmm/content/image'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { createAccessControl } from '../../../src/domains/iam/access.ts'
import { aNativeCluster, aVm, emptyDisk, type NativeCluster, postVm } from '../../support/native-cluster.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { aRobot, aRole, categories, etagOf, grant, ok, policies, policyBody } from './people.ts'

let app: TestApp
let cluster: NativeCluster
before(async () => {
  app = await startApp({ config: { seed: 'empty' }, unchecked: 'VMs have categories of no rows' })
  cluster = await aNativeCluster(app)
})
after(() => app.close())

const vms = '/vmm/v4.2/ahv/config/vms'
const images = '/vmm/v4.2/content/images'

async function aCategory(value = randomUUID()): Promise<string> {
  const extId = randomUUID()
  await app.store.transaction((store) => store.insert(Category, { extId, key: 'Scope', value, type: 'USER' } as never))
  return extId
}

/** A machine as the store keeps it: scopes judge rows, whoever made them. */
async function aRow(fields: object): Promise<string> {
  const extId = randomUUID()
  await app.store.transaction((store) =>
    store.insert(Vm, { extId, name: 'row', powerState: 'OFF', ...fields } as never),
  )
  return extId
}

const inCategories = (...extIds: readonly string[]) => ({ virtual_machine: { category_uuid: { anyof: extIds } } })
const withCategories = (...extIds: readonly string[]) => ({ categories: extIds.map((extId) => ({ extId })) })
const idsIn = async (path: string, apiKey: string): Promise<string[]> =>
  ok(await app.call('GET', `${path}?$limit=100`, { apiKey }), 200)
    .data.map((one: any) => one.extId)
    .sort()

test('list, total, read, update and create all honour a policy scoped to two categories', async () => {
  const [one, two, other] = [await aCategory(), await aCategory(), await aCategory()]
  const { extId, apiKey } = await aRobot(app)
  await grant(app, 'Virtual Machine Admin', extId, {
    ...inCategories(one, two),
    category: { '*': { eq: '*' } },
    cluster: { '*': { eq: '*' } },
  })
  const inside = [await aRow(withCategories(one)), await aRow(withCategories(other, two))].sort()
  const outside = await aVm(app, cluster, withCategories(other))
  const list = ok(await app.call('GET', vms, { apiKey }), 200)
  assert.equal(list.total, 2)
  assert.deepEqual(await idsIn(vms, apiKey), inside)
  ok(await app.call('GET', `${vms}/${inside[0]}`, { apiKey }), 200)
  assert.equal((await app.call('GET', `${vms}/${outside.extId}`, { apiKey })).status, 404)
  const put = await app.call('PUT', `${vms}/${outside.extId}`, {
    apiKey,
    body: outside,
    requestId: randomUUID(),
    ifMatch: await etagOf(app, `${vms}/${outside.extId}`),
  })
  assert.equal(put.status, 404)
  assert.equal(
    (await app.call('POST', `${vms}/${outside.extId}/$actions/power-on`, { apiKey, requestId: randomUUID() })).status,
    404,
  )
  const before = await app.store.count(Vm)
  assert.equal(
    (await postVm(app, cluster, { name: 'out', ...withCategories(other) }, { apiKey, as: null })).status,
    403,
  )
  assert.equal((await postVm(app, cluster, { name: 'none' }, { apiKey, as: null })).status, 403)
  assert.equal(await app.store.count(Vm), before)
  const created = await postVm(app, cluster, { name: 'in', ...withCategories(one) }, { apiKey, as: null })
  assert.equal(created.status, 202, JSON.stringify(created.errors))
  await app.runner.untilEnded(created.data.extId)
  assert.equal((await app.call('GET', vms, { apiKey })).total, 3)
})

test('removing the category from a VM hides the VM from the next list request', async () => {
  const category = await aCategory()
  const { extId, apiKey } = await aRobot(app)
  await grant(app, 'Virtual Machine Viewer', extId, inCategories(category))
  const vm = await aVm(app, cluster, withCategories(category))
  assert.deepEqual(await idsIn(vms, apiKey), [vm.extId])
  const path = `${vms}/${vm.extId}`
  ok(await app.call('GET', path, { apiKey }), 200)
  // Where the change comes from does not matter: the row is judged as it is.
  await app.store.transaction((store) => store.update(Vm, vm.extId, { categories: [] }))
  assert.deepEqual(await idsIn(vms, apiKey), [])
  assert.equal((await app.call('GET', path, { apiKey })).status, 404)
})

test('a user who may view but not change a VM gets 403, not 404', async () => {
  const category = await aCategory()
  const { extId, apiKey } = await aRobot(app)
  await grant(app, 'Virtual Machine Viewer', extId)
  await grant(app, 'Virtual Machine Operator', extId, inCategories(category))
  const vm = await aVm(app, cluster)
  const refused = await app.call('POST', `${vms}/${vm.extId}/$actions/power-on`, { apiKey, requestId: randomUUID() })
  assert.equal(refused.status, 403)
  assert.equal(refused.errors[0]?.code, 'PLAT-10403')
})

test('a user with a SELF_OWNED policy lists and deletes their own images, and gets 404 for images of others', async () => {
  const [mine, theirs] = [await aRobot(app), await aRobot(app)]
  const own = { image: { owner_uuid: { eq: 'SELF_OWNED' } } }
  const image = async (ownerExtId: string): Promise<string> => {
    const extId = randomUUID()
    const fields = { extId, name: 'owned', type: 'ISO_IMAGE', sizeBytes: 1, ownerExtId, clusterLocationExtIds: [] }
    await app.store.transaction((store) => store.insert(Image, fields as never))
    return extId
  }
  for (const robot of [mine, theirs]) await grant(app, 'Virtual Machine Admin', robot.extId, own)
  const [a, b] = [await image(mine.extId), await image(theirs.extId)]
  assert.deepEqual(await idsIn(images, mine.apiKey), [a])
  assert.deepEqual(await idsIn(images, theirs.apiKey), [b])
  const remove = async (extId: string) =>
    app.call('DELETE', `${images}/${extId}`, {
      apiKey: mine.apiKey,
      requestId: randomUUID(),
      ifMatch: await etagOf(app, `${images}/${extId}`),
    })
  assert.equal((await app.call('GET', `${images}/${b}`, { apiKey: mine.apiKey })).status, 404)
  assert.equal((await remove(b)).status, 404)
  assert.equal((await remove(a)).status, 202)
})

test('anyof, allof, noneof and noteq follow set semantics on 100 random VMs', async () => {
  const pool = await Promise.all(Array.from({ length: 6 }, () => aCategory()))
  // A small generator with a fixed seed: the same machines every time.
  let state = 7
  const next = (): number => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648
  const machines = new Map<string, Set<string>>()
  for (let i = 0; i < 100; i++) {
    const chosen = pool.filter(() => next() < 0.35)
    machines.set(await aRow(withCategories(...chosen)), new Set(chosen))
  }
  const [a, b, c] = pool as [string, string, string]
  const cases: [object, (has: Set<string>) => boolean][] = [
    [{ anyof: [a, b] }, (has) => has.has(a) || has.has(b)],
    [{ in: [c] }, (has) => has.has(c)],
    [{ eq: a }, (has) => has.has(a)],
    [{ allof: [a, b, c] }, (has) => has.has(a) && has.has(b) && has.has(c)],
    [{ noneof: [a, b] }, (has) => !has.has(a) && !has.has(b)],
    [{ noteq: c }, (has) => !has.has(c)],
    [{ anyof: [a, b], noneof: [c] }, (has) => (has.has(a) || has.has(b)) && !has.has(c)],
  ]
  for (const [condition, expected] of cases) {
    const { extId, apiKey } = await aRobot(app)
    await grant(app, 'Virtual Machine Viewer', extId, { virtual_machines: { categories: condition } })
    const listed = (await idsIn(vms, apiKey)).filter((id) => machines.has(id))
    const wanted = [...machines].filter(([, has]) => expected(has)).map(([id]) => id)
    assert.deepEqual(listed, wanted.sort(), JSON.stringify(condition))
    const single = [...machines.keys()].slice(0, 10)
    for (const id of single) {
      assert.equal((await app.call('GET', `${vms}/${id}`, { apiKey })).status, wanted.includes(id) ? 200 : 404)
    }
  }
})

test('all attributes of one entity filter must match, while several filters and policies add up', async () => {
  const [one, two] = [await aCategory(), await aCategory()]
  const { extId, apiKey } = await aRobot(app)
  await grant(app, 'Virtual Machine Viewer', extId, {
    virtual_machine: { category_uuid: { eq: one }, name: { eq: 'named' } },
  })
  const [both, onlyName, onlyCategory, second] = [
    await aRow({ name: 'named', ...withCategories(one) }),
    await aRow({ name: 'named' }),
    await aRow(withCategories(one)),
    await aRow(withCategories(two)),
  ]
  assert.deepEqual(await idsIn(vms, apiKey), [both])
  await grant(app, 'Virtual Machine Viewer', extId, inCategories(two))
  assert.deepEqual(await idsIn(vms, apiKey), [both, second].sort())
  await grant(app, 'Virtual Machine Viewer', extId, { virtual_machine: { uuid: { anyof: [onlyName, onlyCategory] } } })
  assert.deepEqual(await idsIn(vms, apiKey), [both, second, onlyName, onlyCategory].sort())
})

test('the disks of a VM are visible to whoever may see the VM', async () => {
  const category = await aCategory()
  const { extId, apiKey } = await aRobot(app)
  await grant(app, 'Virtual Machine Viewer', extId, inCategories(category))
  const inside = await aVm(app, cluster, { disks: [emptyDisk()], ...withCategories(category) })
  const outside = await aVm(app, cluster, { disks: [emptyDisk()] })
  assert.equal(ok(await app.call('GET', `${vms}/${inside.extId}/disks`, { apiKey }), 200).total, 1)
  ok(await app.call('GET', `${vms}/${inside.extId}/disks/${inside.disks[0].extId}`, { apiKey }), 200)
  assert.equal((await app.call('GET', `${vms}/${outside.extId}/disks`, { apiKey })).status, 404)
  assert.equal(
    (await app.call('GET', `${vms}/${outside.extId}/disks/${outside.disks[0].extId}`, { apiKey })).status,
    404,
  )
})

test('a body may reference only visible entities, except kinds that a system role cannot view at all', async () => {
  const category = await aCategory()
  const seen = await aRobot(app)
  await grant(app, 'Virtual Machine Admin', seen.extId, {
    virtual_machine: { '*': { eq: '*' } },
    cluster: { '*': { eq: '*' } },
    category: { uuid: { eq: category } },
  })
  const hidden = await aCategory()
  const body = (extId: string) => ({ name: 'refers', ...withCategories(extId) })
  assert.equal((await postVm(app, cluster, body(category), { apiKey: seen.apiKey, as: null })).status, 202)
  const refused = await postVm(app, cluster, body(hidden), { apiKey: seen.apiKey, as: null })
  assert.equal(refused.status, 404, JSON.stringify(refused.errors))

  const custom = await aRobot(app)
  await grant(
    app,
    { id: await aRole(app, ['Create_New_Virtual_Machine', 'View_Existing_Virtual_Machine', 'View_Cluster']) },
    custom.extId,
  )
  assert.equal((await postVm(app, cluster, body(category), { apiKey: custom.apiKey, as: null })).status, 404)
  assert.equal((await postVm(app, cluster, { name: 'plain' }, { apiKey: custom.apiKey, as: null })).status, 202)
})

test('users see their own tasks without a policy', async () => {
  const { extId, apiKey } = await aRobot(app)
  const other = await aRobot(app)
  await grant(app, { id: await aRole(app, ['Create_New_Virtual_Machine', 'View_Cluster']) }, extId)
  const started = await postVm(app, cluster, { name: 'tasked' }, { apiKey, as: null })
  const path = `/platform/v4.3/config/tasks/${started.data.extId}`
  ok(await app.call('GET', path, { apiKey }), 200)
  assert.equal((await app.call('GET', path, { apiKey: other.apiKey })).status, 404)
  assert.equal(ok(await app.call('GET', '/platform/v4.3/config/tasks', { apiKey: other.apiKey }), 200).total, 0)
})

test('a task names the VM that it created only while its owner may view that VM', async () => {
  const { extId, apiKey } = await aRobot(app)
  await grant(app, { id: await aRole(app, ['Create_New_Virtual_Machine', 'View_Cluster']) }, extId)
  const started = await postVm(app, cluster, { name: 'made' }, { apiKey, as: null })
  const names = async (): Promise<unknown[]> => {
    const { data } = ok(await app.call('GET', `/platform/v4.3/config/tasks/${started.data.extId}`, { apiKey }), 200)
    return data.entitiesAffected.map(({ name }: { name?: string }) => name)
  }
  const { entitiesAffected } = await app.task(started)
  assert.deepEqual(await names(), [undefined], 'without a permission to view machines')
  const view = { id: await viewerRole() }
  await grant(app, view, extId, { virtual_machine: { uuid: { eq: randomUUID() } } })
  assert.deepEqual(await names(), [undefined], 'with one for another machine')
  await grant(app, view, extId, { virtual_machine: { uuid: { eq: entitiesAffected[0].extId } } })
  assert.deepEqual(await names(), ['made'])
})

test('deleting a policy revokes its permission unless another policy still grants it', async () => {
  const { extId, apiKey } = await aRobot(app)
  const first = await grant(app, 'Category Viewer', extId)
  const second = await grant(app, 'Category Admin', extId)
  const end = async (id: string) =>
    ok(await app.call('DELETE', `${policies}/${id}`, { ifMatch: await etagOf(app, `${policies}/${id}`) }), 204)
  await end(first)
  ok(await app.call('GET', categories, { apiKey }), 200)
  await end(second)
  assert.equal((await app.call('GET', categories, { apiKey })).status, 403)
})

test('an access decision that started before the deletion of a policy is not cached for later requests', async () => {
  const { extId } = await aRobot(app)
  const policy = await grant(app, 'Category Viewer', extId)
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>()
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>()
  // Policies are read first; the identity only after the policy has ended.
  const slow = {
    find: (kind: never) => app.store.find(kind),
    get: async (kind: never, id: string) => {
      reach()
      await held
      return app.store.get(kind, id)
    },
  }
  const access = createAccessControl({ store: slow as never })
  const caller = { extId, name: 'robot', type: 'SERVICE_ACCOUNT', groups: [] } as never
  const listCategories = contract.flatMap(({ operations }) => operations).find(({ id }) => id === 'listCategories')!
  const early = access.scope(caller, listCategories)
  await reached
  ok(await app.call('DELETE', `${policies}/${policy}`, { ifMatch: await etagOf(app, `${policies}/${policy}`) }), 204)
  access.changed()
  letGo()
  assert.equal(await early, 'all', 'decided by the policies of its time')
  assert.equal(await access.scope(caller, listCategories), undefined)
})

test('access decisions are the same after a restart', async () => {
  const { mkdtempSync, rmSync } = await import('node:fs')
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-test-'))
  const first = await startApp({ folder })
  const robot = await aRobot(first)
  await grant(first, 'Category Viewer', robot.extId)
  await first.close()
  const second = await startApp({ folder })
  try {
    ok(await second.call('GET', categories, { apiKey: robot.apiKey }), 200)
    assert.equal(
      (await second.call('POST', categories, { apiKey: robot.apiKey, body: { key: 'a', value: 'b' } })).status,
      403,
    )
  } finally {
    await second.close()
    rmSync(folder, { recursive: true, force: true })
  }
})

test('a hundred policies of one identity are merged into one query condition', async () => {
  const { extId, apiKey } = await aRobot(app)
  const ids: string[] = []
  for (let i = 0; i < 100; i++) {
    const category = randomUUID()
    ids.push(await aRow(withCategories(category)))
    ok(await app.call('POST', policies, { body: policyBody(await viewerRole(), extId, inCategories(category)) }), 201)
  }
  assert.deepEqual(await idsIn(vms, apiKey), ids.sort())
})

let viewer: string | undefined
async function viewerRole(): Promise<string> {
  viewer ??= await aRole(app, ['View_Existing_Virtual_Machine'])
  return viewer
}
