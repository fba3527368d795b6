/** Floating IPs. Source: behaviour networking.md 1.3, 1.8, 3.5, 5 (18, 27). */

import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import type { RoleName } from '@hyperplane/contract/roles'
import { catalogueId, seedId } from '../../../src/core/ids/named-id.ts'
import { routingFacts } from '../../../src/drivers/simulated/virtual-routing.ts'
import { ids } from '../../support/clustermgmt.ts'
import { aUser } from '../../support/identities.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { aVm, bootDisk, changed as changedVm, type NativeCluster, nicOn } from '../../support/native-cluster.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { Steps } from '../../support/steps.ts'
import { aSubnet, demoSubnet, ipConfigOf, recount, reserve, subnets, usageOf } from '../../support/subnets.ts'
import {
  attachedTo,
  aVpc,
  changed,
  demoVpc,
  floatingIps,
  ip,
  made,
  put,
  removed,
  vpcFaults,
} from '../../support/vpcs.ts'

let app: TestApp
const steps = new Steps()
before(async () => {
  app = await startApp({ logLevel: 'silent', beforeStep: steps.beforeStep })
})
afterEach(async () => {
  steps.failing = undefined
  await checkInvariants(app)
  for (const { extId } of (await app.call('GET', `${floatingIps}?$limit=100`)).data)
    await removed(app, `${floatingIps}/${extId}`)
  await recount(app)
  await checkInvariants(app)
})
after(() => app.close())

const cluster = { extId: ids.native, imageExtId: seedId('image/ubuntu-24.04.qcow2') } as NativeCluster
const externalSubnetReference = seedId('subnet/ext-nat')
const prod = seedId('vpc/prod')
const type = (name: string): string => `networking.v4.config.${name}`
const toPrivate = (address: string, vpc = prod): object => ({
  $objectType: type('PrivateIpAssociation'),
  privateIp: ip(address),
  vpcReference: vpc,
})
const toNic = (vmNicReference: string, more: object = {}): object => ({
  $objectType: type('VmNicAssociation'),
  vmNicReference,
  ...more,
})
const create = (body: object = {}): Promise<CallResult> =>
  app.call('POST', floatingIps, { body: { name: 'test', externalSubnetReference, ...body } })
const aFloatingIp = (body: object = {}): Promise<string> =>
  made(app, floatingIps, { name: 'test', externalSubnetReference, ...body })
const read = async (path: string): Promise<any> => (await app.call('GET', path)).data
const idOf = (path: string): string => path.slice(-36)
const refusal = ({ status, errors }: CallResult): unknown[] => [status, errors[0]?.errorGroup]
const pathsOf = (result: CallResult): unknown[] =>
  result.errors.map((error) => error.argumentsMap?.['attributePath']).sort()
const aGuest = (subnet = 'web', network: object = {}): Promise<any> =>
  aVm(app, cluster, {
    name: 'guest',
    disks: [bootDisk(cluster)],
    nics: [nicOn(seedId(`subnet/${subnet}`), network)],
  })
const addressOf = (vm: any): string => vm.nics[0].networkInfo.ipv4Config.ipAddress.value
const translation = (path: string) => routingFacts(app.world).floatingIps.get(idOf(path))
const statusOf = async (path: string): Promise<string> => (await read(path)).associationStatus

test('the demo has a floating IP of web-01 and a spare one, with the next addresses of the pool', async () => {
  const demo = await startApp()
  try {
    const { data } = await demo.call('GET', floatingIps)
    const [{ nics }] = (await demo.call('GET', "/vmm/v4.2/ahv/config/vms?$filter=name eq 'web-01'")).data
    assert.deepEqual(
      data.map((one: any) => [one.name, one.associationStatus, one.vmNicReference, one.privateIp]),
      [
        ['web-1', 'ASSOCIATED_TO_VNIC', nics[0].extId, '192.168.10.10'],
        ['spare', 'NOT_ASSOCIATED', undefined, undefined],
      ],
    )
    assert.deepEqual(await vpcFaults(demo), [])
  } finally {
    await demo.close()
  }
})

