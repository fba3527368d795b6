/** NICs of VMs through the API: those that a creation makes. Source: behaviour vmm.md 1.4, 5; networking.md 1.3. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { AddressLease } from '@hyperplane/contract/networking/address-lease'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { MacLease } from '../../../src/domains/virtual-machines/mac-lease.ts'
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
let managed: string
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
  cluster = await aNativeCluster(app)
  managed = await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.99'])
})
after(() => app.close())

const vms = '/vmm/v4.2/ahv/config/vms'
const asking = (subnetExtId: string, ipv4Config: object) => ({ nics: [nicOn(subnetExtId, { ipv4Config })] })
const address = (value: string) => ({ ipAddress: { value } })
const addressOf = (vm: any): string | undefined => vm.nics[0].networkInfo.ipv4Config?.ipAddress.value

/** Both pairs say the same. */
function checkMirror(nic: any): void {
  for (const [old, recent] of [
    [nic.backingInfo, nic.nicBackingInfo],
    [nic.networkInfo, nic.nicNetworkInfo],
  ]) {
    const { $objectType: _, ...rest } = recent
    assert.deepEqual(rest, old)
  }
}

test('a NIC created with the old or the new pair of fields shows both pairs equal; when both are sent, the new pair wins', async () => {
  const subnet = { extId: managed }
  const nicNetworkInfo = { $objectType: 'vmm.v4.ahv.config.VirtualEthernetNicNetworkInfo', subnet }
  const nicBackingInfo = { $objectType: 'vmm.v4.ahv.config.VirtualEthernetNic', model: 'E1000' }
  const vm = await aVm(app, cluster, {
    nics: [
      { networkInfo: { subnet } },
      { nicNetworkInfo, nicBackingInfo },
      { nicNetworkInfo, nicBackingInfo, backingInfo: { model: 'VIRTIO' } },
    ],
  })
  const { data } = await app.call('GET', `${vms}/${vm.extId}/nics`)
  assert.equal(data.length, 3)
  for (const nic of [...data, ...vm.nics]) checkMirror(nic)
  assert.deepEqual(
    data.map((nic: any) => nic.backingInfo.model),
    ['VIRTIO', 'E1000', 'E1000'],
  )
})

test('a NIC with only a subnet gets the documented defaults', async () => {
  const [nic] = (await aVm(app, cluster, { nics: [nicOn(managed)] })).nics
  const { macAddress, ...backing } = nic.backingInfo
  assert.match(macAddress, /^50:6b:8d(:[0-9a-f]{2}){3}$/)
  assert.deepEqual(backing, { isConnected: true, model: 'VIRTIO', numQueues: 1 })
  const { nicType, vlanMode, shouldAllowUnknownMacs, networkFunctionNicType } = nic.networkInfo
  assert.deepEqual(
    [nicType, vlanMode, shouldAllowUnknownMacs, networkFunctionNicType],
    ['NORMAL_NIC', 'ACCESS', false, undefined],
  )
})

test('a managed subnet assigns its lowest free address at creation, keeps it while the VM is OFF, and counts it until the VM is deleted', async () => {
  const subnet = await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.20'])
  const assigned = async (): Promise<number> =>
    (await app.call('GET', `/networking/v4.3/config/subnets/${subnet}`)).data.ipUsage.numAssignedIPs
  const vm = await aVm(app, cluster, { disks: [bootDisk(cluster)], nics: [nicOn(subnet)] })
  assert.deepEqual(vm.nics[0].networkInfo.ipv4Config, {
    shouldAssignIp: true,
    ipAddress: { value: '10.0.0.10', prefixLength: 32 },
  })
  assert.equal(await assigned(), 1)
  await changed(app, vm.extId, 'power-on')
  await changed(app, vm.extId, 'power-off')
  assert.equal(addressOf(await readVm(app, vm.extId)), '10.0.0.10')
  await changed(app, vm.extId, 'delete')
  assert.equal(await assigned(), 0)
})

