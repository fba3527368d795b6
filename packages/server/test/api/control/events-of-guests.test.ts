/** Guests that crash, hang and halt, as clients see it. Source: behaviour vmm.md 1.1, 3.3, 3.8. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { powerHistory } from '../../../src/domains/virtual-machines/power-journal.ts'
import { advance } from '../../support/clustermgmt.ts'
import { happen, postEvent } from '../../support/events.ts'
import {
  aNativeCluster,
  aSubnet,
  aVm,
  bootDisk,
  changed,
  type NativeCluster,
  nicOn,
  readVm,
  tagOf,
} from '../../support/native-cluster.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
let cluster: NativeCluster
let subnet: string
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
  cluster = await aNativeCluster(app)
  subnet = await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.200'])
})
after(() => app.close())

async function aRunningVm(): Promise<string> {
  const { extId } = await aVm(app, cluster, { disks: [bootDisk(cluster)], nics: [nicOn(subnet)] })
  await changed(app, extId, 'power-on')
  await advance(app, 1)
  return extId
}
const learned = async (extId: string): Promise<unknown> => (await readVm(app, extId)).nics[0].networkInfo.ipv4Info
const journal = async (extId: string): Promise<string[]> =>
  (await powerHistory(app.store, extId)).map((event) => event.change)

test('a guest that crashes boots again by itself: its VM stays ON with its tag, and gets its address again', async () => {
  const vm = await aRunningVm()
  const [tag, address] = [await tagOf(app, vm), await learned(vm)]
  assert.notEqual(address, undefined)
  await happen(app, { type: 'GUEST_CRASHES', vm })
  assert.equal(await learned(vm), undefined)
  await advance(app, 1)
  assert.deepEqual(await learned(vm), address)
  assert.equal((await readVm(app, vm)).powerState, 'ON')
  assert.deepEqual(await journal(vm), ['ON', 'RESET'])
  assert.equal(await tagOf(app, vm), tag)
})

test('a guest that halts leaves its VM OFF, without a host', async () => {
  const vm = await aRunningVm()
  await happen(app, { type: 'GUEST_HALTS', vm })
  await advance(app, 1)
  const { powerState, host } = await readVm(app, vm)
  assert.deepEqual([powerState, host], ['OFF', undefined])
  assert.equal((await changed(app, vm, 'power-on')).status, 'SUCCEEDED')
})

test('a guest that hangs ignores its power button; a reset ends that', async () => {
  const vm = await aRunningVm()
  const event = await happen(app, { type: 'GUEST_HANGS', vm })
  const task = await changed(app, vm, 'shutdown')
  assert.equal(task.status, 'FAILED')
  assert.match(task.errorMessages[0].message, /did not respond/)
  assert.equal((await readVm(app, vm)).powerState, 'ON')
  await changed(app, vm, 'reset')
  await advance(app, 1)
  assert.equal((await changed(app, vm, 'shutdown')).status, 'SUCCEEDED')
  assert.deepEqual((await happen(app, { type: 'GUEST_RECOVERS', vm })).effects, [])
  assert.equal((await app.call('GET', `/control/v1/worlds/default/events/${event.extId}`)).data.status, 'OVER')
})

test('a guest that hangs for some time continues afterwards', async () => {
  const vm = await aRunningVm()
  await happen(app, { type: 'GUEST_HANGS', vm }, { duration: 'PT1M' })
  await advance(app, 2)
  assert.deepEqual(await journal(vm), ['ON'])
  assert.equal((await changed(app, vm, 'shutdown')).status, 'SUCCEEDED')
})

test('the guest of a VM that is OFF can neither crash, hang nor halt: 409', async () => {
  const { extId } = await aVm(app, cluster)
  for (const type of ['GUEST_CRASHES', 'GUEST_HANGS', 'GUEST_HALTS'] as const) {
    const refused = await postEvent(app, { type, vm: extId })
    assert.deepEqual([refused.status, refused.errors[0]?.errorGroup], [409, 'WORLD_EVENT_IMPOSSIBLE'], type)
  }
})