test('a floating IP gets the lowest free address of the pools, which counts as assigned, is refused to others, and is free after the deletion', async () => {
  const subnet = demoSubnet('ext-nat')
  const before = await usageOf(app, subnet)
  const started = await create()
  const task = await app.task(started)
  assert.equal(task.operation, 'kFloatingIpCreate')
  assert.deepEqual(
    task.entitiesAffected.map(({ rel, name }: any) => [rel, name]),
    [
      ['networking:config:floating-ip', 'test'],
      ['networking:config:subnet', 'ext-nat'],
    ],
  )
  const path = `${floatingIps}/${task.entitiesAffected[0].extId}`
  const { floatingIp, floatingIpValue, associationStatus, association, metadata } = await read(path)
  assert.deepEqual([associationStatus, association, metadata.ownerUserName], ['NOT_ASSOCIATED', undefined, 'admin'])
  assert.deepEqual(floatingIp.ipv4.value, floatingIpValue)
  const during = await usageOf(app, subnet)
  assert.deepEqual([during.numAssignedIPs - before.numAssignedIPs, during.numFreeIPs - before.numFreeIPs], [1, -1])
  const named = { ipAddresses: [ip(floatingIpValue)], reserveType: 'IP_ADDRESS_LIST' }
  for (const taken of [await create({ floatingIp: ip(floatingIpValue) }), await reserve(app, subnet, named)]) {
    assert.deepEqual(refusal(taken), [409, 'IP_ADDRESS_UNAVAILABLE'])
    assert.match(taken.errors[0]!.message, /a floating IP/)
  }
  const inUse = await app.call('DELETE', subnet)
  assert.match(inUse.errors[0]!.message, /floating IP test/)
  await removed(app, path)
  assert.deepEqual(await usageOf(app, subnet), before)
  assert.equal((await read(await aFloatingIp())).floatingIpValue, floatingIpValue)
})

test('1,000 parallel floating IPs get 1,000 different addresses beside as many parallel reservations', async () => {
  const own = await startApp({ logLevel: 'silent' })
  try {
    const ranges = { ipv4: '10.77.0.0/16', pools: [['10.77.0.2', '10.77.7.209']] } as const
    const subnet = await aSubnet(own, ranges, { isExternal: true, isNatEnabled: true })
    const one = { reserveType: 'IP_ADDRESS_COUNT', count: 1 }
    const body = { name: 'parallel', externalSubnetReference: idOf(subnet) }
    const started = await Promise.all(
      Array.from({ length: 1000 }, async () => {
        const [created] = await Promise.all([own.call('POST', floatingIps, { body }), reserve(own, subnet, one)])
        return created
      }),
    )
    for (const each of started) assert.equal((await own.task(each)).status, 'SUCCEEDED')
    const found: string[] = []
    for (let page = 0; page < 10; page++) {
      const path = `${floatingIps}?$filter=name eq 'parallel'&$limit=100&$page=${page}`
      found.push(...(await own.call('GET', path)).data.map(({ floatingIpValue }: any) => floatingIpValue))
    }
    assert.equal(new Set(found).size, 1000)
    const { numAssignedIPs, numFreeIPs } = await usageOf(own, subnet)
    assert.deepEqual([numAssignedIPs, numFreeIPs], [1000, 0])
  } finally {
    await own.close()
  }
})

test('a floating IP may request an address outside the pools, and its address and external subnet cannot change later', async () => {
  const path = await aFloatingIp({ floatingIp: ip('10.44.3.205') })
  assert.equal((await read(path)).floatingIpValue, '10.44.3.205')
  for (const change of [{ floatingIp: ip('10.44.3.206') }, { externalSubnetReference: seedId('subnet/transit-ext') }])
    assert.deepEqual(refusal(await put(app, path, change)), [400, 'IMMUTABLE_ATTRIBUTE'])
  const kept = await changed(app, path, { name: 'renamed', description: 'kept', floatingIp: undefined })
  assert.deepEqual([kept.name, kept.description, kept.floatingIpValue], ['renamed', 'kept', '10.44.3.205'])
  assert.equal((await app.call('PUT', path, { body: kept })).status, 428)
})

