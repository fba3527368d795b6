/** Changes of the NICs of an existing VM. Source: behaviour vmm.md 1.0, 1.4, 1.16, 2, 3.3, 3.8, 5, 6; networking.md 1.3, 1.8. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { AddressLease } from '@hyperplane/contract/networking/address-lease'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { brokenInvariants } from '../../../src/domains/invariants/invariants.ts'
import { MacLease } from '../../../src/domains/virtual-machines/mac-lease.ts'
import { domainFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { routingFacts } from '../../../src/drivers/simulated/virtual-routing.ts'
import { ids } from '../../support/clustermgmt.ts'
import { aFault, noFaults, unavailable } from '../../support/faults.ts'
import { aUser } from '../../support/identities.ts'
import { checkInvariants } from '../../support/invariants.ts'
import {
  aNativeCluster,
  aSubnet,
  aVm,
  bootDisk,
  change,
  changed,
  type NativeCluster,
  nicOn,
  readVm,
  tagOf,
} from '../../support/native-cluster.ts'
import { type CallOptions, type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { floatingIps, made } from '../../support/vpcs.ts'

let app: TestApp
let cluster: NativeCluster
/** No step of a task begins before this is resolved. */
let gate: Promise<void> | undefined
before(async () => {
  app = await startApp({ config: { seed: 'empty' }, beforeStep: () => gate })
  cluster = await aNativeCluster(app)
})
after(() => app.close())

async function whileTasksWait<T>(work: () => Promise<T>): Promise<T> {
  let open = (): void => undefined
  gate = new Promise((resolve) => (open = resolve))
  try {
    return await work()
  } finally {
    gate = undefined
    open()
  }
}

const vms = '/vmm/v4.2/ahv/config/vms'
const subnets = '/networking/v4.3/config/subnets'
const pathOf = (vm: string, nic = ''): string => `${vms}/${vm}/nics${nic === '' ? '' : `/${nic}`}`

/** Sends a mutation with the current tag of the VM. */
async function send(method: string, path: string, body?: object, options: CallOptions = {}, on = app) {
  const vm = path.slice(vms.length + 1).split('/')[0] as string
  return on.call(method, path, { requestId: randomUUID(), ifMatch: await tagOf(on, vm), body, ...options })
}
const post = (vm: string, body: object, options: CallOptions = {}) => send('POST', pathOf(vm), body, options)
const put = (vm: string, nic: string, body: object, options: CallOptions = {}) =>
  send('PUT', pathOf(vm, nic), body, options)
const remove = (vm: string, nic: string, options: CallOptions = {}) =>
  send('DELETE', pathOf(vm, nic), undefined, options)
const act = (vm: string, nic: string, action: string, body?: object, options: CallOptions = {}) =>
  send('POST', `${pathOf(vm, nic)}/$actions/${action}`, body, options)
const assign = (vm: string, nic: string, value?: string) =>
  act(vm, nic, 'assign-ip', value === undefined ? {} : ip(value))
const release = (vm: string, nic: string) => act(vm, nic, 'release-ip')
const migrate = (vm: string, nic: string, subnet: string, migrateType: string, more: object = {}) =>
  act(vm, nic, 'migrate', { subnet: { extId: subnet }, migrateType, ...more })

const ended = async (sent: CallResult | Promise<CallResult>): Promise<any> => app.task(await sent)
async function succeeded(sent: CallResult | Promise<CallResult>): Promise<any> {
  const task = await ended(sent)
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return task
}
/** @returns its id */
const aNic = async (vm: string, body: object): Promise<string> =>
  (await succeeded(post(vm, body))).entitiesAffected[0].extId
const refusal = ({ status, errors }: CallResult): unknown[] => [status, errors[0]?.code]
const failure = ({ status, errorMessages }: any): unknown[] => [status, errorMessages?.[0]?.code]

const ip = (value: string) => ({ ipAddress: { value } })
const asking = (subnet: string, value: string) => nicOn(subnet, { ipv4Config: ip(value) })
const nicsOf = async (vm: string): Promise<any[]> => (await app.call('GET', pathOf(vm))).data
const read = async (vm: string, nic: string): Promise<any> => (await app.call('GET', pathOf(vm, nic))).data
const addressIn = (nic: any): string | undefined => nic.networkInfo.ipv4Config?.ipAddress.value
const addressOf = async (vm: string, nic: string): Promise<string | undefined> => addressIn(await read(vm, nic))
const learnedBy = async (vm: string, nic: string): Promise<string[] | undefined> =>
  (await read(vm, nic)).networkInfo.ipv4Info?.learnedIpAddresses?.map(({ value }: any) => value)
