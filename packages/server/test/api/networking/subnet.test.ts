/** Subnets. Source: behaviour networking.md 1.1, 1.2, 5 (15 to 20, 47 to 49). */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, test } from 'node:test'
import { AddressLease } from '@hyperplane/contract/networking/address-lease'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { fabricFacts } from '../../../src/drivers/simulated/network-fabric.ts'
import { setFault } from '../../support/clustermgmt.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { aSubnet, assign, demoSubnet, ipConfigOf, recount, reserve, subnets, usageOf } from '../../support/subnets.ts'

let app: TestApp
before(async () => {
  app = await startApp({ unchecked: 'leases are held by ids of no entity' })
})
afterEach(() => recount(app))
after(() => app.close())

const ten = { ipv4: '10.20.0.0/24', pools: [['10.20.0.10', '10.20.0.19']] } as const
const idOf = (path: string): string => path.slice(-36)
const groupOf = (result: CallResult): string | undefined => result.errors[0]?.errorGroup
const pathsOf = (result: CallResult): (string | undefined)[] =>
  result.errors.map((error) => error.argumentsMap?.['attributePath'])
const create = (body: object): Promise<CallResult> => app.call('POST', subnets, { body })
const vlan = (body: object = {}): object => ({ name: 'test', subnetType: 'VLAN', networkId: 7, ...body })
const overlay = (vpc: string, ipv4: string, body: object = {}): object => ({
  name: 'overlay',
  subnetType: 'OVERLAY',
  vpcReference: seedId(`vpc/${vpc}`),
  ipConfig: ipConfigOf({ ipv4 }),
  ...body,
})

/** Sends the subnet back as it was read, with changes. */
async function put(path: string, changes: object): Promise<CallResult> {
  const { data, etag } = await app.call('GET', path)
  return app.call('PUT', path, { body: { ...data, ...changes }, ifMatch: etag! })
}

/** A machine with one NIC on the subnet, as vmm stores it. */
async function aMachine(subnet: string, name: string): Promise<{ vmExtId: string; nicExtId: string }> {
  const [vmExtId, nicExtId] = [randomUUID(), randomUUID()]
  const network = { nicType: 'NORMAL_NIC', vlanMode: 'ACCESS', subnet: { extId: idOf(subnet) } }
  const backing = { isConnected: true, macAddress: `50:6b:8d:${nicExtId.slice(0, 2)}:${nicExtId.slice(2, 4)}:01` }
  await app.store.transaction((store) =>
    store.insert(Vm, {
      extId: vmExtId,
      name,
      powerState: 'OFF',
      nics: [{ extId: nicExtId, backingInfo: backing, networkInfo: network }],
    } as never),
  )
  return { vmExtId, nicExtId }
}

test('a created subnet is visible at acceptance, with defaults, and busy until its task has ended', async () => {
  const started = await create(vlan({ networkId: undefined, ipConfig: ipConfigOf(ten) }))
  assert.equal(started.status, 202)
  const list = await app.call('GET', `${subnets}?$filter=name eq 'test'`)
  const task = await app.task(started)
  assert.equal(task.operation, 'kSubnetCreate')
  assert.deepEqual(task.clusterExtIds, [seedId('cluster/hp-native-01')])
  assert.deepEqual(
    task.entitiesAffected.map((entity: any) => entity.rel),
    ['networking:config:subnet', 'networking:config:virtual-switch'],
  )
  const { data } = await app.call('GET', `${subnets}/${task.entitiesAffected[0].extId}`)
  assert.ok(list.data.some((item: any) => item.extId === data.extId))
  assert.equal(data.networkId, 0)
  assert.equal(data.isExternal, false)
  assert.equal(data.isNatEnabled, undefined)
  assert.equal(data.bridgeName, 'br0')
  assert.equal(data.clusterName, 'hp-native-01')
  assert.equal(data.virtualSwitchReference, seedId('virtual-switch/vs0'))
  assert.equal(data.ipPrefix, '10.20.0.0/24')
  assert.equal(data.metadata.ownerUserName, 'admin')
  assert.equal(fabricFacts(app.world).subnets.get(data.extId)?.hostExtIds.length, 4)
  assert.equal(fabricFacts(app.world).dhcp.get(data.extId)?.gateways[0], '10.20.0.1')
})