test('a floating IP on an IPv6-only subnet gets an IPv6 address', async () => {
  const subnet = await aSubnet(
    app,
    { ipv6: 'fd00:44::/64', pools6: [['fd00:44::10', 'fd00:44::20']] },
    { isExternal: true, networkId: 344 },
  )
  const path = await aFloatingIp({ externalSubnetReference: idOf(subnet) })
  assert.deepEqual((await read(path)).floatingIp, { ipv6: { value: 'fd00:44::10', prefixLength: 128 } })
  await removed(app, path)
  await removed(app, subnet)
})

test('a floating IP of a NIC translates to its primary address, whether given by association or by a short field', async () => {
  const vm = await aGuest()
  const [{ extId: nic }] = vm.nics
  const shown = { association: { ...toNic(nic), privateIp: ip(addressOf(vm)), vpcReference: prod } }
  for (const body of [
    { association: toNic(nic) },
    { vmNicReference: nic },
    { vmNicReference: nic, vpcReference: prod },
  ]) {
    const path = await aFloatingIp(body)
    const { association, associationStatus, privateIp, vmNicReference, vpcReference } = await read(path)
    assert.deepEqual({ association }, shown)
    assert.deepEqual(
      [associationStatus, privateIp, vmNicReference, vpcReference],
      ['ASSOCIATED_TO_VNIC', addressOf(vm), nic, prod],
    )
    assert.equal(translation(path)?.privateAddress, addressOf(vm))
    await removed(app, path)
    assert.equal(translation(path), undefined)
  }
  await changedVm(app, vm.extId, 'delete')
})

test('a secondary address of a NIC can have its own floating IP, and each address only one', async () => {
  const ipv4Config = { shouldAssignIp: true, secondaryIpAddressList: [{ value: '192.168.10.200' }] }
  const vm = await aGuest('web', { ipv4Config })
  const [{ extId: nic }] = vm.nics
  const first = await create({ association: toNic(nic) })
  const second = await create({ association: toNic(nic, { privateIp: ip('192.168.10.200') }) })
  assert.deepEqual(
    (await app.task(second)).entitiesAffected.map(({ rel }: any) => rel),
    ['networking:config:floating-ip', 'networking:config:subnet', 'networking:config:vnic'],
  )
  await app.task(first)
  for (const association of [toNic(nic), toNic(nic, { privateIp: ip('192.168.10.200') }), toPrivate(addressOf(vm))])
    assert.deepEqual(refusal(await create({ association })), [409, 'ENTITY_ALREADY_EXISTS'])
  const lacking = await create({ association: toNic(nic, { privateIp: ip('192.168.10.201') }) })
  assert.deepEqual(
    [lacking.status, /has 192.168.10.\S+, 192.168.10.200, not 192.168.10.201/.test(lacking.errors[0]!.message)],
    [409, true],
  )
  await changedVm(app, vm.extId, 'delete')
})

test('a private address outside all subnets of the VPC is accepted once in each VPC, even with concurrent requests', async () => {
  const answers = await Promise.all([1, 2, 3].map(() => create({ association: toPrivate('172.16.9.9') })))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [202, 409, 409])
  const task = await app.task(answers.find(({ status }) => status === 202)!)
  assert.deepEqual(
    task.entitiesAffected.map(({ rel, name }: any) => [rel, name]),
    [
      ['networking:config:floating-ip', 'test'],
      ['networking:config:subnet', 'ext-nat'],
      ['networking:config:vpc', 'prod'],
    ],
  )
  const elsewhere = await aFloatingIp({ association: toPrivate('172.16.9.9', seedId('vpc/transit')) })
  assert.equal(await statusOf(elsewhere), 'ASSOCIATED_TO_PRIVATE_IP')
  const moved = await put(app, elsewhere, { association: toPrivate('172.16.9.9') })
  assert.deepEqual(refusal(moved), [409, 'ENTITY_ALREADY_EXISTS'])
})