test('a requested address may lie outside the pools, but outside the subnet or in use it is 409', async () => {
  assert.equal(addressOf(await aVm(app, cluster, asking(managed, address('10.0.0.200')))), '10.0.0.200')
  const taken = await postVm(app, cluster, asking(managed, address('10.0.0.200')))
  assert.deepEqual([taken.status, taken.errors[0]?.code], [409, 'VMM-30106'])
  const outside = await postVm(app, cluster, asking(managed, address('10.9.9.9')))
  assert.deepEqual([outside.status, outside.errors[0]?.code], [409, 'VMM-40003'])
})

test('when two VMs are created with the same address at the same time, one succeeds', async () => {
  const both = await Promise.all([1, 2].map(() => postVm(app, cluster, asking(managed, address('10.0.0.201')))))
  assert.deepEqual(both.map(({ status }) => status).sort(), [202, 409])
  for (const each of both) if (each.status === 202) assert.equal((await app.task(each)).status, 'SUCCEEDED')
})

test('when NICs of two VMs request one address at the same time, exactly one gets it, whichever field names it, and the loser leaves nothing', async () => {
  const subnet = await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.99'])
  const value = '10.0.0.77'
  const $objectType = 'vmm.v4.ahv.config.VirtualEthernetNicNetworkInfo'
  const wishes = {
    'old pair': nicOn(subnet, { ipv4Config: address(value) }),
    'new pair': { nicNetworkInfo: { $objectType, subnet: { extId: subnet }, ipv4Config: address(value) } },
    'secondary address': nicOn(subnet, {
      ipv4Config: { ...address('10.0.0.78'), secondaryIpAddressList: [{ value }] },
    }),
  }
  for (const [first, one] of Object.entries(wishes)) {
    for (const [second, other] of Object.entries(wishes)) {
      const macs = await app.store.count(MacLease)
      const sent = await Promise.all([one, other].map((nic) => postVm(app, cluster, { nics: [nic] })))
      assert.deepEqual(sent.map(({ status }) => status).sort(), [202, 409], `${first}, ${second}`)
      const winner = await app.task(sent.find(({ status }) => status === 202)!)
      assert.equal(winner.status, 'SUCCEEDED')
      assert.equal(await app.store.count(MacLease), macs + 1)
      assert.equal((await changed(app, winner.entitiesAffected[0].extId, 'delete')).status, 'SUCCEEDED')
      assert.equal((await app.store.findWhere(AddressLease, { subnetExtId: subnet })).length, 0)
    }
  }
})

test('when two VMs are created with the same MAC address at the same time, one succeeds', async () => {
  const nics = [{ ...nicOn(managed), backingInfo: { macAddress: '02:00:00:00:77:01' } }]
  const both = await Promise.all([1, 2].map(() => postVm(app, cluster, { nics })))
  assert.deepEqual(both.map(({ status }) => status).sort(), [202, 409])
  assert.equal((await app.task(both.find(({ status }) => status === 202)!)).status, 'SUCCEEDED')
})

test('when one VM requests the address that another would be assigned, both get an address, and different ones', async () => {
  const subnet = await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.99'])
  const [asked, given] = await Promise.all([
    postVm(app, cluster, asking(subnet, address('10.0.0.10'))),
    postVm(app, cluster, { nics: [nicOn(subnet)] }),
  ])
  const ends = [await app.task(asked), await app.task(given)]
  assert.deepEqual(
    ends.map(({ status }) => status),
    ['SUCCEEDED', 'SUCCEEDED'],
  )
  const vmsMade = await Promise.all(ends.map(({ entitiesAffected }) => readVm(app, entitiesAffected[0].extId)))
  assert.deepEqual(vmsMade.map(addressOf), ['10.0.0.10', '10.0.0.11'])
})

