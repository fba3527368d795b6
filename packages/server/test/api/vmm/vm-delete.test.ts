/** deleteVmById through the API. Source: behaviour vmm.md 1.1 (Delete), 5. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { AddressLease } from '@hyperplane/contract/networking/address-lease'
import { HostAllocation } from '../../../src/domains/scheduling/host-allocation.ts'
import { MacLease } from '../../../src/domains/virtual-machines/mac-lease.ts'
import { PowerEvent } from '../../../src/domains/virtual-machines/power-journal.ts'
import { diskFacts, domainFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import {
  aNativeCluster,
  aSubnet,
  aVm,
  bootDisk,
  change,
  changed,
  emptyDisk,
  GiB,
  type NativeCluster,
  nicOn,
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

/** Everything that VMs hold anywhere. */
const holdings = async (): Promise<Record<string, number>> => ({
  addresses: await app.store.count(AddressLease),
  macs: await app.store.count(MacLease),
  places: await app.store.count(HostAllocation),
  journal: await app.store.count(PowerEvent),
  disks: diskFacts(app.world).all().size,
  domains: domainFacts(app.world).all().size,
})

test('deleting a running VM powers it off first and frees its host memory, disks, addresses and MACs', async () => {
  const subnet = await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.20'])
  const before = await holdings()
  const vm = await aVm(app, cluster, { disks: [bootDisk(cluster), emptyDisk()], nics: [nicOn(subnet)], cdRoms: [{}] })
  const usage = async (): Promise<number> =>
    (await app.call('GET', `/networking/v4.3/config/subnets/${subnet}`)).data.ipUsage.numAssignedIPs
  assert.equal(await usage(), 1)
  await changed(app, vm.extId, 'power-on')
  const task = await changed(app, vm.extId, 'delete')
  assert.deepEqual([task.operation, task.status, task.entitiesAffected[0].extId], ['DeleteVm', 'SUCCEEDED', vm.extId])
  assert.equal((await app.call('GET', `/vmm/v4.2/ahv/config/vms/${vm.extId}`)).status, 404)
  assert.equal(await usage(), 0)
  assert.deepEqual(await holdings(), before)
})

test('a hundred cycles of create, power-on and delete leave the world as it was', async () => {
  const subnet = await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.13'])
  const before = await holdings()
  for (let round = 0; round < 25; round++) {
    const made = await Promise.all(
      [1, 2, 3, 4].map(() => aVm(app, cluster, { disks: [bootDisk(cluster)], nics: [nicOn(subnet)] })),
    )
    await Promise.all(made.map(({ extId }) => changed(app, extId, 'power-on')))
    await Promise.all(made.map(({ extId }) => changed(app, extId, 'delete')))
  }
  assert.deepEqual(await holdings(), before)
})

test('deleting the image of a disk or a CD-ROM drive succeeds: the VM powers on, boots, and can be cloned from', async () => {
  const own = await aNativeCluster(app)
  const subnet = await aSubnet(app, own, ['10.0.0.10', '10.0.0.20'])
  const vms = [
    await aVm(app, own, { disks: [bootDisk(own)], nics: [nicOn(subnet)] }),
    await aVm(app, own, { cdRoms: [bootDisk(own)], nics: [nicOn(subnet)] }),
  ]
  const image = `/vmm/v4.2/content/images/${own.imageExtId}`
  assert.equal((await app.task(await app.call('DELETE', image))).status, 'SUCCEEDED')
  assert.equal((await app.call('GET', image)).status, 404)
  for (const vm of vms) {
    assert.equal((await changed(app, vm.extId, 'power-on')).status, 'SUCCEEDED')
    await app.clock.advance(1000)
    const now = await readVm(app, vm.extId)
    assert.equal(now.nics[0].networkInfo.ipv4Info.learnedIpAddresses.length, 1)
    const [{ backingInfo }] = now.disks ?? now.cdRoms
    assert.equal(backingInfo.dataSource.reference.imageExtId, own.imageExtId)
  }
  const reference = { $objectType: 'vmm.v4.ahv.config.VmDiskReference', diskExtId: vms[0].disks[0].extId }
  const clone = await aVm(app, own, { disks: [{ backingInfo: { dataSource: { reference } } }] })
  assert.equal((await changed(app, clone.extId, 'power-on')).status, 'SUCCEEDED')
  const again = await app.call('POST', '/vmm/v4.2/ahv/config/vms', {
    requestId: randomUUID(),
    body: { name: 'late', memorySizeBytes: GiB, cluster: { extId: own.extId }, disks: [bootDisk(own)] },
  })
  assert.equal(again.status, 404)
})

test('the layers under clones stay until only one clone is left, which takes them over', async () => {
  const source = await aVm(app, cluster, { disks: [bootDisk(cluster)] })
  const reference = { $objectType: 'vmm.v4.ahv.config.VmDiskReference', diskExtId: source.disks[0].extId }
  const disks = diskFacts(app.world)
  const [clone, other] = [
    await aVm(app, cluster, { disks: [{ backingInfo: { dataSource: { reference } } }] }),
    await aVm(app, cluster, { disks: [{ backingInfo: { dataSource: { reference } } }] }),
  ]
  assert.equal(clone.disks[0].backingInfo.diskSizeBytes, source.disks[0].backingInfo.diskSizeBytes)
  const layer = disks.get(clone.disks[0].extId)?.parentExtId as string
  await changed(app, source.extId, 'delete')
  assert.equal(disks.get(layer)?.isHidden, true)
  assert.equal((await changed(app, clone.extId, 'power-on')).status, 'SUCCEEDED')
  await changed(app, other.extId, 'delete')
  assert.equal(disks.get(layer), undefined)
  assert.equal(disks.get(clone.disks[0].extId)?.parentExtId, undefined)
})

test('operations queued behind a delete fail as not found', async () => {
  const vm = await aVm(app, cluster)
  const gone = await change(app, vm.extId, 'delete')
  const waiting = await change(app, vm.extId, 'power-on').catch(() => undefined)
  assert.equal((await app.task(gone)).status, 'SUCCEEDED')
  if (waiting?.status === 202) assert.equal((await app.task(waiting)).errorMessages[0].code, 'VMM-20005')
})

test('a subnet, a storage container and a category that a VM uses cannot be deleted, and the refusal names the VM', async () => {
  const own = await aNativeCluster(app)
  const subnet = await aSubnet(app, own)
  const category = await app.call('POST', '/platform/v4.3/config/categories', {
    body: { key: 'carried', value: randomUUID() },
  })
  const parts = { nics: [nicOn(subnet)], disks: [emptyDisk()], categories: [{ extId: category.data.extId }] }
  const vm = await aVm(app, own, parts)
  const paths = [
    `/networking/v4.3/config/subnets/${subnet}`,
    `/clustermgmt/v4.2/config/storage-containers/${own.containerExtId}`,
    `/platform/v4.3/config/categories/${category.data.extId}`,
  ]
  for (const path of paths) {
    const { etag } = await app.call('GET', path)
    const refused = await app.call('DELETE', path, { requestId: randomUUID(), ifMatch: etag as string })
    assert.equal(refused.status, 409, path)
    assert.match(
      `${refused.errors[0]?.message} ${JSON.stringify(refused.errors[0]?.argumentsMap)}`,
      /\bVM|\bNIC/i,
      path,
    )
    assert.equal((await app.call('GET', path)).status, 200)
  }
  await changed(app, vm.extId, 'delete')
  assert.equal((await app.call('DELETE', paths[2] as string)).status, 204)
})