test('updates move, end and renew an association, and unchanged short fields in the body do not conflict with the change', async () => {
  const vm = await aGuest()
  const [{ extId: nic }] = vm.nics
  const path = await aFloatingIp({ vmNicReference: nic })
  const toAddress = await changed(app, path, { association: toPrivate('172.16.9.9') })
  assert.deepEqual(
    [toAddress.associationStatus, toAddress.vmNicReference, translation(path)?.privateAddress],
    ['ASSOCIATED_TO_PRIVATE_IP', undefined, '172.16.9.9'],
  )
  assert.equal((await changed(app, path, { vmNicReference: nic })).associationStatus, 'ASSOCIATED_TO_VNIC')
  assert.equal((await changed(app, path, { name: 'renamed' })).privateIp, addressOf(vm))
  const none = await changed(app, path, { association: undefined, vmNicReference: undefined })
  assert.deepEqual(
    [none.associationStatus, none.vpcReference, translation(path)],
    ['NOT_ASSOCIATED', undefined, undefined],
  )
  assert.equal((await changed(app, path, { association: toNic(nic) })).associationStatus, 'ASSOCIATED_TO_VNIC')
  await removed(app, path)
  await changedVm(app, vm.extId, 'delete')
})

test('contradictory associations are reported with their paths, together with all other faults of the body', async () => {
  const [{ extId: nic }] = (await read(`/vmm/v4.2/ahv/config/vms/${seedId('vm/web-01')}`)).nics
  const other = seedId('vpc/transit')
  const cases: readonly (readonly [object, ...string[]])[] = [
    [{ association: toPrivate('172.16.9.9'), vmNicReference: nic }, 'vmNicReference'],
    [{ association: toPrivate('172.16.9.9'), vpcReference: other }, 'vpcReference'],
    [{ association: toNic(nic), vpcReference: other }, 'vpcReference'],
    [{ vmNicReference: nic, loadBalancerSessionReference: nic }, 'vmNicReference'],
    [{ vpcReference: prod }, 'vpcReference'],
    [
      { floatingIp: {}, association: toPrivate('127.0.0.1'), vmNicReference: nic },
      'association/privateIp',
      'floatingIp',
      'vmNicReference',
    ],
    [{ floatingIp: ip('10.1.1.1') }, 'floatingIp'],
    [{ externalSubnetReference: seedId('subnet/ext-routed') }, 'externalSubnetReference'],
    [{ externalSubnetReference: seedId('subnet/web') }, 'externalSubnetReference'],
    [
      { association: { ...toPrivate('172.16.9.9'), privateIp: { ipv6: { value: 'fd00::9' } } } },
      'association/privateIp',
    ],
  ]
  for (const [body, ...paths] of cases) {
    const refused = await create(body)
    assert.deepEqual([refused.status, ...pathsOf(refused)], [400, ...paths], JSON.stringify(body))
  }
  const path = await aFloatingIp({ vmNicReference: nic })
  const contradicting = await put(app, path, { association: toPrivate('172.16.9.9'), vpcReference: other })
  assert.deepEqual([contradicting.status, ...pathsOf(contradicting)], [400, 'vpcReference'])
})

test('references to unknown subnets, VPCs, NICs and load balancer sessions are 404', async () => {
  const unknown = '5d3f6a0e-9f0b-4c39-8f4e-3a1d0c9b7e11'
  const session = { $objectType: type('LoadBalancerSessionAssociation'), loadBalancerSessionReference: unknown }
  for (const body of [
    { externalSubnetReference: unknown },
    { association: toPrivate('172.16.9.9', unknown) },
    { association: toNic(unknown) },
    { vmNicReference: unknown },
    { loadBalancerSessionReference: unknown },
    { association: session },
  ]) {
    const { status, errors } = await create(body)
    assert.deepEqual([status, errors[0]?.code], [404, 'NETWORKING-10060'], JSON.stringify(body))
    assert.match(errors[0]!.message, new RegExp(`${unknown} not found`))
  }
})