const usageOf = async (subnet: string): Promise<any> => (await app.call('GET', `${subnets}/${subnet}`)).data.ipUsage
const assignedOn = async (subnet: string): Promise<number> => (await usageOf(subnet)).numAssignedIPs
const realNic = (vm: string, nic: string): any =>
  domainFacts(app.world)
    .get(vm)
    ?.domain.nics.find(({ extId }) => extId === nic)
/** Everything that a failed task must leave as it was. */
const stateOf = async (vm: string) => ({
  nics: await nicsOf(vm),
  real: domainFacts(app.world).get(vm)?.domain.nics,
  macs: await app.store.findWhere(MacLease, { vmExtId: vm }),
  leases: (await app.store.find(AddressLease)).map(({ extId: _, since: __, ...lease }) => lease),
})
const pool = (last = '10.0.0.99') => aSubnet(app, cluster, ['10.0.0.10', last])

/** Both pairs of fields are equal. */
function checkMirror(nic: any): void {
  for (const [old, recent] of [
    [nic.backingInfo, nic.nicBackingInfo],
    [nic.networkInfo, nic.nicNetworkInfo],
  ]) {
    const { $objectType: _, ...rest } = recent
    assert.deepEqual(rest, old)
  }
}

for (const powerState of ['OFF', 'ON'])
  test(`a VM that is ${powerState} gets a NIC with a MAC address and an address at once, and releases both with the NIC`, async () => {
    const subnet = await pool()
    const { extId: vm } = await aVm(app, cluster, { disks: [bootDisk(cluster)] })
    if (powerState === 'ON') await changed(app, vm, 'power-on')
    const nic = await aNic(vm, nicOn(subnet))
    const shown = await read(vm, nic)
    checkMirror(shown)
    assert.match(shown.backingInfo.macAddress, /^50:6b:8d(:[0-9a-f]{2}){3}$/)
    assert.equal(addressIn(shown), '10.0.0.10')
    assert.deepEqual((await readVm(app, vm)).nics, [shown])
    const { macAddress, address, model } = realNic(vm, nic)
    assert.deepEqual([macAddress, address, model], [shown.backingInfo.macAddress, '10.0.0.10', 'VIRTIO'])
    assert.deepEqual([await assignedOn(subnet), (await usageOf(subnet)).numMacs], [1, 1])
    await app.clock.advance(1000)
    assert.deepEqual(await learnedBy(vm, nic), powerState === 'ON' ? ['10.0.0.10'] : undefined)
    const inUse = await app.call('DELETE', `${subnets}/${subnet}`)
    assert.deepEqual([inUse.status, /VM vm/.test(inUse.errors[0]!.message)], [409, true])

    await succeeded(remove(vm, nic))
    assert.deepEqual([await nicsOf(vm), realNic(vm, nic)], [[], undefined])
    assert.deepEqual([await assignedOn(subnet), (await usageOf(subnet)).numMacs], [0, 0])
    assert.equal(await app.store.get(MacLease, nic), undefined)
    assert.equal(
      await aNic(vm, { ...nicOn(subnet), backingInfo: { macAddress } }).then((id) => addressOf(vm, id)),
      '10.0.0.10',
    )
    await checkInvariants(app)
  })

test('each task names the NIC first and then its VM, and shows its steps', async () => {
  const [subnet, other] = [await pool(), await pool()]
  const { extId: vm, name } = await aVm(app, cluster)
  const created = await succeeded(post(vm, nicOn(subnet)))
  const nic = created.entitiesAffected[0].extId
  const readdressing = ['reserve new', 'switch', 'release old']
  for (const [task, operation, steps] of [
    [created, 'CreateNic', ['MAC', 'address', 'plug', 'store']],
    [await succeeded(put(vm, nic, nicOn(subnet))), 'UpdateNic', readdressing],
    [await succeeded(assign(vm, nic)), 'AssignIp', readdressing],
    [await succeeded(migrate(vm, nic, other, 'ASSIGN_IP')), 'MigrateNic', readdressing],
    [await succeeded(release(vm, nic)), 'ReleaseIp', readdressing],
    [await succeeded(remove(vm, nic)), 'DeleteNic', ['unplug', 'address and MAC', 'store']],
  ] as const) {
    assert.equal(task.operation, operation)
    assert.deepEqual(
      task.entitiesAffected.map(({ extId, rel, name }: any) => [extId, rel, name]),
      [
        [nic, 'vmm:ahv:config:vm:nic', undefined],
        [vm, 'vmm:ahv:config:vm', name],
      ],
    )
    assert.deepEqual(
      task.subSteps.map((step: any) => step.name),
      steps,
    )
  }
})

