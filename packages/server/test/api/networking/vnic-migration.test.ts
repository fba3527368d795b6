/** NICs that move to other subnets. Source: behaviour networking.md 1.4, 5 (46). */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { domainFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { ids } from '../../support/clustermgmt.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { aVm, bootDisk, booted, type NativeCluster, nicOn, readVm, tagOf } from '../../support/native-cluster.ts'
import { type CallOptions, type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { Steps } from '../../support/steps.ts'
import { aSubnet, demoSubnet, recount, reserve, usageOf } from '../../support/subnets.ts'
import { ip } from '../../support/vpcs.ts'
import { aRobot, aRole, grant } from '../iam/people.ts'

const cluster = { extId: ids.native, imageExtId: seedId('image/ubuntu-24.04.qcow2') } as NativeCluster
const source = seedId('subnet/vlan-100-app')
let app: TestApp
const steps = new Steps()
let vlan = 3600
before(async () => {
  app = await startApp({ logLevel: 'silent', beforeStep: steps.beforeStep })
})
afterEach(async () => {
  steps.failing = undefined
  await recount(app)
  await checkInvariants(app)
})
after(() => app.close())

const idOf = (path: string): string => path.slice(-36)
const managed = (prefix: string, pools: [string, string][], more: object = {}): Promise<string> =>
  aSubnet(app, { ipv4: prefix, pools }, { clusterReference: ids.native, networkId: ++vlan, ...more })
const migrate = (nic: string, subnet: string, more: object = {}, options: CallOptions = {}): Promise<CallResult> =>
  app.call('POST', `/networking/v4.3/config/vnics/${nic}/$actions/migrate`, {
    body: { networkUuid: idOf(subnet), ...more },
    ...options,
  })
async function aGuest(address = '10.10.100.90'): Promise<{ vm: string; nic: string }> {
  const ipv4Config = { shouldAssignIp: true, ipAddress: { value: address } }
  const { extId, nics } = await aVm(app, cluster, {
    name: `guest ${address}`,
    disks: [bootDisk(cluster)],
    nics: [nicOn(source, { ipv4Config })],
  })
  return { vm: extId, nic: nics[0].extId }
}
async function shown(vm: string): Promise<unknown[]> {
  const [{ networkInfo }] = (await readVm(app, vm)).nics
  return [networkInfo.subnet.extId, networkInfo.ipv4Config?.ipAddress?.value]
}
const refusal = ({ status, errors }: CallResult): unknown[] => [status, errors[0]?.errorGroup]

test('a NIC of a running VM moves to the next free address of the destination, and its old one is free', async () => {
  const { vm, nic } = await aGuest()
  await booted(app, vm)
  const [before, macBefore] = [
    await usageOf(app, demoSubnet('vlan-100-app')),
    (await readVm(app, vm)).nics[0].backingInfo,
  ]
  const subnet = await managed('10.60.0.0/24', [['10.60.0.10', '10.60.0.20']])
  const tag = await tagOf(app, vm)
  const task = await app.task(await migrate(nic, subnet))
  assert.deepEqual([task.operation, task.status], ['MIGRATE_VNIC', 'SUCCEEDED'])
  assert.deepEqual(
    task.entitiesAffected.map(({ extId, rel }: any) => [extId, rel]),
    [
      [nic, 'networking:config:vnic'],
      [idOf(subnet), 'networking:config:subnet'],
    ],
  )
  assert.deepEqual(await shown(vm), [idOf(subnet), '10.60.0.10'])
  assert.equal((await readVm(app, vm)).nics[0].backingInfo.macAddress, macBefore.macAddress)
  assert.notEqual(await tagOf(app, vm), tag)
  const after = await usageOf(app, demoSubnet('vlan-100-app'))
  assert.deepEqual([after.numAssignedIPs, after.numMacs], [before.numAssignedIPs - 1, before.numMacs - 1])
  const plugged = domainFacts(app.world).get(vm)!.domain.nics[0]!
  assert.deepEqual([plugged.subnetExtId, plugged.address], [idOf(subnet), '10.60.0.10'])
})

test('the address is kept where the destination has it free, and the next free one is taken where it is not', async () => {
  const { vm, nic } = await aGuest('10.10.100.91')
  const twin = await managed('10.10.100.0/24', [['10.10.100.10', '10.10.100.20']])
  assert.equal((await app.task(await migrate(nic, twin))).status, 'SUCCEEDED')
  assert.deepEqual(await shown(vm), [idOf(twin), '10.10.100.91'])
  const taken = await managed('10.10.100.0/24', [['10.10.100.30', '10.10.100.40']])
  await app.task(await reserve(app, taken, { reserveType: 'IP_ADDRESS_LIST', ipAddresses: [ip('10.10.100.91')] }))
  assert.equal((await app.task(await migrate(nic, taken))).status, 'SUCCEEDED')
  assert.deepEqual(await shown(vm), [idOf(taken), '10.10.100.30'])
})

test('a requested address is taken, and one that is in use or outside is refused', async () => {
  const { vm, nic } = await aGuest('10.10.100.92')
  const subnet = await managed('10.61.0.0/24', [['10.61.0.10', '10.61.0.20']])
  await app.task(await reserve(app, subnet, { reserveType: 'IP_ADDRESS_LIST', ipAddresses: [ip('10.61.0.11')] }))
  const asking = (value: string) => ({ requestedIpAddresses: [ip(value)] })
  assert.deepEqual(refusal(await migrate(nic, subnet, asking('10.61.0.11'))), [409, 'IP_ADDRESS_UNAVAILABLE'])
  assert.equal((await migrate(nic, subnet, asking('10.99.0.11'))).status, 400)
  assert.equal((await app.task(await migrate(nic, subnet, asking('10.61.0.15')))).status, 'SUCCEEDED')
  assert.deepEqual(await shown(vm), [idOf(subnet), '10.61.0.15'])
})

test('a NIC has no address on a subnet without address management', async () => {
  const { vm, nic } = await aGuest('10.10.100.93')
  assert.equal((await app.task(await migrate(nic, demoSubnet('vlan-200-static')))).status, 'SUCCEEDED')
  assert.deepEqual(await shown(vm), [seedId('subnet/vlan-200-static'), undefined])
  const back = { requestedIpAddresses: [ip('10.10.100.93')] }
  assert.equal((await app.task(await migrate(nic, demoSubnet('vlan-100-app'), back))).status, 'SUCCEEDED')
  const refused = await migrate(nic, demoSubnet('vlan-200-static'), back)
  assert.equal(refused.status, 400)
})

test('a destination without a free address fails the task and leaves NIC, address and VM tag as they were', async () => {
  const { vm, nic } = await aGuest('10.10.100.94')
  const subnet = await managed('10.62.0.0/24', [['10.62.0.10', '10.62.0.10']])
  await app.task(await reserve(app, subnet, { reserveType: 'IP_ADDRESS_COUNT', count: 1 }))
  const [tag, before] = [await tagOf(app, vm), await readVm(app, vm)]
  const task = await app.task(await migrate(nic, subnet))
  assert.equal(task.status, 'FAILED')
  assert.deepEqual(
    [task.errorMessages[0].errorGroup, task.errorMessages[0].code],
    ['IP_POOL_EXHAUSTED', 'NETWORKING-10081'],
  )
  assert.equal(await tagOf(app, vm), tag)
  assert.deepEqual(await readVm(app, vm), before)
  assert.deepEqual((await usageOf(app, subnet)).numMacs, 0)
})

test('a NIC that cannot be plugged keeps its subnet, its address and the tag of its VM', async () => {
  const { vm, nic } = await aGuest('10.10.100.95')
  const subnet = await managed('10.63.0.0/24', [['10.63.0.10', '10.63.0.20']])
  const [tag, before, free] = [await tagOf(app, vm), await readVm(app, vm), (await usageOf(app, subnet)).numFreeIPs]
  steps.failing = 'vmm.migrate-vnic re-plug'
  assert.equal((await app.task(await migrate(nic, subnet))).status, 'FAILED')
  assert.equal(await tagOf(app, vm), tag)
  assert.deepEqual(await readVm(app, vm), before)
  assert.equal((await usageOf(app, subnet)).numFreeIPs, free)
  assert.equal(domainFacts(app.world).get(vm)!.domain.nics[0]!.subnetExtId, source)
})

test('unknown ids and addresses that the destination cannot give are refused before the task', async () => {
  const { nic } = await aGuest('10.10.100.96')
  assert.equal((await migrate(randomUUID(), demoSubnet('web'))).status, 404)
  assert.equal((await migrate(nic, randomUUID())).status, 404)
  assert.equal((await migrate(nic, demoSubnet('vlan-100-app'))).status, 400)
  assert.equal((await migrate(nic, demoSubnet('ext-nat'))).status, 400)
  const two = { requestedIpAddresses: [ip('10.61.0.15'), ip('10.61.0.16')] }
  assert.equal((await migrate(nic, demoSubnet('web'), two)).status, 400)
  const six = { requestedIpAddresses: [{ ipv6: { value: 'fd00:100::5' } }] }
  assert.equal((await migrate(nic, demoSubnet('web'), six)).status, 400)
})

test('a caller who cannot see the VM gets 404', async () => {
  const { vm, nic } = await aGuest('10.10.100.97')
  const role = await aRole(app, ['Migrate_VNIC', 'View_Subnet', 'View_Existing_Virtual_Machine'])
  const apiKeyFor = async (machine: string): Promise<string> => {
    const robot = await aRobot(app)
    await grant(app, { id: role }, robot.extId, {
      subnet: { '*': { eq: '*' } },
      virtual_machine: { uuid: { anyof: [machine] } },
      vnic: { '*': { eq: '*' } },
    })
    return robot.apiKey
  }
  const unseen = await migrate(nic, demoSubnet('web'), {}, { apiKey: await apiKeyFor(seedId('vm/web-01')) })
  assert.deepEqual([unseen.status, unseen.errors[0]!.code], [404, 'NETWORKING-10010'])
  const seen = await migrate(nic, demoSubnet('web'), {}, { apiKey: await apiKeyFor(vm) })
  assert.equal((await app.task(seen)).status, 'SUCCEEDED')
})