test('a NIC on a VLAN, and a VPC that is not attached to the external subnet, are refused', async () => {
  const [{ extId: nic }] = (await read(`/vmm/v4.2/ahv/config/vms/${seedId('vm/db-01')}`)).nics
  const vlan = await aGuest('vlan-100-app')
  const answers = [
    await create({ vmNicReference: vlan.nics[0].extId }),
    await create({ association: toPrivate('172.16.9.9', seedId('vpc/tenant-a')) }),
    await create({ vmNicReference: nic, externalSubnetReference: seedId('subnet/transit-ext') }),
  ]
  for (const { status, errors } of answers)
    assert.deepEqual([status, /overlay subnet|is not attached/.test(errors[0]!.message)], [409, true])
  await changedVm(app, vlan.extId, 'delete')
})

test('faults of the floating address come before those of the association, and a running update before both', async () => {
  const elsewhere = { association: toPrivate('172.16.9.9', seedId('vpc/tenant-a')) }
  const [{ extId: vmNicReference }] = (await read(`/vmm/v4.2/ahv/config/vms/${seedId('vm/web-01')}`)).nics
  for (const [body, path] of [
    [{ floatingIp: ip('10.1.1.1'), ...elsewhere }, 'floatingIp'],
    [{ floatingIp: { ipv6: { value: 'fd00::9' } }, vmNicReference }, 'subnet'],
  ] as const) {
    const refused = await create(body)
    assert.deepEqual([refused.status, ...pathsOf(refused)], [400, path], JSON.stringify(body))
  }
  const path = await aFloatingIp()
  const { data, etag } = await app.call('GET', path)
  const update = await app.call('PUT', path, { body: { ...data, name: 'renamed' }, ifMatch: etag as string })
  assert.deepEqual(refusal(await put(app, path, elsewhere)), [409, 'ENTITY_BUSY'])
  await app.task(update)
})

test('a NIC of a VM that the caller may not see is not found', async () => {
  const operations = ['Create_Floating_Ip', 'View_Floating_Ip', 'View_Subnet', 'View_VPC']
  const body = { displayName: 'Addresses', operations: operations.map((name) => catalogueId('operation', name)) }
  const role = await app.call('POST', '/iam/v4.1.b2/authz/roles', { body, requestId: crypto.randomUUID() })
  assert.equal(role.status, 201)
  const as = await aUser(app, ['Addresses' as RoleName])
  const [{ extId: vmNicReference }] = (await read(`/vmm/v4.2/ahv/config/vms/${seedId('vm/web-01')}`)).nics
  const post = (more: object): Promise<CallResult> =>
    app.call('POST', floatingIps, { body: { name: 'test', externalSubnetReference, ...more }, as })
  assert.deepEqual(refusal(await post({ vmNicReference })), [404, 'ENTITY_NOT_FOUND'])
  const allowed = await post({ association: toPrivate('172.16.9.9') })
  assert.equal(allowed.status, 202)
  await app.task(allowed)
})

test('a NIC on a subnet of a VPC that the caller may not see is not found, and the VPC is not named', async () => {
  const operations = ['Create_Floating_Ip', 'View_Floating_Ip', 'View_Subnet', 'View_Existing_Virtual_Machine']
  const found = operations.flatMap((name) => catalogueId('operation', name))
  const body = { displayName: 'Blind addresses', operations: found }
  const role = await app.call('POST', '/iam/v4.1.b2/authz/roles', { body, requestId: crypto.randomUUID() })
  assert.equal(role.status, 201, JSON.stringify(role.errors))
  const as = await aUser(app, ['Blind addresses' as RoleName])
  const [{ extId: vmNicReference }] = (await read(`/vmm/v4.2/ahv/config/vms/${seedId('vm/web-01')}`)).nics
  const refused = await app.call('POST', floatingIps, {
    body: { name: 'test', externalSubnetReference: seedId('subnet/transit-ext'), vmNicReference },
    as,
  })
  assert.deepEqual(refusal(refused), [404, 'ENTITY_NOT_FOUND'])
  assert.doesNotMatch(JSON.stringify(refused.errors), /"prod"|VPC prod/)
})