test('a requested address or MAC address that is taken is 409 at once; an address outside the subnet is 409', async () => {
  const subnet = await pool()
  const { extId: vm } = await aVm(app, cluster, { nics: [asking(subnet, '10.0.0.50')] })
  const [holder] = await nicsOf(vm)
  const { extId: other } = await aVm(app, cluster)
  const macAddress = holder.backingInfo.macAddress.toUpperCase()
  for (const to of [vm, other]) {
    const before = await stateOf(to)
    assert.deepEqual(refusal(await post(to, asking(subnet, '10.0.0.50'))), [409, 'VMM-30106'])
    assert.deepEqual(refusal(await post(to, { ...nicOn(subnet), backingInfo: { macAddress } })), [409, 'VMM-30106'])
    assert.deepEqual(refusal(await post(to, asking(subnet, '10.9.9.9'))), [409, 'VMM-40003'])
    assert.deepEqual(await stateOf(to), before)
  }
})

test('of two VMs that request one address for a NIC concurrently, exactly one succeeds', async () => {
  const subnet = await pool()
  const machines = [await aVm(app, cluster), await aVm(app, cluster)]
  const tasks = []
  for (const sent of await whileTasksWait(() =>
    Promise.all(machines.map(({ extId }) => post(extId, asking(subnet, '10.0.0.60')))),
  )) {
    assert.equal(sent.status, 202)
    tasks.push(await app.task(sent))
  }
  assert.deepEqual(tasks.map(({ status }) => status).sort(), ['FAILED', 'SUCCEEDED'])
  assert.deepEqual(failure(tasks.find(({ status }) => status === 'FAILED')), ['FAILED', 'VMM-30106'])
  assert.equal(await assignedOn(subnet), 1)
  assert.equal((await Promise.all(machines.map(({ extId }) => nicsOf(extId)))).flat().length, 1)
})

test('the third NIC on a pool of two addresses fails because the pool is exhausted, and leaves no NIC and no MAC address', async () => {
  const subnet = await pool('10.0.0.11')
  const { extId: vm } = await aVm(app, cluster)
  for (const _ of [1, 2]) await aNic(vm, nicOn(subnet))
  const before = await stateOf(vm)
  const task = await ended(post(vm, nicOn(subnet)))
  assert.deepEqual(failure(task), ['FAILED', 'VMM-40003'])
  assert.match(task.errorMessages[0].message, /pool/)
  assert.deepEqual(await stateOf(vm), before)
  await succeeded(remove(vm, before.nics[0].extId))
  assert.equal(await addressOf(vm, await aNic(vm, nicOn(subnet))), '10.0.0.10')
})

test('faults of a body are reported together; a fault between a NIC and its VM or subnet is 400 as well', async () => {
  const [managed, unmanaged] = [await pool(), await aSubnet(app, cluster)]
  const { extId: vm } = await aVm(app, cluster, { nics: [nicOn(managed)] })
  const [{ extId: nic }] = await nicsOf(vm)
  const broken = { networkInfo: { trunkedVlans: [4] }, backingInfo: { macAddress: '01:00:5e:00:00:01' } }
  for (const sent of [await post(vm, broken), await put(vm, nic, broken)])
    assert.deepEqual(
      [sent.status, sent.errors.map((error) => error.argumentsMap?.['attributePath'])],
      [400, ['nicBackingInfo/macAddress', 'nicNetworkInfo/subnet', 'nicNetworkInfo/trunkedVlans']],
    )
  for (const sent of [
    await post(vm, { ...nicOn(managed), backingInfo: { numQueues: 2 } }),
    await post(vm, asking(unmanaged, '10.0.0.5')),
    await put(vm, nic, { ...nicOn(managed), backingInfo: { macAddress: '02:00:00:00:00:09' } }),
    await migrate(vm, nic, unmanaged, 'ASSIGN_IP'),
    await migrate(vm, nic, managed, 'RELEASE_IP', ip('10.0.0.40')),
    await act(vm, nic, 'migrate', { subnet: {}, migrateType: 'RELEASE_IP' }),
  ])
    assert.equal(sent.status, 400, JSON.stringify(sent.data))
  const $objectType = 'vmm.v4.ahv.config.SriovNic'
  const sriov = { nicBackingInfo: { $objectType, sriovProfileReference: { extId: randomUUID() } } }
  for (const sent of [await post(vm, sriov), await put(vm, nic, sriov)]) assert.equal(sent.status, 404)
})

test('a subnet of another cluster is 409, one that does not exist is 404, also as the target of a migration', async () => {
  const far = await aSubnet(app, await aNativeCluster(app))
  const { extId: vm } = await aVm(app, cluster, { nics: [nicOn(await pool())] })
  const [{ extId: nic }] = await nicsOf(vm)
  for (const [subnet, status] of [
    [far, 409],
    [randomUUID(), 404],
  ] as const)
    for (const sent of [
      await post(vm, nicOn(subnet)),
      await put(vm, nic, nicOn(subnet)),
      await migrate(vm, nic, subnet, 'RELEASE_IP'),
    ])
      assert.equal(sent.status, status)
})