test('a VLAN subnet with three faults is refused with the path of each', async () => {
  const [config] = ipConfigOf({ ipv4: '10.20.0.0/24', pools: [['10.20.0.19', '10.20.0.10']] }) as any[]
  config.ipv4.defaultGatewayIp.value = '10.21.0.1'
  const refused = await create(vlan({ networkId: 4096, ipConfig: [config] }))
  assert.equal(refused.status, 400)
  assert.deepEqual(pathsOf(refused), ['networkId', 'ipConfig[0]/ipv4/defaultGatewayIp', 'ipConfig[0]/ipv4/poolList[0]'])
  assert.ok(refused.errors.every((error) => error.code === 'NETWORKING-10001'))
})

test('pools may not overlap, and are at most 255', async () => {
  const pools = Array.from({ length: 255 }, () => ['10.0.0.2', '10.255.255.254'] as const)
  const refused = await create(vlan({ ipConfig: ipConfigOf({ ipv4: '10.0.0.0/8', pools }) }))
  assert.equal(refused.status, 400)
  const tooMany = await create(vlan({ ipConfig: ipConfigOf({ ipv4: '10.0.0.0/8', pools: [...pools, pools[0]!] }) }))
  assert.equal(tooMany.status, 400)
})

test('malformed bodies and filters are 400 and store nothing', async () => {
  const before = (await app.call('GET', subnets)).total
  const [config] = ipConfigOf(ten) as any[]
  config.ipv4.ipSubnet.ip.value = '999.1.1.1'
  const bodies = [[vlan()], vlan({ name: 'a\u0000b' }), vlan({ ipConfig: [config] }), vlan({ networkId: 2 ** 63 })]
  for (const body of bodies) assert.equal((await create(body)).status, 400)
  for (const filter of [`name eq '${'x'.repeat(100_000)}'`, '('.repeat(10_000)]) {
    assert.equal((await app.call('GET', `${subnets}?$filter=${encodeURIComponent(filter)}`)).status, 400)
  }
  assert.equal((await app.call('GET', subnets)).total, before)
})

test('lists refuse a limit of 0 or 101, and are empty beyond their end', async () => {
  for (const path of [subnets, `${demoSubnet('vlan-100-app')}/reserved-ips`, `${demoSubnet('vlan-100-app')}/vnics`]) {
    assert.equal((await app.call('GET', `${path}?$limit=0`)).status, 400)
    assert.equal((await app.call('GET', `${path}?$limit=101`)).status, 400)
    const beyond = await app.call('GET', `${path}?$page=1000`)
    assert.deepEqual([beyond.status, beyond.data], [200, []])
  }
})

test('a dry run is refused rather than carried out', async () => {
  const refused = await app.call('POST', `${subnets}?$dryrun=true`, { body: vlan(), unknown: 'ignore' })
  assert.equal(refused.status, 400)
})

test('an overlay subnet must not overlap a sibling of its VPC; in another VPC it may', async () => {
  const refused = await create(overlay('prod', '192.168.0.0/16'))
  assert.deepEqual([refused.status, groupOf(refused)], [409, 'ENTITY_ALREADY_EXISTS'])
  assert.equal(refused.errors[0]!.code, 'NETWORKING-10071')
  const task = await app.task(await create(overlay('tenant-a', '192.168.10.0/24')))
  assert.equal(task.status, 'SUCCEEDED')
  const { data } = await app.call('GET', `${subnets}/${task.entitiesAffected[0].extId}`)
  assert.equal(data.networkId, undefined, 'the network identifier of an overlay subnet is internal')
  assert.ok(((await app.store.get(Subnet, data.extId))?.vni ?? 0) >= 4096)
  assert.equal(data.isAdvancedNetworking, true)
  assert.equal(data.vni, undefined)
})