test('a request for the address of the gateway, the DHCP server, either end of the subnet or a reserved address is refused', async () => {
  const inside = await startApp()
  const native = { extId: seedId('cluster/hp-native-01') } as NativeCluster
  const ipConfig = [
    {
      ipv4: {
        ipSubnet: { ip: { value: '10.70.0.0' }, prefixLength: 24 },
        defaultGatewayIp: { value: '10.70.0.1' },
        dhcpServerAddress: { value: '10.70.0.254' },
        poolList: [{ startIp: { value: '10.70.0.10' }, endIp: { value: '10.70.0.99' } }],
      },
    },
  ]
  const subnets = '/networking/v4.3/config/subnets'
  const started = await inside.call('POST', subnets, {
    requestId: randomUUID(),
    body: { name: 'guarded', subnetType: 'VLAN', networkId: 3077, clusterReference: native.extId, ipConfig },
  })
  const subnet = (await inside.task(started)).entitiesAffected[0].extId
  const reserve = { reserveType: 'IP_ADDRESS_LIST', ipAddresses: [{ ipv4: { value: '10.70.0.20' } }] }
  const path = `${subnets}/${subnet}/addresses/$actions/reserve`
  const reserved = await inside.task(await inside.call('POST', path, { body: reserve, requestId: randomUUID() }))
  assert.equal(reserved.status, 'SUCCEEDED', JSON.stringify(reserved.errorMessages))
  for (const value of ['10.70.0.1', '10.70.0.254', '10.70.0.0', '10.70.0.255', '10.70.0.20']) {
    assert.equal((await postVm(inside, native, asking(subnet, address(value)))).status, 409, value)
  }
  assert.equal((await postVm(inside, native, asking(subnet, address('10.70.0.21')))).status, 202)
  await inside.close()
})

test('creating a VM with three NICs on a pool of two addresses fails and leaves no NIC, MAC or address', async () => {
  const subnet = await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.11'])
  const macs = await app.store.count(MacLease)
  const task = await app.task(await postVm(app, cluster, { nics: [nicOn(subnet), nicOn(subnet), nicOn(subnet)] }))
  assert.deepEqual([task.status, task.errorMessages[0].code], ['FAILED', 'VMM-40003'])
  assert.equal(await app.store.count(MacLease), macs)
  assert.equal((await app.store.findWhere(AddressLease, { subnetExtId: subnet })).length, 0)
})

test('the third NIC on a pool of two addresses fails because the pool is exhausted, and leaves no NIC and no MAC', async () => {
  const subnet = await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.11'])
  const macs = await app.store.count(MacLease)
  const tasks = await Promise.all(
    [1, 2, 3].map(async () => app.task(await postVm(app, cluster, { nics: [nicOn(subnet)] }))),
  )
  const failed = tasks.filter(({ status }) => status === 'FAILED')
  assert.equal(failed.length, 1)
  assert.equal(failed[0].errorMessages[0].code, 'VMM-40003')
  assert.match(failed[0].errorMessages[0].message, /pool/)
  assert.equal(await app.store.count(MacLease), macs + 2)
  assert.equal((await app.store.findWhere(AddressLease, { subnetExtId: subnet })).length, 2)
})

test('shouldAssignIp false reserves no address and is not returned', async () => {
  const vm = await aVm(app, cluster, asking(managed, { shouldAssignIp: false }))
  assert.equal(vm.nics[0].networkInfo.ipv4Config, undefined)
})

test('secondary addresses are reserved with the first', async () => {
  const ipv4Config = {
    ...address('10.0.0.210'),
    secondaryIpAddressList: [{ value: '10.0.0.211' }, { value: '10.0.0.212' }],
  }
  const vm = await aVm(app, cluster, asking(managed, ipv4Config))
  assert.deepEqual(
    vm.nics[0].networkInfo.ipv4Config.secondaryIpAddressList.map(({ value }: any) => value),
    ['10.0.0.211', '10.0.0.212'],
  )
  assert.equal((await postVm(app, cluster, asking(managed, address('10.0.0.212')))).status, 409)
})

test('an unmanaged subnet assigns no address and refuses a requested one', async () => {
  const unmanaged = await aSubnet(app, cluster)
  const vm = await aVm(app, cluster, { nics: [nicOn(unmanaged)] })
  assert.equal(vm.nics[0].networkInfo.ipv4Config, undefined)
  assert.equal((await postVm(app, cluster, asking(unmanaged, address('10.0.0.5')))).status, 400)
})