test('PUT with only one pair of fields changes both; the MAC address and the address stay', async () => {
  const subnet = await pool()
  const { extId: vm } = await aVm(app, cluster, { numSockets: 2, nics: [nicOn(subnet)] })
  const [before] = await nicsOf(vm)
  const nicNetworkInfo = {
    $objectType: 'vmm.v4.ahv.config.VirtualEthernetNicNetworkInfo',
    subnet: { extId: subnet },
    shouldAllowUnknownMacs: true,
  }
  const nicBackingInfo = { $objectType: 'vmm.v4.ahv.config.VirtualEthernetNic', model: 'E1000', numQueues: 2 }
  await succeeded(put(vm, before.extId, { nicNetworkInfo, nicBackingInfo }))
  const recent = await read(vm, before.extId)
  checkMirror(recent)
  const { macAddress } = before.backingInfo
  assert.deepEqual(recent.backingInfo, { isConnected: true, macAddress, model: 'E1000', numQueues: 2 })
  assert.deepEqual(recent.networkInfo, { ...before.networkInfo, shouldAllowUnknownMacs: true })
  const { model, numQueues, allowsUnknownMacs } = realNic(vm, before.extId)
  assert.deepEqual([model, numQueues, allowsUnknownMacs], ['E1000', 2, true])

  await succeeded(
    put(vm, before.extId, { networkInfo: { subnet: { extId: subnet }, vlanMode: 'TRUNK', trunkedVlans: [5, 7] } }),
  )
  const old = await read(vm, before.extId)
  checkMirror(old)
  assert.deepEqual([old.backingInfo.model, old.networkInfo.trunkedVlans], ['VIRTIO', [5, 7]])
  assert.deepEqual(realNic(vm, before.extId).trunkedVlans, [5, 7])
  assert.equal(addressIn(old), addressIn(before))
})

test('a PUT of a NIC as it was read changes nothing', async () => {
  const subnet = await pool()
  const ipv4Config = {
    ipAddress: { value: '10.0.0.40', prefixLength: 24 },
    secondaryIpAddressList: [{ value: '10.0.0.41' }],
  }
  const { extId: vm } = await aVm(app, cluster, { disks: [bootDisk(cluster)], nics: [nicOn(subnet, { ipv4Config })] })
  await changed(app, vm, 'power-on')
  await app.clock.advance(1000)
  const before = await stateOf(vm)
  assert.deepEqual(await learnedBy(vm, before.nics[0].extId), ['10.0.0.40'])
  await succeeded(put(vm, before.nics[0].extId, before.nics[0]))
  assert.deepEqual(await stateOf(vm), before)
  const [stored] = (await app.store.get(Vm, vm))?.nics ?? []
  assert.equal(stored?.networkInfo?.ipv4Info, undefined)
})

test('PUT changes the addresses: to a requested one, to secondary ones, to none, or to the next one of the pools', async () => {
  const subnet = await pool()
  const { extId: vm } = await aVm(app, cluster, { nics: [nicOn(subnet)] })
  const [{ extId: nic }] = await nicsOf(vm)
  const held = async (): Promise<unknown[]> =>
    (await app.store.findWhere(AddressLease, { holderExtId: nic }))
      .map(({ kind, address }) => `${kind} ${Number.parseInt(address!.slice(-2), 16)}`)
      .sort()
  const change = (ipv4Config: object) => put(vm, nic, nicOn(subnet, { ipv4Config }))
  for (const [ipv4Config, leases] of [
    [
      { ...ip('10.0.0.70'), secondaryIpAddressList: [{ value: '10.0.0.71' }] },
      ['ASSIGNED 70', 'ASSIGNED_SECONDARY 71'],
    ],
    // The two addresses change their places.
    [
      { ...ip('10.0.0.71'), secondaryIpAddressList: [{ value: '10.0.0.70' }] },
      ['ASSIGNED 71', 'ASSIGNED_SECONDARY 70'],
    ],
    [{ shouldAssignIp: true }, ['ASSIGNED 71']],
    [{ shouldAssignIp: false }, []],
    [{ shouldAssignIp: true }, ['ASSIGNED 10']],
  ] as const) {
    await succeeded(change(ipv4Config))
    assert.deepEqual(await held(), leases)
    assert.equal(await assignedOn(subnet), leases.length)
    checkMirror(await read(vm, nic))
  }
  await succeeded(change({ shouldAssignIp: false }))
  await succeeded(put(vm, nic, nicOn(subnet)))
  assert.deepEqual(await held(), [], 'a NIC without an address keeps none when the body names none')
  await checkInvariants(app)
})