test('prefix lengths are returned as sent, and that of the address counts when that of the subnet is 0', async () => {
  const ipSubnet = { ip: { value: '10.40.0.0', prefixLength: 24 }, prefixLength: 0 }
  const gateway = { value: '10.40.0.1', prefixLength: 24 }
  const task = await app.task(await create(vlan({ ipConfig: [{ ipv4: { ipSubnet, defaultGatewayIp: gateway } }] })))
  const path = `${subnets}/${task.entitiesAffected[0].extId}`
  const { data } = await app.call('GET', path)
  assert.deepEqual([data.ipConfig[0].ipv4.ipSubnet, data.ipConfig[0].ipv4.defaultGatewayIp], [ipSubnet, gateway])
  assert.equal(data.ipPrefix, '10.40.0.0/24')
  const whole = { ip: { value: '10.40.0.0', prefixLength: 32 }, prefixLength: 0 }
  assert.deepEqual(pathsOf(await create(vlan({ ipConfig: [{ ipv4: { ipSubnet: whole } }] }))), [
    'ipConfig[0]/ipv4/ipSubnet/prefixLength',
  ])
})

test('an update of an overlay subnet is refused where its new range overlaps a sibling, not where it overlaps its own', async () => {
  const made = async (ipv4: string): Promise<string> =>
    `${subnets}/${(await app.task(await create(overlay('tenant-a', ipv4)))).entitiesAffected[0].extId}`
  const [, subnet] = [await made('172.20.0.0/24'), await made('172.20.1.0/24')]
  const refused = await put(subnet, { ipConfig: ipConfigOf({ ipv4: '172.20.0.0/23' }) })
  assert.deepEqual([refused.status, refused.errors[0]?.code], [409, 'NETWORKING-10071'])
  assert.equal((await app.call('GET', subnet)).data.ipPrefix, '172.20.1.0/24')
  const smaller = await app.task(await put(subnet, { ipConfig: ipConfigOf({ ipv4: '172.20.1.0/25' }) }))
  assert.equal(smaller.status, 'SUCCEEDED')
})

test('while an update moves an overlay subnet to another range, siblings may use neither range', async () => {
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>()
  const slow = await startApp({
    beforeStep: (definition) => (definition === 'networking.update-subnet' ? held : undefined),
  })
  try {
    const post = (ipv4: string): Promise<CallResult> => slow.call('POST', subnets, { body: overlay('tenant-a', ipv4) })
    const path = `${subnets}/${(await slow.task(await post('172.24.0.0/24'))).entitiesAffected[0].extId}`
    const { data, etag } = await slow.call('GET', path)
    const body = { ...data, ipConfig: ipConfigOf({ ipv4: '172.24.8.0/24' }) }
    const moving = await slow.call('PUT', path, { body, ifMatch: etag! })
    assert.equal(moving.status, 202)
    for (const range of ['172.24.0.0/25', '172.24.8.0/25']) assert.equal((await post(range)).status, 409, range)
    letGo()
    assert.equal((await slow.task(moving)).status, 'SUCCEEDED')
    assert.equal((await post('172.24.0.0/25')).status, 202)
  } finally {
    letGo()
    await slow.close()
  }
})

test('of two concurrent creations of overlapping overlay subnets one succeeds', async () => {
  const results = await Promise.all([
    create(overlay('tenant-a', '172.16.0.0/24')),
    create(overlay('tenant-a', '172.16.0.0/20')),
  ])
  assert.deepEqual(results.map((result) => result.status).sort(), [202, 409])
})

test('an unknown reference is 404 with an error code of the namespace', async () => {
  const unknown = randomUUID()
  const refused = await create(overlay('prod', '10.99.0.0/24', { vpcReference: unknown }))
  assert.equal(refused.status, 404)
  assert.equal(refused.errors[0]!.code, 'NETWORKING-10060')
  assert.equal(
    refused.errors[0]!.message,
    `Failed to create subnet overlay as a referenced resource was not found - VPC ${unknown} not found`,
  )
  const missing = await app.call('GET', `${subnets}/${unknown}`)
  assert.deepEqual([missing.status, missing.errors[0]!.code], [404, 'NETWORKING-10010'])
})

