/** Subnets and the NICs of real virtual machines. Source: behaviour networking.md 1.2, 1.3, 3.5, 5 (5, 10, 14 to 17). */

import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { ids } from '../../support/clustermgmt.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { aVm, bootDisk, changed, type NativeCluster, nicOn, postVm, readVm } from '../../support/native-cluster.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { addressesOfTask, aSubnet, ipConfigOf, recount, reserve, unreserve, usageOf } from '../../support/subnets.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
afterEach(async () => {
  await recount(app)
  await checkInvariants(app)
})
after(() => app.close())

const cluster = { extId: ids.native, imageExtId: seedId('image/ubuntu-24.04.qcow2') } as NativeCluster
const ten = { ipv4: '10.20.0.0/24', pools: [['10.20.0.10', '10.20.0.19']] } as const
const one = { reserveType: 'IP_ADDRESS_COUNT', count: 1 }
const idOf = (path: string): string => path.slice(-36)
const addressOf = (vm: any): string | undefined => vm.nics[0].networkInfo.ipv4Config?.ipAddress?.value
const aVmOn = (subnet: string, name = 'guest', network: object = {}): Promise<any> =>
  aVm(app, cluster, { name, disks: [bootDisk(cluster)], nics: [nicOn(idOf(subnet), network)] })

async function put(path: string, changes: object): Promise<CallResult> {
  const { data, etag } = await app.call('GET', path)
  return app.call('PUT', path, { body: { ...data, ...changes }, ifMatch: etag as string })
}

test('with concurrent reservations and VM creations no address is both reserved and assigned, and none is leaked', async () => {
  const subnet = await aSubnet(app, ten)
  const nics = [nicOn(idOf(subnet))]
  const [reserved, tasks] = await Promise.all([
    Promise.all(Array.from({ length: 8 }, () => reserve(app, subnet, one))),
    Promise.all(
      Array.from({ length: 8 }, async (_, index) =>
        app.task(await postVm(app, cluster, { name: `racer-${index}`, nics })),
      ),
    ),
  ])
  const kept = (
    await Promise.all(reserved.filter(({ status }) => status === 202).map((task) => addressesOfTask(app, task)))
  ).flat()
  const made = tasks.filter(({ status }) => status === 'SUCCEEDED')
  const held = await Promise.all(made.map(async (task) => addressOf(await readVm(app, task.entitiesAffected[0].extId))))
  assert.equal(kept.length + held.length, 10)
  assert.equal(new Set([...kept, ...held]).size, 10)
  const usage = await usageOf(app, subnet)
  assert.deepEqual([usage.numFreeIPs, usage.numAssignedIPs, usage.numMacs], [0, held.length, held.length])
  for (const task of tasks) if (task.status === 'FAILED') assert.ok(task.errorMessages.length > 0)
})

test('an address that a NIC holds cannot be unreserved, and the NIC keeps it', async () => {
  const subnet = await aSubnet(app, ten)
  const vm = await aVmOn(subnet)
  const ipAddresses = [{ ipv4: { value: addressOf(vm) } }]
  const refused = await unreserve(app, subnet, { unreserveType: 'IP_ADDRESS_LIST', ipAddresses })
  assert.equal(refused.status, 409)
  assert.equal(addressOf(await readVm(app, vm.extId)), addressOf(vm))
  assert.equal((await usageOf(app, subnet)).numAssignedIPs, 1)
})

test('a VM keeps its address through power-off and power-on, and its deletion frees the address for the next VM', async () => {
  const subnet = await aSubnet(app, ten)
  const vm = await aVmOn(subnet)
  assert.equal(addressOf(vm), '10.20.0.10')
  for (const what of ['power-on', 'power-off', 'power-on'] as const)
    assert.equal((await changed(app, vm.extId, what)).status, 'SUCCEEDED')
  assert.equal(addressOf(await readVm(app, vm.extId)), '10.20.0.10')
  await app.clock.advance(60_000)
  const [nic] = (await app.call('GET', `${subnet}/vnics`)).data
  assert.deepEqual(
    [nic.vmReference, nic.assignedIpv4Addresses, nic.learnedIpv4Addresses],
    [vm.extId, [{ ipv4: { value: '10.20.0.10', prefixLength: 32 } }], nic.assignedIpv4Addresses],
  )
  await changed(app, vm.extId, 'power-off')
  assert.equal((await app.call('GET', `${subnet}/vnics`)).data[0].learnedIpv4Addresses, undefined)
  await changed(app, vm.extId, 'delete')
  assert.equal((await usageOf(app, subnet)).numFreeIPs, 10)
  assert.equal(addressOf(await aVmOn(subnet)), '10.20.0.10')
})