test('PUT with another subnet moves the NIC, and releases its addresses on the former one', async () => {
  const [first, second] = [await pool(), await pool()]
  const { extId: vm } = await aVm(app, cluster, { nics: [asking(first, '10.0.0.30')] })
  const [before] = await nicsOf(vm)
  await succeeded(put(vm, before.extId, nicOn(second)))
  const after = await read(vm, before.extId)
  assert.deepEqual([addressIn(after), after.backingInfo.macAddress], ['10.0.0.10', before.backingInfo.macAddress])
  assert.deepEqual([await assignedOn(first), await assignedOn(second)], [0, 1])
  assert.deepEqual([(await usageOf(first)).numMacs, (await usageOf(second)).numMacs], [0, 1])
  assert.equal((await app.call('DELETE', `${subnets}/${first}`)).status, 202)
  assert.equal((await app.call('DELETE', `${subnets}/${second}`)).status, 409)
})

test('model, queues and type of a NIC change only while its VM is OFF', async () => {
  const subnet = await pool()
  const { extId: vm } = await aVm(app, cluster, { numSockets: 2, nics: [nicOn(subnet)] })
  const [{ extId: nic }] = await nicsOf(vm)
  await changed(app, vm, 'power-on')
  const cold = {
    backingInfo: { model: 'E1000', numQueues: 2 },
    networkInfo: { subnet: { extId: subnet }, nicType: 'DIRECT_NIC' },
  }
  const refused = await put(vm, nic, cold)
  assert.deepEqual(refusal(refused), [409, 'VMM-30101'])
  assert.match(refused.errors[0]!.message, /model, nicType, numQueues/)
  await succeeded(put(vm, nic, { ...nicOn(subnet), backingInfo: { isConnected: false } }))
  await changed(app, vm, 'power-off')
  await succeeded(put(vm, nic, cold))
  assert.equal((await read(vm, nic)).networkInfo.nicType, 'DIRECT_NIC')
})

test('a disconnected NIC keeps its address and learns none; it learns it again when it is connected', async () => {
  const subnet = await pool()
  const { extId: vm } = await aVm(app, cluster, { disks: [bootDisk(cluster)], nics: [nicOn(subnet)] })
  const [{ extId: nic }] = await nicsOf(vm)
  await changed(app, vm, 'power-on')
  await app.clock.advance(1000)
  for (const isConnected of [false, true]) {
    await succeeded(put(vm, nic, { ...nicOn(subnet), backingInfo: { isConnected } }))
    assert.deepEqual(
      [await addressOf(vm, nic), await learnedBy(vm, nic)],
      ['10.0.0.10', isConnected ? ['10.0.0.10'] : undefined],
    )
    checkMirror(await read(vm, nic))
  }
})

test('assign-ip replaces the primary address by the requested or the next free one, and keeps the secondary ones', async () => {
  const subnet = await pool()
  const { extId: vm } = await aVm(app, cluster, {
    disks: [bootDisk(cluster)],
    nics: [nicOn(subnet, { ipv4Config: { secondaryIpAddressList: [{ value: '10.0.0.90' }] } })],
  })
  const [{ extId: nic }] = await nicsOf(vm)
  await changed(app, vm, 'power-on')
  for (const [asked, expected] of [
    [undefined, '10.0.0.11'],
    [undefined, '10.0.0.10'],
    ['10.0.0.200', '10.0.0.200'],
    ['10.0.0.200', '10.0.0.200'],
  ] as const) {
    await succeeded(assign(vm, nic, asked))
    await app.clock.advance(1000)
    assert.deepEqual([await addressOf(vm, nic), await learnedBy(vm, nic)], [expected, [expected]])
    assert.equal(await assignedOn(subnet), 2)
  }
  assert.equal((await read(vm, nic)).networkInfo.ipv4Config.secondaryIpAddressList[0].value, '10.0.0.90')
  const other = await aNic(vm, asking(subnet, '10.0.0.44'))
  assert.deepEqual(refusal(await assign(vm, nic, '10.0.0.44')), [409, 'VMM-30106'])
  assert.deepEqual(refusal(await assign(vm, nic, '10.9.0.44')), [409, 'VMM-40003'])
  await succeeded(remove(vm, other))
  await succeeded(assign(vm, nic, '10.0.0.44'))
  const unmanaged = await aNic(vm, nicOn(await aSubnet(app, cluster)))
  assert.equal((await assign(vm, unmanaged)).status, 400)
  await checkInvariants(app)
})

test('release-ip releases all addresses of a NIC; a second call is 409', async () => {
  const subnet = await pool()
  const ipv4Config = { secondaryIpAddressList: [{ value: '10.0.0.90' }] }
  const { extId: vm } = await aVm(app, cluster, { nics: [nicOn(subnet, { ipv4Config })] })
  const [{ extId: nic }] = await nicsOf(vm)
  await succeeded(release(vm, nic))
  assert.deepEqual([(await read(vm, nic)).networkInfo.ipv4Config, await assignedOn(subnet)], [undefined, 0])
  assert.equal(realNic(vm, nic).address, undefined)
  assert.equal((await release(vm, nic)).status, 409)
  await succeeded(assign(vm, nic))
  assert.equal(await addressOf(vm, nic), '10.0.0.10')
})