test('a creation that fails leaves no row, no lease and nothing in the fabric', async () => {
  const failing = await startApp({
    logLevel: 'silent',
    beforeStep(definition, step, phase) {
      if (definition === 'networking.create-subnet' && step === 'start DHCP' && phase === 'run') throw new Error('no')
    },
  })
  try {
    const started = await failing.call('POST', subnets, { body: vlan({ ipConfig: ipConfigOf(ten) }) })
    const task = await failing.task(started)
    assert.equal(task.status, 'FAILED')
    const { extId } = task.entitiesAffected[0]
    assert.equal((await failing.call('GET', `${subnets}/${extId}`)).status, 404)
    assert.equal(fabricFacts(failing.world).subnets.get(extId), undefined)
    await recount(failing)
  } finally {
    await failing.close()
  }
})

test('while its cluster does not answer, a subnet cannot be created, changed or deleted, and stays unchanged', async () => {
  const subnet = await aSubnet(app, ten)
  const { data, etag } = await app.call('GET', subnet)
  await setFault(app, data.clusterReference, { isDown: true })
  try {
    const refused = [
      await create(vlan({ clusterReference: data.clusterReference })),
      await app.call('PUT', subnet, { body: { ...data, name: 'renamed' }, ifMatch: etag! }),
      await app.call('DELETE', subnet, { ifMatch: etag! }),
    ]
    assert.deepEqual(
      refused.map((result) => [result.status, groupOf(result), result.headers['Retry-After']]),
      refused.map(() => [503, 'CLUSTER_UNREACHABLE', '5']),
    )
  } finally {
    await setFault(app, data.clusterReference)
  }
  assert.deepEqual((await app.call('GET', subnet)).data, data)
  assert.equal((await app.task(await app.call('DELETE', subnet))).status, 'SUCCEEDED')
})

test('deleting a subnet with a NIC is refused naming the VM; without NICs it succeeds and deletes the reservations too', async () => {
  const subnet = await aSubnet(app, ten)
  const { vmExtId } = await aMachine(subnet, 'holder-01')
  await reserve(app, subnet, { reserveType: 'IP_ADDRESS_COUNT', count: 2 })
  const refused = await app.call('DELETE', subnet)
  assert.deepEqual([refused.status, groupOf(refused)], [409, 'ENTITY_IN_USE'])
  assert.match(refused.errors[0]!.message, /VM holder-01/)
  await app.store.transaction((store) => store.remove(Vm, vmExtId))
  const task = await app.task(await app.call('DELETE', subnet))
  assert.deepEqual([task.status, task.operation], ['SUCCEEDED', 'kSubnetDelete'])
  assert.equal((await app.call('GET', subnet)).status, 404)
  assert.equal(fabricFacts(app.world).subnets.get(idOf(subnet)), undefined)
})

test('an external subnet with an attached VPC is not deleted', async () => {
  const refused = await app.call('DELETE', demoSubnet('ext-routed'))
  assert.equal(refused.status, 409)
  assert.match(refused.errors[0]!.message, /VPC prod/)
})

test('shrinking a prefix so that it excludes an assigned address is refused and changes nothing', async () => {
  const subnet = await aSubnet(app, ten)
  await assign(app, subnet, randomUUID(), '10.20.0.200')
  const before = await app.call('GET', subnet)
  const smaller = ipConfigOf({ ipv4: '10.20.0.0/26', pools: [['10.20.0.10', '10.20.0.19']] })
  const refused = await put(subnet, { ipConfig: smaller })
  assert.deepEqual([refused.status, groupOf(refused)], [409, 'ENTITY_IN_USE'])
  assert.match(refused.errors[0]!.message, /10\.20\.0\.200/)
  const gone = await put(subnet, { ipConfig: [] })
  assert.equal(gone.status, 409)
  const after = await app.call('GET', subnet)
  assert.deepEqual([after.etag, after.data], [before.etag, before.data])
})