test('deleting a subnet with a NIC is refused naming the VM, and succeeds with only reservations', async () => {
  const subnet = await aSubnet(app, ten)
  const vm = await aVmOn(subnet, 'holder')
  await reserve(app, subnet, one)
  const refused = await app.call('DELETE', subnet)
  assert.deepEqual([refused.status, refused.errors[0]?.errorGroup], [409, 'ENTITY_IN_USE'])
  assert.match(refused.errors[0]?.message ?? '', /VM holder/)
  await changed(app, vm.extId, 'delete')
  assert.equal((await app.task(await app.call('DELETE', subnet))).status, 'SUCCEEDED')
  assert.equal((await app.call('GET', subnet)).status, 404)
})

test('shrinking a prefix so that it excludes the address of a NIC is 409 naming the holder, and changes nothing', async () => {
  const subnet = await aSubnet(app, ten)
  await aVmOn(subnet, 'high', { ipv4Config: { shouldAssignIp: true, ipAddress: { value: '10.20.0.200' } } })
  const before = await app.call('GET', subnet)
  const refused = await put(subnet, { ipConfig: ipConfigOf({ ...ten, ipv4: '10.20.0.0/26' }) })
  assert.equal(refused.status, 409)
  assert.match(refused.errors[0]?.message ?? '', /10\.20\.0\.200/)
  const after = await app.call('GET', subnet)
  assert.deepEqual([after.etag, after.data], [before.etag, before.data])
})

test('a NIC that gets an address between GET and PUT does not fail the PUT', async () => {
  const subnet = await aSubnet(app, ten)
  const { data, etag } = await app.call('GET', subnet)
  await aVmOn(subnet)
  const started = await app.call('PUT', subnet, { body: { ...data, name: 'renamed' }, ifMatch: etag as string })
  assert.equal((await app.task(started)).status, 'SUCCEEDED')
})

test('the VLAN id and the switch of a subnet with a NIC cannot be changed', async () => {
  const subnet = await aSubnet(app, ten)
  await aVmOn(subnet, 'plugged')
  for (const changes of [{ networkId: 8 }, { virtualSwitchReference: await switchCalled('vs1') }]) {
    const refused = await put(subnet, changes)
    assert.equal(refused.status, 409, JSON.stringify(changes))
    assert.match(refused.errors[0]?.message ?? '', /VM plugged/)
  }
  const free = await aSubnet(app, ten)
  const moved = await app.task(
    await put(free, { networkId: 8, virtualSwitchReference: await switchCalled('vs1'), bridgeName: undefined }),
  )
  assert.equal(moved.status, 'SUCCEEDED')
  const { networkId, bridgeName } = (await app.call('GET', free)).data
  assert.deepEqual([networkId, bridgeName], [8, 'br1'])
})

const switchCalled = async (name: string): Promise<string> =>
  (await app.call('GET', `/networking/v4.3/config/virtual-switches?$filter=name eq '${name}'`)).data[0].extId

