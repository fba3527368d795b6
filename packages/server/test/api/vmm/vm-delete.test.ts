/** deleteVmById through the API. Source: behaviour vmm.md 1.1 (Delete), 5. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { AddressLease } from '@hyperplane/contract/networking/address-lease'
import { Image } from '@hyperplane/contract/vmm/image'
import { PowerEvent } from '../../../src/domains/vmm/power-journal.ts'
import { HostAllocation, MacLease } from '../../../src/domains/vmm/records.ts'
import { diskFacts, domainFacts } from '../../../src/drivers/simulated/hypervisor.ts'
import {
  aNativeCluster,
  aSubnet,
  aVm,
  bootDisk,
  change,
  changed,
  emptyDisk,
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

test('deleting a running VM turns it off first, and frees its place, disks, addresses and MACs', async () => {
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

test('create, power-on and delete, a hundred times, leave what was there at the start', async () => {
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

test('deleting the image of a disk leaves the disk: the VM still powers on', async () => {
  const own = await aNativeCluster(app)
  const vm = await aVm(app, own, { disks: [bootDisk(own)] })
  await app.store.transaction((store) => store.remove(Image, own.imageExtId))
  assert.equal((await changed(app, vm.extId, 'power-on')).status, 'SUCCEEDED')
  assert.equal((await readVm(app, vm.extId)).disks[0].backingInfo.dataSource.reference.imageExtId, own.imageExtId)
})

test('the layers under a clone stay until the last clone goes', async () => {
  const source = await aVm(app, cluster, { disks: [bootDisk(cluster)] })
  const reference = { $objectType: 'vmm.v4.ahv.config.VmDiskReference', diskExtId: source.disks[0].extId }
  const clone = await aVm(app, cluster, { disks: [{ backingInfo: { dataSource: { reference } } }] })
  assert.equal(clone.disks[0].backingInfo.diskSizeBytes, source.disks[0].backingInfo.diskSizeBytes)
  const disks = diskFacts(app.world)
  await changed(app, source.extId, 'delete')
  assert.equal(disks.get(source.disks[0].extId)?.isHidden, true)
  assert.equal((await changed(app, clone.extId, 'power-on')).status, 'SUCCEEDED')
  await changed(app, clone.extId, 'delete')
  assert.equal(disks.get(source.disks[0].extId), undefined)
})

test('what waits behind a delete fails as not found', async () => {
  const vm = await aVm(app, cluster)
  const gone = await change(app, vm.extId, 'delete')
  const waiting = await change(app, vm.extId, 'power-on').catch(() => undefined)
  assert.equal((await app.task(gone)).status, 'SUCCEEDED')
  if (waiting?.status === 202) assert.equal((await app.task(waiting)).errorMessages[0].code, 'VMM-20005')
})

test('what a VM names cannot be deleted under it', async () => {
  const subnet = await aSubnet(app, cluster)
  await aVm(app, cluster, { nics: [nicOn(subnet)], disks: [emptyDisk()] })
  const users = await app.store.referrerCounts('Subnet', subnet)
  assert.equal(users.get('Vm'), 1)
  assert.ok(((await app.store.referrerCounts('StorageContainer', cluster.containerExtId)).get('Vm') ?? 0) > 0)
})