test('a migration keeps the NIC and its MAC address, and replaces its subnet and address', async () => {
  const [first, second, unmanaged] = [await pool(), await pool(), await aSubnet(app, cluster)]
  const { extId: vm } = await aVm(app, cluster, { nics: [nicOn(first), nicOn(second)] })
  const [before] = await nicsOf(vm)
  const { macAddress } = before.backingInfo
  for (const [subnet, migrateType, more, expected] of [
    [second, 'ASSIGN_IP', {}, '10.0.0.11'],
    [second, 'ASSIGN_IP', ip('10.0.0.77'), '10.0.0.77'],
    [second, 'ASSIGN_IP', ip('10.0.0.77'), '10.0.0.77'],
    [first, 'RELEASE_IP', {}, '10.0.0.10'],
    [first, 'RELEASE_IP', {}, '10.0.0.11'],
    [unmanaged, 'RELEASE_IP', {}, undefined],
    [first, 'RELEASE_IP', {}, '10.0.0.10'],
  ] as const) {
    await succeeded(migrate(vm, before.extId, subnet, migrateType, more))
    const [nic, ...others] = await nicsOf(vm)
    assert.deepEqual(
      [nic.extId, nic.backingInfo.macAddress, nic.networkInfo.subnet.extId, addressIn(nic)],
      [before.extId, macAddress, subnet, expected],
    )
    checkMirror(nic)
    const { subnetExtId, address } = realNic(vm, nic.extId)
    assert.deepEqual([subnetExtId, address, others.length], [subnet, expected, 1])
    assert.equal((await assignedOn(first)) + (await assignedOn(second)), expected === undefined ? 1 : 2)
    await checkInvariants(app)
  }
})

test('a migration to a subnet without a free address fails and leaves the NIC, its leases and the hypervisor unchanged', async () => {
  const [from, full] = [await pool(), await pool('10.0.0.10')]
  const { extId: vm } = await aVm(app, cluster, { nics: [nicOn(from), nicOn(full)] })
  const before = await stateOf(vm)
  for (const migrateType of ['ASSIGN_IP', 'RELEASE_IP'])
    assert.deepEqual(failure(await ended(migrate(vm, before.nics[0].extId, full, migrateType))), [
      'FAILED',
      'VMM-40003',
    ])
  // The only address of the pool is the one that would be released.
  assert.deepEqual(failure(await ended(migrate(vm, before.nics[1].extId, full, 'RELEASE_IP'))), ['FAILED', 'VMM-40003'])
  assert.deepEqual(await stateOf(vm), before)
})

test('a task that fails leaves NIC, leases and hypervisor unchanged with a new ETag, and the request can be repeated', async () => {
  const [subnet, other] = [await pool(), await pool()]
  const { extId: vm } = await aVm(app, cluster, { nics: [asking(subnet, '10.0.0.20')] })
  const [{ extId: nic }] = await nicsOf(vm)
  const before = await stateOf(vm)
  const requests = {
    'create-nic': ['plug', () => post(vm, nicOn(other))],
    'update-nic': ['switch', () => put(vm, nic, nicOn(other))],
    'assign-ip': ['switch', () => assign(vm, nic, '10.0.0.30')],
    'migrate-nic': ['switch', () => migrate(vm, nic, other, 'ASSIGN_IP')],
    'release-ip': ['switch', () => release(vm, nic)],
    'delete-nic': ['unplug', () => remove(vm, nic)],
  } as const
  for (const [name, [step, request]] of Object.entries(requests)) {
    for (const match of [
      { driverCall: { driver: 'hypervisor', method: 'defineVm' } },
      { taskStep: { task: `vmm.${name}`, step } },
    ]) {
      await aFault(app, match, unavailable, { next: 1 })
      const tag = await tagOf(app, vm)
      const [started, admitted] = await whileTasksWait(async () => [await request(), await tagOf(app, vm)] as const)
      assert.equal((await app.task(started)).status, 'FAILED', name)
      await noFaults(app)
      assert.deepEqual(await stateOf(vm), before, name)
      assert.equal(new Set([tag, admitted, await tagOf(app, vm)]).size, 3, name)
    }
  }
  await checkInvariants(app)
  for (const [, request] of Object.values(requests)) await succeeded(request())
})