test('a VM can be powered off while its floating IP is being updated and the controller is down', async () => {
  const vm = await aGuest()
  const other = await aGuest()
  const path = await aFloatingIp({ vmNicReference: vm.nics[0].extId })
  const release = steps.hold('networking.update-floating-ip program NAT')
  const started = await put(app, path, { vmNicReference: other.nics[0].extId })
  assert.equal(started.status, 202)
  await changedVm(app, vm.extId, 'power-on')
  await changedVm(app, vm.extId, 'power-off')
  release()
  assert.equal((await app.task(started)).status, 'SUCCEEDED')
  for (const { extId } of [vm, other]) await changedVm(app, extId, 'delete')
})

test('deleting a VM ends the association of its floating IPs, which can be associated again', async () => {
  const vm = await aGuest()
  const path = await aFloatingIp({ vmNicReference: vm.nics[0].extId })
  const before = await read(path)
  await changedVm(app, vm.extId, 'delete')
  const { association, associationStatus, floatingIpValue, privateIp, vmNicReference, vpcReference } = await read(path)
  assert.deepEqual([associationStatus, floatingIpValue], ['NOT_ASSOCIATED', before.floatingIpValue])
  assert.deepEqual([association, privateIp, vmNicReference, vpcReference, translation(path)], Array(5).fill(undefined))
  const other = await aGuest()
  assert.equal((await changed(app, path, { vmNicReference: other.nics[0].extId })).privateIp, before.privateIp)
  await changedVm(app, other.extId, 'delete')
  assert.equal(await statusOf(path), 'NOT_ASSOCIATED')
})

const deleteVm = async (extId: string): Promise<CallResult> => {
  const path = `/vmm/v4.2/ahv/config/vms/${extId}`
  const { etag } = await app.call('GET', path)
  return app.call('DELETE', path, { ifMatch: etag as string, requestId: crypto.randomUUID() })
}

test('tasks queued behind the deletion of the VM fail and leave no translation to its address', async () => {
  const vm = await aGuest()
  const vmNicReference = vm.nics[0].extId
  const path = await aFloatingIp({ vmNicReference })
  const release = steps.hold('vmm.delete-vm check')
  const deletion = await deleteVm(vm.extId)
  const update = await put(app, path, { name: 'renamed' })
  release()
  assert.equal((await app.task(deletion)).status, 'SUCCEEDED')
  const task = await app.task(update)
  assert.deepEqual([task.status, task.errorMessages[0].code], ['FAILED', 'NETWORKING-10060'])
  assert.deepEqual(
    [await statusOf(path), (await read(path)).name, translation(path)],
    ['NOT_ASSOCIATED', 'test', undefined],
  )
  assert.equal((await changed(app, path, { association: toPrivate('172.16.9.8') })).privateIp, '172.16.9.8')
})

test('the deletion of a VM waits for the floating IP that is being associated with it', async () => {
  const vm = await aGuest()
  const path = await aFloatingIp()
  const release = steps.hold('networking.update-floating-ip program NAT')
  const update = await put(app, path, { vmNicReference: vm.nics[0].extId })
  const deletion = await deleteVm(vm.extId)
  release()
  for (const answer of [update, deletion]) assert.equal((await app.task(answer)).status, 'SUCCEEDED')
  assert.deepEqual([await statusOf(path), translation(path)], ['NOT_ASSOCIATED', undefined])
})