test('leases that an update leaves outside the pools are kept', async () => {
  const subnet = await aSubnet(app, ten)
  await reserve(app, subnet, { reserveType: 'IP_ADDRESS_COUNT', count: 3 })
  const fewer = ipConfigOf({ ipv4: '10.20.0.0/24', pools: [['10.20.0.12', '10.20.0.13']] })
  assert.equal((await app.task(await put(subnet, { ipConfig: fewer }))).status, 'SUCCEEDED')
  const usage = await usageOf(app, subnet)
  assert.deepEqual([usage.ipPoolUsages[0].numTotalIPs, usage.numFreeIPs], [2, 1])
  assert.equal((await app.call('GET', `${subnet}/reserved-ips`)).total, 3)
})

test('a changed gateway is leased and the old one released, and an address in use is refused as gateway', async () => {
  const subnet = await aSubnet(app, ten)
  await assign(app, subnet, randomUUID(), '10.20.0.5')
  const [config] = ipConfigOf(ten) as any[]
  config.ipv4.defaultGatewayIp.value = '10.20.0.5'
  const refused = await put(subnet, { ipConfig: [config] })
  assert.deepEqual([refused.status, groupOf(refused)], [409, 'IP_ADDRESS_UNAVAILABLE'])
  config.ipv4.defaultGatewayIp.value = '10.20.0.254'
  assert.equal((await app.task(await put(subnet, { ipConfig: [config] }))).status, 'SUCCEEDED')
  const list = (value: string) => ({ reserveType: 'IP_ADDRESS_LIST', ipAddresses: [{ ipv4: { value } }] })
  assert.equal((await reserve(app, subnet, list('10.20.0.254'))).status, 409)
  assert.equal((await reserve(app, subnet, list('10.20.0.1'))).status, 202)
})

test('until an update has ended GET shows the old configuration, and the new addresses are refused to others', async () => {
  let letGo = (): void => undefined
  const held = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const slow = await startApp({
    beforeStep: (definition) => (definition === 'networking.update-subnet' ? held : undefined),
  })
  try {
    const path = demoSubnet('vlan-100-app')
    const first = await slow.call('GET', path)
    const body = { ...first.data, name: 'renamed' }
    const started = await slow.call('PUT', path, { body, ifMatch: first.etag! })
    assert.equal(started.status, 202)
    const during = await slow.call('GET', path)
    assert.equal(during.data.name, 'vlan-100-app')
    assert.equal(during.data.change, undefined)
    for (const result of [
      await slow.call('PUT', path, { body, ifMatch: during.etag! }),
      await slow.call('DELETE', path),
    ]) {
      assert.equal(result.status, 409)
      assert.deepEqual([groupOf(result), result.errors[0]!.code], ['ENTITY_BUSY', 'NETWORKING-10072'])
      assert.match(
        result.errors[0]!.message,
        new RegExp(`Subnet vlan-100-app is being updated by task ${started.data.extId}`),
      )
    }
    letGo()
    assert.equal((await slow.task(started)).status, 'SUCCEEDED')
    assert.equal((await slow.call('GET', path)).data.name, 'renamed')
  } finally {
    letGo()
    await slow.close()
  }
})

test('a failed update restores the fabric and the leases', async () => {
  const failing = await startApp({
    logLevel: 'silent',
    beforeStep(definition, step, phase) {
      if (definition === 'networking.update-subnet' && step === 'configure DHCP' && phase === 'run')
        throw new Error('no')
    },
  })
  try {
    const path = demoSubnet('vlan-100-app')
    const { data, etag } = await failing.call('GET', path)
    const body = structuredClone(data)
    body.networkId = 101
    body.ipConfig[0].ipv4.defaultGatewayIp.value = '10.10.100.254'
    const vms = await failing.call('GET', `${path}/vnics`)
    const leases = async () =>
      (await failing.store.findWhere(AddressLease, { subnetExtId: idOf(path) })).map(({ extId }) => extId).sort()
    const leasesBefore = await leases()
    const started = await failing.call('PUT', path, {
      body: vms.total === 0 ? body : { ...body, networkId: 100 },
      ifMatch: etag!,
    })
    assert.equal((await failing.task(started)).status, 'FAILED')
    const after = await failing.call('GET', path)
    assert.deepEqual(after.data, data)
    assert.equal(fabricFacts(failing.world).subnets.get(idOf(path))?.tag, 100)
    assert.deepEqual(await leases(), leasesBefore, 'neither gateway is taken twice nor given away')
    const again = await failing.call('PUT', path, { body: after.data, ifMatch: after.etag! })
    assert.equal(again.status, 202, 'the failed update keeps nobody away')
    await failing.task(again)
    await recount(failing)
  } finally {
    await failing.close()
  }
})