test('a queued request that an earlier one made impossible fails in its task with the code of an immediate refusal', async () => {
  const subnet = await pool()
  const cases: readonly [string, (vm: string, nic: string) => readonly (() => Promise<CallResult>)[]][] = [
    ['VMM-30106', (vm) => [() => post(vm, asking(subnet, '10.0.0.80')), () => post(vm, asking(subnet, '10.0.0.80'))]],
    ['VMM-20005', (vm, nic) => [() => remove(vm, nic), () => assign(vm, nic)]],
    ['PLAT-10009', (vm, nic) => [() => release(vm, nic), () => release(vm, nic)]],
    ['VMM-20005', (vm) => [() => change(app, vm, 'delete'), () => post(vm, nicOn(subnet))]],
  ]
  for (const [code, requests] of cases) {
    const { extId: vm } = await aVm(app, cluster, { nics: [nicOn(subnet)] })
    const [{ extId: nic }] = await nicsOf(vm)
    const [first, second] = await whileTasksWait(async () => {
      const sent: CallResult[] = []
      for (const request of requests(vm, nic)) sent.push(await request())
      return sent
    })
    await succeeded(first!)
    assert.deepEqual(failure(await app.task(second!)), ['FAILED', code])
  }
  await checkInvariants(app)
})

test('a NIC has the ETag of its VM, which is required; a stale one is 412', async () => {
  const subnet = await pool()
  const { extId: vm } = await aVm(app, cluster, { nics: [nicOn(subnet)] })
  const [{ extId: nic }] = await nicsOf(vm)
  const read = async (): Promise<string> => (await app.call('GET', pathOf(vm, nic))).etag as string
  const ifMatch = await read()
  assert.equal(ifMatch, await tagOf(app, vm))
  const requests = (options: CallOptions) => [
    () => post(vm, nicOn(subnet), options),
    () => put(vm, nic, nicOn(subnet), options),
    () => remove(vm, nic, options),
    () => act(vm, nic, 'assign-ip', {}, options),
    () => act(vm, nic, 'release-ip', undefined, options),
    () => act(vm, nic, 'migrate', { subnet: { extId: subnet }, migrateType: 'RELEASE_IP' }, options),
  ]
  for (const request of requests({ ifMatch: '' })) assert.deepEqual(refusal(await request()), [428, 'PLAT-10004'])
  await succeeded(act(vm, nic, 'assign-ip', {}, { ifMatch }))
  for (const request of requests({ ifMatch })) assert.deepEqual(refusal(await request()), [412, 'VMM-30303'])
  assert.equal((await changed(app, vm, 'power-on', { ifMatch: await read() })).status, 'SUCCEEDED')
  const both = await read()
  const sent = await Promise.all([remove(vm, nic, { ifMatch: both }), post(vm, nicOn(subnet), { ifMatch: both })])
  assert.deepEqual(sent.map(({ status }) => status).sort(), [202, 412])
})

test('a NIC that does not exist, or belongs to another VM, is 404', async () => {
  const subnet = await pool()
  const [{ extId: mine }, { extId: other }] = [
    await aVm(app, cluster),
    await aVm(app, cluster, { nics: [nicOn(subnet)] }),
  ]
  const [{ extId: foreign }] = await nicsOf(other)
  for (const nic of [foreign, randomUUID()])
    for (const sent of [
      await put(mine, nic, nicOn(subnet)),
      await remove(mine, nic),
      await assign(mine, nic),
      await release(mine, nic),
      await migrate(mine, nic, subnet, 'RELEASE_IP'),
    ])
      assert.deepEqual(refusal(sent), [404, 'VMM-20005'])
  const nowhere = { body: nicOn(subnet), requestId: randomUUID() }
  assert.equal((await app.call('POST', pathOf(randomUUID()), nowhere)).status, 404)
})

test('a VM has at most 64 NICs', async () => {
  const subnet = await aSubnet(app, cluster)
  const { extId: vm } = await aVm(app, cluster, { nics: Array.from({ length: 64 }, () => nicOn(subnet)) })
  assert.deepEqual(refusal(await post(vm, nicOn(subnet))), [422, 'VMM-40004'])
})

test('a NIC from which the VM boots cannot be removed', async () => {
  const subnet = await pool()
  const macAddress = '02:00:00:00:b0:07'
  const bootDevice = { $objectType: 'vmm.v4.ahv.config.BootDeviceNic', macAddress }
  const { extId: vm } = await aVm(app, cluster, {
    nics: [{ ...nicOn(subnet), backingInfo: { macAddress } }, nicOn(subnet)],
    bootConfig: { $objectType: 'vmm.v4.ahv.config.LegacyBoot', bootDevice },
  })
  const [first, second] = await nicsOf(vm)
  assert.equal((await remove(vm, first.extId)).status, 409)
  await succeeded(remove(vm, second.extId))
})