test('a VLAN that becomes managed assigns to its guests the addresses they were seen with, if these fit and are free', async () => {
  const task = await app.task(
    await app.call('POST', '/networking/v4.3/config/subnets', {
      body: { name: 'wild', subnetType: 'VLAN', networkId: 77 },
    }),
  )
  const subnet = `/networking/v4.3/config/subnets/${task.entitiesAffected[0].extId}`
  const vms = [await aVmOn(subnet, 'wild-1'), await aVmOn(subnet, 'wild-2'), await aVmOn(subnet, 'silent')]
  for (const vm of vms.slice(0, 2)) await changed(app, vm.extId, 'power-on')
  await app.clock.advance(60_000)
  const seen = new Map<string, string>()
  for (const nic of (await app.call('GET', `${subnet}/vnics`)).data) {
    if (nic.learnedIpv4Addresses !== undefined) seen.set(nic.vmReference, nic.learnedIpv4Addresses[0].ipv4.value)
  }
  assert.equal(seen.size, 2)
  const [, network] = [...seen.values()][0]?.split('.') ?? []
  const tag = (await app.call('GET', `/vmm/v4.2/ahv/config/vms/${vms[0].extId}`)).etag
  const managed = await app.task(await put(subnet, { ipConfig: ipConfigOf({ ipv4: `10.${network}.0.0/16` }) }))
  assert.equal(managed.status, 'SUCCEEDED', JSON.stringify(managed.errorMessages))
  const assigned = new Map<string, string | undefined>(
    (await app.call('GET', `${subnet}/vnics`)).data.map((nic: any) => [
      nic.vmReference,
      nic.assignedIpv4Addresses?.[0].ipv4.value,
    ]),
  )
  for (const [vm, address] of seen) {
    assert.equal(assigned.get(vm), address)
    assert.equal(addressOf(await readVm(app, vm)), address)
  }
  assert.equal(assigned.get(vms[2].extId), undefined)
  assert.equal((await usageOf(app, subnet)).numAssignedIPs, 2)
  assert.equal((await app.call('GET', `/vmm/v4.2/ahv/config/vms/${vms[0].extId}`)).etag, tag)
})

test('a NIC beyond the limit of its subnet is 422 naming the limit, and accepted after a VM is deleted', async () => {
  const full = await startApp({ limits: { nicsOfSubnet: 3 } })
  try {
    const subnet = await aSubnet(full, ten)
    const nic = nicOn(idOf(subnet))
    const two = await aVm(full, cluster, { name: 'two', nics: [nic, nic] })
    const beyond = await postVm(full, cluster, { name: 'beyond', nics: [nic, nic] })
    assert.deepEqual([beyond.status, beyond.errors[0]?.errorGroup], [422, 'LIMIT_EXCEEDED'])
    assert.match(beyond.errors[0]?.message ?? '', /NICs of subnet test.*3.*4/)
    await aVm(full, cluster, { name: 'last', nics: [nic] })
    assert.equal((await postVm(full, cluster, { name: 'one more', nics: [nic] })).status, 422)
    assert.equal((await usageOf(full, subnet)).numMacs, 3)
    await changed(full, two.extId, 'delete')
    await aVm(full, cluster, { name: 'after', nics: [nic] })
    await checkInvariants(full)
  } finally {
    await full.close()
  }
})

test('a subnet, and a reserved address of a subnet, beyond the limit is 422', async () => {
  const full = await startApp({ limits: { reservedAddressesOfSubnet: 4 } })
  try {
    const subnet = await aSubnet(full, ten)
    assert.equal((await reserve(full, subnet, { ...one, count: 4 })).status, 202)
    const beyond = await reserve(full, subnet, one)
    assert.deepEqual([beyond.status, beyond.errors[0]?.code], [422, 'NETWORKING-10090'])
    const other = await aSubnet(full, { ipv4: '10.77.0.0/24' })
    const ipAddresses = Array.from({ length: 5 }, (_, at) => ({ ipv4: { value: `10.77.0.${at + 10}` } }))
    const listed = await reserve(full, other, { reserveType: 'IP_ADDRESS_LIST', ipAddresses })
    assert.deepEqual([listed.status, listed.errors[0]?.code], [422, 'NETWORKING-10090'])
  } finally {
    await full.close()
  }
  const first = await startApp()
  const { total } = await first.call('GET', '/networking/v4.3/config/subnets')
  await first.close()
  const crowded = await startApp({ limits: { subnets: (total as number) + 1 } })
  try {
    await aSubnet(crowded, ten)
    const beyond = await crowded.call('POST', '/networking/v4.3/config/subnets', {
      body: { name: 'beyond', subnetType: 'VLAN' },
    })
    assert.deepEqual([beyond.status, beyond.errors[0]?.errorGroup], [422, 'LIMIT_EXCEEDED'])
  } finally {
    await crowded.close()
  }
})
