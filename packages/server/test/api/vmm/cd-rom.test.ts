/** CD-ROM drives of VMs through the API: those that a creation makes. Source: behaviour vmm.md 1.3. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import {
  aNativeCluster,
  aSubnet,
  aVm,
  bootDisk,
  changed,
  type NativeCluster,
  nicOn,
  postVm,
  readVm,
} from '../../support/native-cluster.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
let cluster: NativeCluster
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
  cluster = await aNativeCluster(app)
})
after(() => app.close())

const vms = '/vmm/v4.2/ahv/config/vms'

test('an empty drive is on IDE, without backing, isoType OTHER', async () => {
  const vm = await aVm(app, cluster, { cdRoms: [{}] })
  const { data } = await app.call('GET', `${vms}/${vm.extId}/cd-roms`)
  assert.deepEqual(data, [{ extId: vm.cdRoms[0].extId, diskAddress: { busType: 'IDE', index: 0 }, isoType: 'OTHER' }])
  assert.equal(
    (await app.call('GET', `${vms}/${vm.extId}/cd-roms/${vm.cdRoms[0].extId}`)).data.extId,
    vm.cdRoms[0].extId,
  )
  assert.equal((await app.call('GET', `${vms}/${vm.extId}/cd-roms/${randomUUID()}`)).status, 404)
})

test('a drive can hold an image of either type, and its content is a separate file', async () => {
  const vm = await aVm(app, cluster, { cdRoms: [bootDisk(cluster)] })
  assert.ok(vm.cdRoms[0].backingInfo.diskExtId)
  assert.equal(vm.cdRoms[0].backingInfo.storageContainer.extId, cluster.containerExtId)
})

test('a VM with only an ISO boots the installer and learns an IP address', async () => {
  const subnet = await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.20'])
  const vm = await aVm(app, cluster, { cdRoms: [bootDisk(cluster)], nics: [nicOn(subnet)] })
  await changed(app, vm.extId, 'power-on')
  await app.clock.advance(1000)
  assert.equal((await readVm(app, vm.extId)).nics[0].networkInfo.ipv4Info.learnedIpAddresses.length, 1)
})

test('more than ten drives, or more than the bus has indexes, are refused', async () => {
  assert.equal((await postVm(app, cluster, { cdRoms: Array.from({ length: 11 }, () => ({})) })).status, 400)
  assert.equal((await postVm(app, cluster, { cdRoms: Array.from({ length: 5 }, () => ({})) })).status, 409)
})

test('two drives at one address are refused with 409', async () => {
  const drive = { diskAddress: { busType: 'SATA', index: 2 } }
  assert.equal((await postVm(app, cluster, { cdRoms: [drive, drive] })).status, 409)
})