test('a VM that runs gets no NIC on a subnet whose virtual switch its host lacks', async () => {
  const [here, there] = cluster.hostExtIds
  const { extId: vm } = await aVm(app, cluster)
  await changed(app, vm, 'power-on')
  const { host } = await readVm(app, vm)
  const subnet = await aSubnet(app, cluster)
  const elsewhere = host.extId === here ? there : here
  const virtualSwitchReference = randomUUID()
  await app.store.transaction(async (store) => {
    const clusters = [{ extId: cluster.extId, hosts: [{ extId: elsewhere, hostNics: ['eth0'] }] }]
    await store.insert(VirtualSwitch, {
      extId: virtualSwitchReference,
      name: 'vs9',
      bondMode: 'ACTIVE_BACKUP',
      clusters,
    } as never)
    await store.update(Subnet, subnet, { virtualSwitchReference })
  })
  const refused = await post(vm, nicOn(subnet))
  assert.deepEqual(refusal(refused), [409, 'VMM-40001'])
  assert.match(refused.errors[0]!.message, /network/)
  await changed(app, vm, 'power-off')
  await succeeded(post(vm, nicOn(subnet)))
  await changed(app, vm, 'power-on')
  assert.equal((await readVm(app, vm)).host.extId, elsewhere)
  await changed(app, vm, 'delete')
})

test('viewers get 403 for every change, without a task; network administrators may migrate NICs and change nothing else', async () => {
  const subnet = await pool()
  const { extId: vm } = await aVm(app, cluster, { nics: [nicOn(subnet)] })
  const [{ extId: nic }] = await nicsOf(vm)
  const tasks = async () => (await app.call('GET', '/platform/v4.3/config/tasks')).total
  const before = await tasks()
  const requests = (as: string) => [
    () => post(vm, nicOn(subnet), { as }),
    () => put(vm, nic, nicOn(subnet), { as }),
    () => remove(vm, nic, { as }),
    () => act(vm, nic, 'assign-ip', {}, { as }),
    () => act(vm, nic, 'release-ip', undefined, { as }),
  ]
  const moving = (as: string) =>
    act(vm, nic, 'migrate', { subnet: { extId: subnet }, migrateType: 'RELEASE_IP' }, { as })
  const viewer = await aUser(app, ['Virtual Machine Viewer'])
  assert.equal((await app.call('GET', pathOf(vm, nic), { as: viewer })).status, 200)
  for (const request of [...requests(viewer), () => moving(viewer)]) assert.equal((await request()).status, 403)
  const networker = await aUser(app, ['Network Infra Admin'])
  for (const request of requests(networker)) assert.equal((await request()).status, 403)
  assert.equal(await tasks(), before)
  await succeeded(moving(networker))
})

test('two NICs of one VM with one MAC address violate an invariant', async () => {
  const { extId } = await aVm(app, cluster, { nics: [nicOn(await pool()), nicOn(await pool())] })
  const [first, second] = (await app.store.get(Vm, extId))!.nics as any[]
  const twin = { ...second, backingInfo: { ...second.backingInfo, macAddress: first.backingInfo.macAddress } }
  assert.deepEqual(await brokenInvariants(app.store), [])
  await app.store.transaction((store) => store.observe(Vm, extId, { nics: [first, twin] }))
  assert.match((await brokenInvariants(app.store)).join(), /"vm" has two NICs at MAC address/)
  await app.store.transaction((store) => store.observe(Vm, extId, { nics: [first, second] }))
})

test('a floating IP loses its association when its NIC loses the address: by a release, a new address, a migration or the removal of the NIC', async () => {
  const demo = await startApp()
  const native = { extId: ids.native, imageExtId: seedId('image/ubuntu-24.04.qcow2') } as NativeCluster
  const web = seedId('subnet/web')
  for (const change of [
    (path: string) => send('POST', `${path}/$actions/release-ip`, undefined, {}, demo),
    (path: string) => send('POST', `${path}/$actions/assign-ip`, {}, {}, demo),
    (path: string) =>
      send(
        'POST',
        `${path}/$actions/migrate`,
        { subnet: { extId: seedId('subnet/db') }, migrateType: 'RELEASE_IP' },
        {},
        demo,
      ),
    (path: string) => send('DELETE', path, undefined, {}, demo),
  ]) {
    const vm = await aVm(demo, native, { nics: [nicOn(web)] })
    const association = { $objectType: 'networking.v4.config.VmNicAssociation', vmNicReference: vm.nics[0].extId }
    const body = { name: 'test', externalSubnetReference: seedId('subnet/ext-nat'), association }
    const floatingIp = await made(demo, floatingIps, body)
    const translated = () => routingFacts(demo.world).floatingIps.get(floatingIp.slice(-36))
    assert.notEqual(translated(), undefined)
    const task = await demo.task(await change(pathOf(vm.extId, vm.nics[0].extId)))
    assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
    assert.equal((await demo.call('GET', floatingIp)).data.associationStatus, 'NOT_ASSOCIATED')
    assert.equal(translated(), undefined)
  }
  await checkInvariants(demo)
  await demo.close()
})
