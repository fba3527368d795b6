/** The virtual machines of the demo. Source: behaviour vmm.md 3.8 (invariants), 4. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { AddressLease } from '@hyperplane/contract/networking/address-lease'
import { Gateway } from '@hyperplane/contract/networking/gateway'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { type Address, isInRange, parseAddress, prefixOf } from '../../../src/core/ip-address.ts'
import { HostAllocation } from '../../../src/domains/scheduling/host-allocation.ts'
import { MacLease } from '../../../src/domains/virtual-machines/mac-lease.ts'
import { powerHistory } from '../../../src/domains/virtual-machines/power-journal.ts'
import { diskFacts, domainFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { chainOf } from '../../../src/drivers/simulated/hypervisor/layers.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { act, changed, GiB, readVm } from '../../support/native-cluster.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
let vms: any[]
before(async () => {
  app = await startApp()
  vms = (await app.call('GET', '/vmm/v4.2/ahv/config/vms')).data
})
after(() => app.close())

const named = (name: string): any => vms.find((vm) => vm.name === name)

test('seven VMs; all but the template source have been ON for nine days, and carry learned addresses', async () => {
  assert.deepEqual(
    vms.map(({ name }) => name),
    ['web-01', 'web-02', 'db-01', 'batch-01', 'desktop-01', 'template-source', 'floating-01'],
  )
  const day = 24 * 3600 * 1000
  for (const vm of vms) {
    const isOff = vm.name === 'template-source'
    assert.equal(vm.powerState, isOff ? 'OFF' : 'ON', vm.name)
    const [{ networkInfo }] = vm.nics
    assert.equal(
      networkInfo.ipv4Info?.learnedIpAddresses[0].value,
      isOff ? undefined : networkInfo.ipv4Config.ipAddress.value,
    )
    const [first] = await powerHistory(app.store, vm.extId)
    assert.equal(first && app.clock.now() - Date.parse(first.time), isOff ? undefined : 9 * day)
  }
  assert.deepEqual([named('db-01').disks.length, named('db-01').memorySizeBytes], [2, 32 * GiB])
  assert.equal(named('desktop-01').guestTools.isReachable, true)
  assert.equal(named('template-source').guestTools.isReachable, false)
})

test('three recovery points of db-01 lie over each other, and the one of web-01 expires in two hours', async (t) => {
  const own = await startApp()
  t.after(() => own.close())
  const points = async () => (await own.call('GET', '/vmm/v4.2/ahv/config/vm-recovery-points?$limit=100')).data ?? []
  const found = await points()
  assert.deepEqual(
    found.map(({ vm }: any) => vm.name),
    ['db-01', 'db-01', 'db-01', 'web-01'],
  )
  const disks = diskFacts(own.world)
  const chains = ['0', '1'].map((disk) => chainOf(disks, seedId(`disk/db-01/${disk}`)).map(([extId]) => extId))
  const ofDatabase = found
    .filter(({ vm }: any) => vm.name === 'db-01')
    .sort((one: any, other: any) => Date.parse(other.creationTime) - Date.parse(one.creationTime))
  for (const [index, chain] of chains.entries())
    assert.deepEqual(
      chain.slice(1),
      ofDatabase.map(({ diskRecoveryPoints }: any) => diskRecoveryPoints[index].diskRecoveryPointExtId),
    )
  assert.ok(found.every(({ totalExclusiveUsageBytes }: any) => totalExclusiveUsageBytes > 0))
  await checkInvariants(own)
  await own.clock.advance(2 * 3600 * 1000 + 60_000)
  assert.equal((await points()).length, 3)
  const body = { vmRecoveryPointExtId: ofDatabase[1].extId }
  assert.equal((await own.task(await act(own, seedId('vm/db-01'), 'revert', body))).status, 'SUCCEEDED')
  await checkInvariants(own)
})

test('the profile windows-default names Windows like its VM and puts it into a workgroup', async () => {
  const { data } = await app.call('GET', '/vmm/v4.2/ahv/config/vm-guest-customization-profiles')
  assert.deepEqual(
    data.map(({ name }: any) => name),
    ['windows-default'],
  )
  const { generalSettings, workgroupOrDomainInfo } = data[0].config.customization
  assert.match(generalSettings.computerName.$objectType, /UseVmName$/)
  assert.equal(workgroupOrDomainInfo.name, 'WORKGROUP')
})

test('a NIC on the managed subnet vlan-100-app is assigned an address at once, learns it after the boot, and frees it when removed', async () => {
  const [subnet] = (await app.call('GET', "/networking/v4.3/config/subnets?$filter=name eq 'vlan-100-app'")).data
  const assigned = async (): Promise<number> =>
    (await app.call('GET', `/networking/v4.3/config/subnets/${subnet.extId}`)).data.ipUsage.numAssignedIPs
  const before = await assigned()
  const reference = {
    $objectType: 'vmm.v4.ahv.config.ImageReference',
    imageExtId: seedId('image/ubuntu-24.04.qcow2'),
  }
  const task = await app.task(
    await app.call('POST', '/vmm/v4.2/ahv/config/vms', {
      requestId: randomUUID(),
      body: {
        name: 'newcomer',
        memorySizeBytes: GiB,
        cluster: { extId: seedId('cluster/hp-native-01') },
        disks: [{ backingInfo: { dataSource: { reference } } }],
        nics: [{ networkInfo: { subnet: { extId: subnet.extId } } }],
      },
    }),
  )
  const { extId } = task.entitiesAffected[0]
  assert.equal((await changed(app, extId, 'power-on')).status, 'SUCCEEDED')
  const { value } = (await readVm(app, extId)).nics[0].networkInfo.ipv4Config.ipAddress
  const { ip, prefixLength } = subnet.ipConfig[0].ipv4.ipSubnet
  const inside = prefixOf(parseAddress('IPV4', ip.value) as Address, prefixLength)
  assert.ok(isInRange(inside, (parseAddress('IPV4', value) as Address).value), value)
  assert.equal(await assigned(), before + 1)
  await app.clock.advance(1000)
  const [{ networkInfo }] = (await readVm(app, extId)).nics
  assert.equal(networkInfo.ipv4Info.learnedIpAddresses[0].value, value)
  assert.equal((await changed(app, extId, 'delete')).status, 'SUCCEEDED')
  assert.equal(await assigned(), before)
})

test('every address and MAC of the demo has a lease, and every running VM a host reservation and a hypervisor domain', async () => {
  for (const vm of vms) {
    for (const nic of vm.nics) {
      const isOnSubnet = nic.networkInfo.nicType === 'NORMAL_NIC'
      const leases = await app.store.findWhere(AddressLease, { holderExtId: nic.extId })
      assert.equal(leases.length, isOnSubnet ? 1 : 0)
      assert.equal((await app.store.findOne(MacLease, { nicExtId: nic.extId }))?.macAddress, nic.backingInfo.macAddress)
    }
    const held = await app.store.findWhere(HostAllocation, { vmExtId: vm.extId })
    assert.deepEqual(
      held.map(({ hostExtId }) => hostExtId),
      vm.host === undefined ? [] : [vm.host.extId],
    )
    assert.equal(domainFacts(app.world).get(vm.extId)?.hostExtId, vm.host?.extId)
  }
})

test('hosts count their VMs without those of the manager and of gateways, whose memory is reserved', async () => {
  const cluster = named('web-01').cluster.extId
  const hosts = (await app.call('GET', `/clustermgmt/v4.2/config/clusters/${cluster}/hosts`)).data
  const shown = hosts.reduce((sum: number, host: any) => sum + (host.hypervisor.numberOfVms ?? 0), 0)
  assert.equal(shown, 6)
  const held = await app.store.findWhere(HostAllocation, { clusterExtId: cluster })
  const appliances = (await app.store.find(Gateway)).filter(({ vmReference }) => vmReference !== undefined)
  assert.equal(held.length, shown + 1 + appliances.length)
})

test('the categories of demo VMs list them as associations', async () => {
  const [production] = (
    await app.call('GET', "/platform/v4.3/config/categories?$filter=key eq 'Environment' and value eq 'Production'")
  ).data
  const { associations } = (
    await app.call('GET', `/platform/v4.3/config/categories/${production.extId}?$expand=associations`)
  ).data
  assert.equal(associations.find(({ resourceType }: any) => resourceType === 'VM').count, 3)
})

test('a demo VM is shut down by its guest and starts again', async () => {
  const { extId } = named('batch-01')
  assert.equal((await changed(app, extId, 'shutdown')).status, 'SUCCEEDED')
  assert.equal((await changed(app, extId, 'power-on')).status, 'SUCCEEDED')
  assert.equal((await readVm(app, extId)).powerState, 'ON')
  assert.equal((await changed(app, named('floating-01').extId, 'delete')).status, 'SUCCEEDED')
})

test('a seed file can add VMs, which are OFF, power on and can be deleted', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-seed-'))
  const file = join(folder, 'seed.yaml')
  writeFileSync(file, 'extends: demo\nvms: 30\n')
  const large = await startApp({ config: { seed: { file } } })
  const { data, total } = await large.call('GET', "/vmm/v4.2/ahv/config/vms?$filter=startswith(name,'vm-')")
  assert.equal(total, 30)
  assert.equal((await changed(large, data[0].extId, 'power-on')).status, 'SUCCEEDED')
  assert.equal((await changed(large, data[0].extId, 'delete')).status, 'SUCCEEDED')
  await large.close()
  rmSync(folder, { recursive: true })
})