for (const [step, verb] of [
  ['program NAT', 'create'],
  ['send gratuitous ARP', 'create'],
] as const) {
  test(`a creation that fails at "${step}" leaves no row, address or translation, and the next one succeeds`, async () => {
    const before = await usageOf(app, demoSubnet('ext-nat'))
    steps.failing = `networking.${verb}-floating-ip ${step}`
    const task = await app.task(await create({ association: toPrivate('172.16.9.9') }))
    assert.deepEqual([task.status, task.errorMessages.length > 0], ['FAILED', true])
    assert.equal((await app.call('GET', `${floatingIps}/${task.entitiesAffected[0].extId}`)).status, 404)
    assert.deepEqual(await usageOf(app, demoSubnet('ext-nat')), before)
    assert.equal(routingFacts(app.world).floatingIps.all().size, 0)
    steps.failing = undefined
    await aFloatingIp({ association: toPrivate('172.16.9.9') })
  })
}

test('a failed update restores the old translation and releases the new private address', async () => {
  const path = await aFloatingIp({ association: toPrivate('172.16.9.1') })
  steps.failing = 'networking.update-floating-ip send gratuitous ARP'
  const task = await app.task(await put(app, path, { association: toPrivate('172.16.9.2') }))
  assert.equal(task.status, 'FAILED')
  assert.deepEqual([(await read(path)).privateIp, translation(path)?.privateAddress], ['172.16.9.1', '172.16.9.1'])
  steps.failing = undefined
  await removed(app, await aFloatingIp({ association: toPrivate('172.16.9.2') }))
  assert.equal((await changed(app, path, { association: toPrivate('172.16.9.2') })).privateIp, '172.16.9.2')
})

test('while an update runs, the old and the new private address are held, and a second update of the floating IP is refused', async () => {
  const path = await aFloatingIp({ association: toPrivate('172.16.9.1') })
  const { data, etag } = await app.call('GET', path)
  const body = { ...data, association: toPrivate('172.16.9.2') }
  const [update, ...others] = await Promise.all([
    app.call('PUT', path, { body, ifMatch: etag as string }),
    create({ association: toPrivate('172.16.9.1') }),
    create({ association: toPrivate('172.16.9.2') }),
    app.call('DELETE', path),
    app.call('PUT', path, { body, ifMatch: etag as string }),
  ])
  assert.deepEqual(others.map(refusal), [
    [409, 'ENTITY_ALREADY_EXISTS'],
    [409, 'ENTITY_ALREADY_EXISTS'],
    [409, 'ENTITY_BUSY'],
    [412, 'INVALID_ETAG_HEADER'],
  ])
  assert.equal((await app.task(update)).status, 'SUCCEEDED')
  await removed(app, await aFloatingIp({ association: toPrivate('172.16.9.1') }))
})

test('a VPC with an associated floating IP can neither be detached from the external subnet nor deleted', async () => {
  const vpc = await aVpc(app, { externalSubnets: [attachedTo('ext-nat')] })
  const path = await aFloatingIp({ name: 'holding', association: toPrivate('172.16.9.9', idOf(vpc)) })
  for (const refused of [await put(app, vpc, { externalSubnets: [] }), await app.call('DELETE', vpc)]) {
    assert.deepEqual(refusal(refused), [409, 'ENTITY_IN_USE'])
    assert.match(refused.errors[0]!.message, /floating IP holding/)
  }
  await changed(app, path, { association: undefined, vpcReference: undefined })
  const detaching = await put(app, vpc, { externalSubnets: [] })
  const late = await put(app, path, { association: toPrivate('172.16.9.9', idOf(vpc)) })
  assert.equal(late.status, 409)
  await app.task(detaching)
  await removed(app, vpc)
})

test('NAT of an external subnet cannot be disabled while the subnet has floating IPs', async () => {
  const ranges = { ipv4: '10.46.0.0/24', pools: [['10.46.0.10', '10.46.0.20']] } as const
  const subnet = await made(app, subnets, {
    name: 'outside',
    subnetType: 'VLAN',
    networkId: 346,
    isExternal: true,
    ipConfig: ipConfigOf(ranges),
  })
  const path = await aFloatingIp({ externalSubnetReference: idOf(subnet) })
  assert.deepEqual(refusal(await put(app, subnet, { isNatEnabled: false })), [409, 'ENTITY_IN_USE'])
  await removed(app, path)
  await removed(app, subnet)
})

