/** Custom attributes of VMs and their disks. Source: behaviour vmm.md 1.1 (custom attributes), 1.16. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { aNativeCluster, aVm, emptyDisk, type NativeCluster, tagOf } from '../../support/native-cluster.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { failed, Gate, pathsOf, refusal, succeeded, vms } from '../../support/vm-parts.ts'

let app: TestApp
let cluster: NativeCluster
const gate = new Gate()
before(async () => {
  app = await startApp({ config: { seed: 'empty' }, beforeStep: gate.wait })
  cluster = await aNativeCluster(app)
})
after(() => app.close())

/** The VM and its disk: their paths below `/vms`. */
async function owners(): Promise<readonly string[]> {
  const vm = await aVm(app, cluster, { disks: [emptyDisk()] })
  return [vm.extId, `${vm.extId}/disks/${vm.disks[0].extId}`]
}
const post = (owner: string, verb: 'add' | 'remove', customAttributes: unknown): Promise<CallResult> =>
  app.call('POST', `${vms}/${owner}/$actions/${verb}-custom-attributes`, {
    requestId: randomUUID(),
    body: { customAttributes },
  })
const attributesOf = async (owner: string): Promise<string[]> =>
  (await app.call('GET', `${vms}/${owner}`)).data.customAttributes

test('an added key replaces its value; a removed attribute that is absent is no error', async () => {
  for (const owner of await owners()) {
    await succeeded(app, post(owner, 'add', ['team:red', 'url:http://x']))
    await succeeded(app, post(owner, 'add', ['team:blue']))
    assert.deepEqual(await attributesOf(owner), ['url:http://x', 'team:blue'])
    await succeeded(app, post(owner, 'remove', ['team:red', 'none:1']))
    assert.deepEqual(await attributesOf(owner), ['url:http://x', 'team:blue'])
    await succeeded(app, post(owner, 'remove', ['url:http://x', 'team:blue']))
    assert.equal(await attributesOf(owner), undefined)
  }
})

test('the task has one step and names the disk before its VM', async () => {
  for (const [owner, operation, count] of (await owners()).map(
    (path) =>
      [
        path,
        path.includes('/') ? 'AddVmDiskCustomAttributes' : 'AddVmCustomAttributes',
        path.includes('/') ? 2 : 1,
      ] as const,
  )) {
    const task = await succeeded(app, post(owner, 'add', ['a:1']))
    assert.equal(task.operation, operation)
    assert.deepEqual(
      task.entitiesAffected.map(({ extId }: any) => extId),
      owner.split('/disks/').reverse(),
    )
    assert.deepEqual([task.entitiesAffected.length, task.subSteps.map(({ name }: any) => name)], [count, ['apply']])
  }
})

test('attributes without a colon, too long or twice are 400; more than 64 of an entity are 422', async () => {
  for (const owner of await owners()) {
    for (const bad of [['none'], ['a:1', 'a:2'], [`a:${'x'.repeat(254)}`], [''], undefined])
      assert.equal((await post(owner, 'add', bad)).status, 400, JSON.stringify(bad))
    assert.deepEqual(pathsOf(await post(owner, 'remove', ['a:1', 'none'])), ['customAttributes[1]'])
    const many = Array.from({ length: 64 }, (_, index) => `key${index}:1`)
    await succeeded(app, post(owner, 'add', many))
    await succeeded(app, post(owner, 'add', ['key0:2']))
    assert.deepEqual(refusal(await post(owner, 'add', ['more:1'])), [422, 'VMM-40004'])
    assert.deepEqual(refusal(await post(owner, 'add', [...many, 'more:1'])), [422, 'VMM-40004'])
    assert.equal((await attributesOf(owner)).length, 64)
  }
})

test('the ETag is optional, is compared when sent, and changes with the request', async () => {
  const [vm = '', disk = ''] = await owners()
  const tag = await tagOf(app, vm)
  await succeeded(app, post(disk, 'add', ['a:1']))
  const path = `${vms}/${disk}/$actions/add-custom-attributes`
  const body = { customAttributes: ['a:1'] }
  const stale = await app.call('POST', path, { requestId: randomUUID(), ifMatch: tag, body })
  assert.deepEqual(refusal(stale), [412, 'VMM-30303'])
})

test('queued requests run in order; a request whose entity is full or deleted by then fails with the code of an immediate refusal', async () => {
  const [vm = '', disk = ''] = await owners()
  const many = Array.from({ length: 64 }, (_, index) => `key${index}:1`)
  const started = await gate.whileClosed(async () => [
    await post(vm, 'add', many),
    await post(vm, 'add', ['more:1']),
    await app.call('DELETE', `${vms}/${disk}`, { requestId: randomUUID(), ifMatch: await tagOf(app, vm) }),
    await post(disk, 'add', ['a:1']),
  ])
  const [added, full, deleted, gone] = started as [CallResult, CallResult, CallResult, CallResult]
  await succeeded(app, added)
  assert.equal((await failed(app, full)).errorMessages[0].code, 'VMM-40004')
  await succeeded(app, deleted)
  assert.equal((await failed(app, gone)).errorMessages[0].code, 'VMM-20005')
})