test('of two PUTs with the same ETag one succeeds, and an address that is assigned in between conflicts with neither', async () => {
  const subnet = await aSubnet(app, ten)
  const { data, etag } = await app.call('GET', subnet)
  await assign(app, subnet, randomUUID())
  const send = (name: string): Promise<CallResult> =>
    app.call('PUT', subnet, { body: { ...data, name }, ifMatch: etag! })
  const results = await Promise.all([send('a'), send('b')])
  assert.deepEqual(results.map((result) => result.status).sort(), [202, 412])
})

test('a PUT needs the ETag, a DELETE does not', async () => {
  const subnet = await aSubnet(app, ten)
  const { data } = await app.call('GET', subnet)
  assert.equal((await app.call('PUT', subnet, { body: data })).status, 428)
  assert.equal((await app.call('DELETE', subnet, { ifMatch: '"stale"' })).status, 412)
  assert.equal((await app.task(await app.call('DELETE', subnet))).status, 'SUCCEEDED')
})

test('a PUT that changes an immutable field is refused, an omitted immutable field is kept and another one cleared', async () => {
  const subnet = await aSubnet(app, ten, { description: 'to be cleared', isExternal: true, isNatEnabled: false })
  const refused = await put(subnet, { subnetType: 'OVERLAY' })
  assert.deepEqual([refused.status, refused.errors[0]!.code], [400, 'NETWORKING-10002'])
  const { data, etag } = await app.call('GET', subnet)
  const body = { name: 'kept', subnetType: 'VLAN', networkId: 7, ipConfig: data.ipConfig }
  assert.equal((await app.task(await app.call('PUT', subnet, { body, ifMatch: etag! }))).status, 'SUCCEEDED')
  const after = (await app.call('GET', subnet)).data
  assert.deepEqual([after.isExternal, after.isNatEnabled, after.description], [true, true, undefined])
  assert.equal(after.metadata.ownerUserName, 'admin')
})

test('a PUT that adds an immutable field is refused; false for a switch that the subnet does not have is accepted', async () => {
  const subnet = await aSubnet(app, ten)
  assert.equal((await app.task(await put(subnet, { isAdvancedNetworking: false }))).status, 'SUCCEEDED')
  const refused = await put(subnet, { isAdvancedNetworking: true })
  assert.deepEqual([refused.status, refused.errors[0]!.code], [400, 'NETWORKING-10002'])
  assert.match(refused.errors[0]!.message, /expected no value, found true/)
})

test('a PUT whose body has the id of another subnet is refused', async () => {
  const subnet = await aSubnet(app, ten)
  const refused = await put(subnet, { extId: randomUUID() })
  assert.deepEqual([refused.status, refused.errors[0]!.code, pathsOf(refused)], [400, 'NETWORKING-10002', ['extId']])
  assert.equal((await app.task(await put(subnet, { extId: idOf(subnet) }))).status, 'SUCCEEDED')
  assert.equal((await app.task(await put(subnet, { extId: undefined, tenantId: randomUUID() }))).status, 'SUCCEEDED')
})