test('a floating IP is refused while a task disables the NAT of its external subnet', async () => {
  const ranges = { ipv4: '10.47.0.0/24', pools: [['10.47.0.10', '10.47.0.20']] } as const
  const path = await aSubnet(app, ranges, { name: 'losing', networkId: 347, isExternal: true })
  const release = steps.hold('networking.update-subnet program hosts')
  const losing = await put(app, path, { isNatEnabled: false })
  const refused = await create({ externalSubnetReference: idOf(path) })
  assert.deepEqual([losing.status, refused.status, pathsOf(refused)], [202, 400, ['externalSubnetReference']])
  release()
  await app.task(losing)
  await removed(app, path)
})

test('lists filter by subnet, address and association, order by address and name, and expand subnet, VPC and NIC', async () => {
  const vm = await aGuest()
  const [{ extId: nic }] = vm.nics
  await aFloatingIp({ name: 'b', floatingIp: ip('10.44.3.215'), association: toPrivate('172.16.9.9') })
  await aFloatingIp({ name: 'a', floatingIp: ip('10.44.3.216'), vmNicReference: nic })
  const names = async (query: string): Promise<string[]> =>
    (await app.call('GET', `${floatingIps}?${query}`)).data.map(({ name }: any) => name)
  for (const [filter, found] of [
    [`externalSubnetReference eq '${externalSubnetReference}'`, ['b', 'a']],
    ["floatingIp/ipv4/value eq '10.44.3.215'", ['b']],
    ["floatingIp/ipv6/value eq 'fd00::1'", []],
    [`association/vmNicReference eq '${nic}'`, ['a']],
    ["association/privateIp/ipv4/value eq '172.16.9.9'", ['b']],
    [`association/vpcReference eq '${prod}'`, ['b', 'a']],
    ["name eq 'a'", ['a']],
    [`loadBalancerSessionReference eq '${nic}'`, []],
  ] as const)
    assert.deepEqual(await names(`$filter=${encodeURIComponent(filter)}`), found, filter)
  assert.deepEqual(await names('$orderby=name'), ['a', 'b'])
  assert.deepEqual(await names('$orderby=floatingIp/ipv4/value desc'), ['a', 'b'])
  const { data } = await app.call('GET', `${floatingIps}?$orderby=name&$expand=externalSubnet,vpc,vmNic`)
  assert.deepEqual(
    data.map(({ subnetProjection, vpcProjection, vmNicProjection }: any) => [
      subnetProjection.name,
      vpcProjection.name,
      vmNicProjection?.privateIp,
    ]),
    [
      ['ext-nat', 'prod', addressOf(vm)],
      ['ext-nat', 'prod', undefined],
    ],
  )
  await changedVm(app, vm.extId, 'delete')
})

test('an association beyond 2,500 floating IPs of a VPC is refused, by creation or update; floating IPs without association do not count', async () => {
  const few = await startApp({ limits: { floatingIpsOfVpc: 2 } })
  try {
    const body = { name: 'test', externalSubnetReference }
    await made(few, floatingIps, { ...body, association: toPrivate('172.16.9.1') })
    const free = await made(few, floatingIps, body)
    const created = await few.call('POST', floatingIps, { body: { ...body, association: toPrivate('172.16.9.2') } })
    const updated = await put(few, free, { association: toPrivate('172.16.9.2') })
    for (const refused of [created, updated]) assert.deepEqual(refusal(refused), [422, 'LIMIT_EXCEEDED'])
  } finally {
    await few.close()
  }
})

test('floating IPs are refused while their product is disabled or the controller is down, and reads work', async () => {
  const path = await aFloatingIp()
  const controller = seedId('network-controller')
  await routingFacts(app.world).controllerFaults.put(controller, { state: 'DOWN' })
  for (const { status } of [await create(), await app.call('DELETE', path), await put(app, path)])
    assert.equal(status, 503)
  assert.equal((await app.call('GET', path)).status, 200)
  await routingFacts(app.world).controllerFaults.remove(controller)
  assert.equal((await app.call('GET', demoVpc('prod'))).status, 200)
})