test('a MAC address is unicast, stored in lower case, and unique in the deployment', async () => {
  const macAddress = '02-AB-CD-EF-00-01'
  const nics = [{ ...nicOn(managed), backingInfo: { macAddress } }]
  const vm = await aVm(app, cluster, { nics })
  assert.equal(vm.nics[0].backingInfo.macAddress, '02:ab:cd:ef:00:01')
  const twice = await postVm(app, cluster, { nics })
  assert.deepEqual([twice.status, twice.errors[0]?.code], [409, 'VMM-30106'])
  const multicast = [{ ...nicOn(managed), backingInfo: { macAddress: '01:00:5e:00:00:01' } }]
  assert.equal((await postVm(app, cluster, { nics: multicast })).status, 400)
})

test('all invalid NICs of a body are reported together, each with its path', async () => {
  const result = await postVm(app, cluster, {
    nics: [
      { networkInfo: {} },
      { networkInfo: { nicType: 'SPAN_DESTINATION_NIC', subnet: { extId: managed } } },
      { ...nicOn(managed), backingInfo: { numQueues: 2 } },
      nicOn(managed, { trunkedVlans: [5] }),
      nicOn(managed, { ipv4Config: { shouldAssignIp: false, ...address('10.0.0.50') } }),
    ],
  })
  assert.equal(result.status, 400)
  assert.deepEqual(
    result.errors.map((error) => error.argumentsMap?.['attributePath']),
    [
      'nics[0]/nicNetworkInfo/subnet',
      'nics[1]/nicNetworkInfo/subnet',
      'nics[2]/nicBackingInfo/numQueues',
      'nics[3]/nicNetworkInfo/trunkedVlans',
      'nics[4]/nicNetworkInfo/ipv4Config/shouldAssignIp',
    ],
  )
})

test('a NIC on a subnet of another cluster is 409, and a NIC with an unknown NIC profile is 404', async () => {
  const other = await aNativeCluster(app)
  const far = await aSubnet(app, other)
  assert.equal((await postVm(app, cluster, { nics: [nicOn(far)] })).status, 409)
  const $objectType = 'vmm.v4.ahv.config.SriovNic'
  const sriov = { nicBackingInfo: { $objectType, sriovProfileReference: { extId: randomUUID() } } }
  assert.equal((await postVm(app, cluster, { nics: [sriov] })).status, 404)
})

test('the list of NICs keeps the order of the body, supports paging, and filters by the subnet in either pair of fields', async () => {
  const second = await aSubnet(app, cluster)
  const vm = await aVm(app, cluster, { nics: [nicOn(managed), nicOn(second), nicOn(managed)] })
  const of = async (query: string): Promise<any> => app.call('GET', `${vms}/${vm.extId}/nics${query}`)
  assert.deepEqual(
    (await of('')).data.map(({ extId }: any) => extId),
    vm.nics.map(({ extId }: any) => extId),
  )
  assert.equal((await of('?$limit=2&$page=1')).data.length, 1)
  for (const pair of ['networkInfo', 'nicNetworkInfo']) {
    const { data, total } = await of(`?$filter=${pair}/subnet/extId eq '${second}'`)
    assert.deepEqual([total, data[0].extId], [1, vm.nics[1].extId])
  }
  assert.equal((await of(`/${randomUUID()}`)).status, 404)
})

test('the subnet lists the NIC with its addresses, learned ones included', async () => {
  const subnet = await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.20'])
  const vm = await aVm(app, cluster, { disks: [bootDisk(cluster)], nics: [nicOn(subnet)] })
  await changed(app, vm.extId, 'power-on')
  await app.clock.advance(1000)
  const [vnic] = (await app.call('GET', `/networking/v4.3/config/subnets/${subnet}/vnics`)).data
  assert.deepEqual(
    [vnic.extId, vnic.vmReference, vnic.macAddress],
    [vm.nics[0].extId, vm.extId, vm.nics[0].backingInfo.macAddress],
  )
  assert.equal(vnic.learnedIpv4Addresses[0].ipv4.value, '10.0.0.10')
})