test('a PUT that changes nothing succeeds in a task and changes the ETag', async () => {
  const subnet = await aSubnet(app, ten)
  const before = await app.call('GET', subnet)
  const task = await app.task(await put(subnet, {}))
  assert.deepEqual([task.status, task.operation], ['SUCCEEDED', 'kSubnetUpdate'])
  const after = await app.call('GET', subnet)
  assert.deepEqual(after.data, before.data)
  assert.notEqual(after.etag, before.etag)
})

test('categories of a subnet are stored once and in order, and counted with the type SUBNET until they are removed', async () => {
  const categories = '/platform/v4.3/config/categories'
  const category = async (value: string): Promise<string> =>
    (await app.call('POST', categories, { body: { key: 'Net', value } })).data.extId
  const [a, b] = [await category('a'), await category('b')]
  const subnet = await aSubnet(app, ten, { metadata: { categoryIds: [b, a, b] } })
  assert.deepEqual((await app.call('GET', subnet)).data.metadata.categoryIds, [b, a])
  const counted = async (extId: string): Promise<unknown[]> =>
    ((await app.call('GET', `${categories}/${extId}?$expand=associations`)).data.associations ?? []).map(
      ({ resourceType, count }: any) => [resourceType, count],
    )
  assert.deepEqual([await counted(a), await counted(b)], [[['SUBNET', 1]], [['SUBNET', 1]]])
  assert.equal((await app.call('DELETE', `${categories}/${a}`)).status, 409)
  await app.task(await put(subnet, { metadata: { categoryIds: [b] } }))
  assert.deepEqual([await counted(a), await counted(b)], [[], [['SUBNET', 1]]])
  await app.task(await app.call('DELETE', subnet))
  assert.deepEqual(await counted(b), [])
  const unknown = await create(vlan({ metadata: { categoryIds: [randomUUID()] } }))
  assert.deepEqual([unknown.status, unknown.errors[0]!.code], [404, 'NETWORKING-10060'])
})

test('the VLAN id of a subnet with a NIC cannot be changed', async () => {
  const subnet = await aSubnet(app, ten)
  await aMachine(subnet, 'holder-02')
  const refused = await put(subnet, { networkId: 8 })
  assert.equal(refused.status, 409)
  assert.match(refused.errors[0]!.message, /VM holder-02/)
  assert.equal((await put(subnet, { description: 'free to change' })).status, 202)
})

test('NICs of a subnet are listed with their addresses, ordered and filtered', async () => {
  const subnet = await aSubnet(app, ten)
  const { vmExtId, nicExtId } = await aMachine(subnet, 'holder-03')
  await aMachine(subnet, 'holder-04')
  await assign(app, subnet, nicExtId, '10.20.0.42')
  const all = await app.call('GET', `${subnet}/vnics`)
  assert.equal(all.total, 2)
  const { data } = await app.call('GET', `${subnet}/vnics?$filter=vmReference eq '${vmExtId}'`)
  assert.equal(data.length, 1)
  assert.deepEqual(data[0].assignedIpv4Addresses, [{ ipv4: { value: '10.20.0.42', prefixLength: 32 } }])
  assert.match(data[0].macAddress, /^50:6b:8d:/)
  assert.equal((await usageOf(app, subnet)).numMacs, 2)
  assert.equal((await app.call('GET', `${subnets}/${randomUUID()}/vnics`)).status, 404)
})

test('the demo has its subnets, and only a single read shows their IP usage', async () => {
  const list = await app.call('GET', `${subnets}?$orderby=name&$expand=vpc($select=name)`)
  const byName = new Map(list.data.map((item: any) => [item.name, item]))
  for (const name of ['vlan-100-app', 'vlan-200-static', 'ext-nat', 'ext-routed', 'web', 'db', 'transit-ext']) {
    assert.ok(byName.has(name), name)
  }
  assert.equal((byName.get('web') as any).vpc.name, 'prod')
  assert.ok(list.data.every((item: any) => item.ipUsage === undefined))
  const nat = await app.call('GET', demoSubnet('ext-nat'))
  assert.deepEqual(
    nat.data.ipUsage.ipPoolUsages.map((pool: any) => pool.numTotalIPs),
    [11, 17],
  )
})
