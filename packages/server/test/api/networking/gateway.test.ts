/** Creating, changing and deleting gateways. Source: behaviour networking.md 1.3, 1.9, 5 (32). */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { AddressLease } from '@hyperplane/contract/networking/address-lease'
import { Gateway } from '@hyperplane/contract/networking/gateway'
import { Task } from '@hyperplane/contract/platform/task'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { HostAllocation } from '../../../src/domains/scheduling/host-allocation.ts'
import { gatewayFacts } from '../../../src/drivers/simulated/gateways.ts'
import { diskFacts, domainFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { vtep } from '../../kinds/networking/gateway.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { aSubnet } from '../../support/subnets.ts'
import { attachedTo, aVpc, changed, demoVpc, ip, made, put, removed, routesIn } from '../../support/vpcs.ts'

const gateways = '/networking/v4.3/config/gateways'
const sessions = '/networking/v4.3/config/bgp-sessions'
const demoSession = `${sessions}/${seedId('bgp-session/prod-tor-a')}`
const local = `${gateways}/${seedId('gateway/bgp-prod')}`
const remote = `${gateways}/${seedId('gateway/tor-a')}`
const type = (name: string) => ({ $objectType: `networking.v4.config.${name}NetworkServices` })
const localServices = (services: object): object => ({ services: { ...type('Local'), ...services } })
const remoteServices = (services: object): object => ({ services: { ...type('Remote'), ...services } })
const bgp = { localBgpService: { asn: 65020 } }

/** `<task definition> <step>` whose run fails. */
let failing: string | undefined
let app: TestApp
before(async () => {
  app = await startApp({
    logLevel: 'silent',
    beforeStep(definition, step, phase) {
      if (phase === 'run' && `${definition} ${step}` === failing) throw new Error('no')
    },
  })
})
afterEach(async () => {
  failing = undefined
  await checkInvariants(app)
})
after(() => app.close())

const create = (body: object): Promise<CallResult> => app.call('POST', gateways, { body: { name: 'edge', ...body } })
const read = async (path: string): Promise<any> => (await app.call('GET', path)).data
const refusal = (result: CallResult): unknown => [
  result.status,
  ...result.errors.map(({ code, argumentsMap }) => [code, argumentsMap?.['attributePath']]),
]
const leasesOf = (path: string) => app.store.findWhere(AddressLease, { holderExtId: path.slice(-36) })
const held = (vmExtId: string) => app.store.findWhere(HostAllocation, { vmExtId })

test('a local BGP gateway of a VPC runs on a host, has an address on the subnet without NAT, and is UP', async () => {
  const vpc = await aVpc(app, { externalSubnets: [attachedTo('ext-routed')] })
  const vpcReference = vpc.slice(-36)
  const task = await app.task(await create({ vpcReference, ...localServices(bgp) }))
  assert.deepEqual([task.status, task.operation], ['SUCCEEDED', 'kGatewayCreate'])
  assert.deepEqual(
    task.entitiesAffected.map(({ rel }: any) => rel),
    ['networking:config:gateway', 'networking:config:vpc'],
  )
  assert.deepEqual(task.clusterExtIds, [seedId('cluster/hp-native-01')])
  const path = `${gateways}/${task.entitiesAffected[0].extId}`
  const gateway = await read(path)
  assert.deepEqual(gateway.status, { state: 'UP' })
  assert.equal(gateway.services.localBgpService.vpcReference, vpcReference)
  assert.equal(gateway.installedSoftwareVersion, gateway.supportedSoftwareVersion)
  const { clusterReference, dnsServers, interfaces, ntpServers } = gateway.deployment
  assert.equal(clusterReference, seedId('cluster/hp-native-01'))
  assert.deepEqual(
    dnsServers.map(({ ipv4 }: any) => ipv4.value),
    ['8.8.8.8', '4.4.4.4'],
  )
  assert.equal(ntpServers.length, 4)
  assert.equal(interfaces.length, 1)
  assert.match(interfaces[0].ipAddress.ipv4.value, /^10\.44\.4\./)
  assert.deepEqual([interfaces[0].defaultGatewayAddress.ipv4.value, interfaces[0].mtu], ['10.44.4.1', 1500])
  assert.deepEqual(gateway.services.serviceAddress, interfaces[0].ipAddress)
  const [allocation] = await held(gateway.vmReference)
  assert.deepEqual([allocation?.vcpus, allocation?.memoryBytes], [2, 4 * 1024 ** 3])
  assert.equal(domainFacts(app.world).get(gateway.vmReference)?.hostExtId, allocation?.hostExtId)
  const hidden = await app.call('GET', `/vmm/v4.2/ahv/config/vms/${gateway.vmReference}`)
  assert.equal(hidden.status, 404)

  await removed(app, path)
  assert.deepEqual([await held(gateway.vmReference), await leasesOf(path)], [[], []])
  assert.equal(domainFacts(app.world).get(gateway.vmReference), undefined)
  await removed(app, vpc)
})

test('lists filter by name, expand VM and VPC, and show local and remote gateways', async () => {
  const filter = encodeURIComponent(`name eq 'bgp-prod' and vpcReference eq '${seedId('vpc/prod')}'`)
  const { data, total } = await app.call('GET', `${gateways}?$filter=${filter}&$expand=vm,vpc`)
  assert.equal(total, 1)
  assert.match(data[0].vm.name, /^gateway-/)
  assert.equal(data[0].vpc.name, 'prod')
  const all = await app.call('GET', `${gateways}?$orderby=name desc`)
  const names = all.data.map(({ name }: any) => name)
  assert.deepEqual(names, [...names].sort().reverse())
  assert.ok(names.includes('tor-a'))
})

test('gateways, VPN connections and learned MAC addresses are found by their ids', async () => {
  const stretch = `layer2-stretches/${seedId('layer2-stretch/web-stretch')}`
  for (const collection of ['gateways', 'vpn-connections', `${stretch}/learned-mac-addresses`]) {
    const path = `/networking/v4.3/config/${collection}`
    const { data } = await app.call('GET', path)
    const { extId } = data.at(-1)
    const found = await app.call('GET', `${path}?$filter=extId eq '${extId}'`)
    assert.deepEqual([found.total, found.data[0]?.extId], [1, extId], collection)
  }
})

test('a remote gateway is UP while a session to it is established', async () => {
  assert.deepEqual((await read(remote)).status, { state: 'UP' })
  const path = await made(app, gateways, {
    name: 'unused',
    ...remoteServices({ remoteBgpService: { address: ip('10.44.4.80'), asn: 65080 } }),
  })
  assert.deepEqual((await read(path)).status, { state: 'DOWN', message: 'no session or tunnel to it is up' })
  await removed(app, path)
})

test('faults of the services, the placement and the addresses of a body are reported together', async () => {
  const vpcReference = seedId('vpc/prod')
  const none = await create({ services: type('Local') })
  assert.deepEqual(refusal(none), [400, ['NETWORKING-10001', 'services']])
  const two = await create(localServices({ ...bgp, localVtepService: { vxlanPort: 1 } }))
  assert.deepEqual(refusal(two), [400, ['NETWORKING-10001', 'services']])
  const nowhere = await create(localServices(bgp))
  assert.deepEqual(refusal(nowhere), [400, ['NETWORKING-10001', 'vpcReference']])
  const both = await create(vtep('both', { vpcReference }))
  assert.deepEqual(refusal(both), [400, ['NETWORKING-10001', 'vpcReference']])
  const neither = await create(localServices({ localVtepService: { vxlanPort: 4789 } }))
  assert.deepEqual(refusal(neither), [400, ['NETWORKING-10001', 'vpcReference']])
  const foreign = await create({
    vpcReference,
    deployment: { dnsServers: [ip('224.0.0.1')] },
    ...remoteServices({ remoteBgpService: { address: ip('127.0.0.1'), asn: 65001 } }),
  })
  assert.deepEqual(refusal(foreign), [
    400,
    ['NETWORKING-10001', 'deployment'],
    ['NETWORKING-10001', 'vpcReference'],
    ['NETWORKING-10001', 'services/remoteBgpService/address'],
  ])
  const vteps = [{ address: ip('10.1.1.1') }, { address: ip('10.1.1.1') }, {}]
  assert.deepEqual(refusal(await create(remoteServices({ remoteVtepService: { vteps } }))), [
    400,
    ['NETWORKING-10001', 'services/remoteVtepService/vteps[1]/address'],
    ['NETWORKING-10001', 'services/remoteVtepService/vteps[2]/address'],
  ])
  assert.deepEqual(refusal(await create(remoteServices({ remoteVpnService: {} }))), [
    400,
    ['NETWORKING-10001', 'services/remoteVpnService/serviceAddress'],
  ])
})

test('gateways in a cloud network or on a vCenter datastore are refused with 501', async () => {
  const cloud = await create({ ...vtep('cloud'), cloudNetworkReference: seedId('nothing') })
  const datastore = await create(vtep('datastore', { deployment: { ...on({}), vcenterDatastoreName: 'nfs-1' } }))
  assert.deepEqual([cloud.status, datastore.status], [501, 501])
  assert.match(cloud.errors[0]!.message, /cloudNetworkReference/)
})

const vpnAt = (address: string, peerIgpConfig: object, ebgpConfig: object = { asn: 65070 }): object =>
  remoteServices({ remoteVpnService: { serviceAddress: ip(address), ebgpConfig, peerIgpConfig } })

test('all faults of the interior routing of a site are refused together, with their paths', async () => {
  const path = 'services/remoteVpnService/peerIgpConfig'
  const ibgpConfigList = [
    { asn: 65071, peerIp: ip('10.7.0.1') },
    { asn: 65070, peerIp: ip('10.7.0.1') },
    { peerIp: ip('224.0.0.5') },
    { peerIp: { ipv6: { value: 'fd00:7::1' } } },
    { asn: 65070 },
  ]
  const answer = await create(vpnAt('203.0.113.9', { ibgpConfigList, ospfConfig: { authenticationType: 'MD5' } }))
  assert.deepEqual(refusal(answer), [
    400,
    ...['[0]/asn', '[1]/peerIp', '[2]/peerIp', '[3]/peerIp', '[4]/peerIp']
      .map((place) => `ibgpConfigList${place}`)
      .concat('ospfConfig/areaId', 'ospfConfig/password')
      .map((place) => ['NETWORKING-10001', `${path}/${place}`]),
  ])
  assert.match(answer.errors[0]!.message, /expected 65070, .* found 65071/)
  const withoutType = { ospfConfig: { areaId: '0.0.0.1', password: 'ospf-secret-4' } }
  const unused = await create(vpnAt('203.0.113.9', withoutType))
  assert.deepEqual(refusal(unused), [400, ['NETWORKING-10001', `${path}/ospfConfig/authenticationType`]])
  for (const interior of [{ ibgpConfigList: [{ peerIp: ip('10.7.0.1') }] }, { ospfConfig: { areaId: '0.0.0.1' } }])
    assert.deepEqual(refusal(await create(vpnAt('203.0.113.9', interior, {}))), [
      400,
      ['NETWORKING-10001', 'services/remoteVpnService/ebgpConfig/asn'],
    ])
})

test('a local gateway refuses faulty interior routing at its own path, and applies what is right', async () => {
  const asLocal = (peerIgpConfig: object): object =>
    localServices({ localVpnService: { ebgpConfig: { asn: 65035 }, peerIgpConfig } })
  const wrong = await create({
    vpcReference: seedId('vpc/prod'),
    ...asLocal({ ibgpConfigList: [{ asn: 65036, peerIp: ip('10.7.0.1') }] }),
  })
  const path = 'services/localVpnService/peerIgpConfig/ibgpConfigList[0]/asn'
  assert.deepEqual(refusal(wrong), [400, ['NETWORKING-10001', path]])
  const ibgpConfigList = [{ peerIp: ip('10.7.0.1'), shouldRedistributeRoutes: true }]
  const gateway = await made(app, gateways, {
    name: 'interior',
    deployment: on({}),
    ...asLocal({ ibgpConfigList, ospfConfig: { areaId: '0.0.0.01' } }),
  })
  const shown = (await read(gateway)).services.localVpnService.peerIgpConfig
  assert.deepEqual(shown, { ibgpConfigList, ospfConfig: { areaId: '0.0.0.01' } })
  const { service } = gatewayFacts(app.world).gateways.get(gateway.slice(-36)) as any
  assert.deepEqual(service.interior, {
    ibgpPeers: [{ address: '10.7.0.1', autonomousSystemNumber: 65035, redistributesRoutes: true }],
    ospf: { areaId: '0.0.0.1' },
  })
  await removed(app, gateway)
})

test('passwords of iBGP peers and of OSPF are never shown, and an update keeps those that it leaves out', async () => {
  const peers = (...configs: [string, string?][]): object[] =>
    configs.map(([address, password]) => ({
      peerIp: ip(address),
      shouldRedistributeRoutes: false,
      ...(password !== undefined && { password }),
    }))
  const services = (ibgpConfigList: object[], ospfConfig: object): object =>
    localServices({ localVpnService: { ebgpConfig: { asn: 65037 }, peerIgpConfig: { ibgpConfigList, ospfConfig } } })
  const area = { areaId: '0.0.0.1' }
  const md5 = { ...area, authenticationType: 'MD5' }
  const first = peers(['10.7.0.1', 'ibgp-secret-1'], ['10.7.0.2', 'ibgp-secret-2'], ['10.7.0.3'])
  const path = await made(app, gateways, {
    name: 'secretive',
    deployment: on({}),
    ...services(first, { ...md5, password: 'ospf-secret-1' }),
  })
  const digests = (): unknown => {
    const { interior } = (gatewayFacts(app.world).gateways.get(path.slice(-36)) as any).service
    const ofPeers = interior.ibgpPeers.map(({ address, password }: any) => [address, password?.digest])
    return { peers: Object.fromEntries(ofPeers), ospf: interior.ospf.password?.digest }
  }
  const before: any = digests()
  assert.equal(new Set([before.ospf, ...Object.values(before.peers)]).size, 4)
  assert.ok(before.ospf && before.peers['10.7.0.1'] && before.peers['10.7.0.2'] && !before.peers['10.7.0.3'])

  // The peers are in another order, so that a password must follow the address of its peer.
  await changed(app, path, services(peers(['10.7.0.3'], ['10.7.0.2'], ['10.7.0.1', 'ibgp-secret-3']), md5))
  const after: any = digests()
  assert.deepEqual([after.peers['10.7.0.2'], after.peers['10.7.0.3']], [before.peers['10.7.0.2'], undefined])
  assert.notEqual(after.peers['10.7.0.1'], before.peers['10.7.0.1'])
  assert.equal(after.ospf, before.ospf)

  const shown = [await read(path), await app.store.find(Gateway), await app.store.find(Task)]
  const facts = [...gatewayFacts(app.world).gateways.all().values()]
  assert.ok(!/(ibgp|ospf)-secret/.test(JSON.stringify([...shown, facts])))
  assert.ok(!/password/.test(JSON.stringify(await read(path))))

  // Without authentication there is no password, so that authentication needs one again.
  await changed(app, path, services(peers(['10.7.0.3']), area))
  assert.deepEqual(digests(), { peers: { '10.7.0.3': undefined }, ospf: undefined })
  await changed(app, path, services(peers(['10.7.0.1']), area))
  assert.deepEqual(digests(), { peers: { '10.7.0.1': undefined }, ospf: undefined })
  assert.deepEqual(refusal(await put(app, path, services(peers(['10.7.0.1']), md5))), [
    400,
    ['NETWORKING-10001', 'services/localVpnService/peerIgpConfig/ospfConfig/password'],
  ])
  await removed(app, path)
})

test('a remote gateway keeps the passwords of its interior routing, too', async () => {
  const ospfConfig = { areaId: '0.0.0.1', authenticationType: 'PLAIN_TEXT' }
  const igp = (peer: object, area: object): object =>
    vpnAt('203.0.113.10', { ibgpConfigList: [{ peerIp: ip('10.7.0.1'), ...peer }], ospfConfig: area })
  const secret = { password: 'interior-secret-9' }
  const path = await made(app, gateways, { name: 'far', ...igp(secret, { ...ospfConfig, ...secret }) })
  const stored = async (): Promise<any> => {
    const { services }: any = await app.store.get(Gateway, path.slice(-36))
    const { ibgpConfigList, ospfConfig } = services.remoteVpnService.peerIgpConfig
    return [ibgpConfigList[0].password, ospfConfig.password]
  }
  const before = await stored()
  assert.ok(before.every(({ $sealed }: any) => typeof $sealed === 'string'))
  await changed(app, path, igp({ shouldRedistributeRoutes: true }, ospfConfig))
  assert.deepEqual(await stored(), before)
  await removed(app, path)
})

test('a VPC has one BGP gateway, and a VPC behind a transit VPC has none', async () => {
  const second = await create({ vpcReference: seedId('vpc/prod'), ...localServices(bgp) })
  assert.deepEqual(refusal(second), [409, ['NETWORKING-10071', undefined]])
  const behind = await create({ vpcReference: seedId('vpc/tenant-a'), ...localServices(bgp) })
  assert.equal(behind.status, 409)
  assert.match(behind.errors[0]!.message, /behind a transit VPC/)
})

test('a VPN gateway of a VPC gets a floating address of the subnet with NAT, which then cannot be detached', async () => {
  const routed = await aVpc(app, { externalSubnets: [attachedTo('ext-routed')] })
  const services = localServices({ localVpnService: { ebgpConfig: { asn: 65033, password: 'vpn-secret-3' } } })
  assert.deepEqual(refusal(await create({ vpcReference: routed.slice(-36), ...services })), [
    400,
    ['NETWORKING-10001', 'vpcReference'],
  ])
  await changed(app, routed, { externalSubnets: [attachedTo('ext-routed'), attachedTo('ext-nat')] })
  const path = await made(app, gateways, { name: 'vpn', vpcReference: routed.slice(-36), ...services })
  const gateway = await read(path)
  assert.match(gateway.services.serviceAddress.ipv4.value, /^10\.44\.3\./)
  assert.deepEqual(
    (await leasesOf(path)).map(({ kind }) => kind),
    ['FLOATING'],
  )
  const detached = await put(app, routed, { externalSubnets: [attachedTo('ext-routed')] })
  assert.equal(detached.status, 409)
  assert.match(detached.errors[0]!.message, /gateway vpn/)

  await changed(app, path, localServices({ localVpnService: { ebgpConfig: { asn: 65034 } } }))
  const shown = [
    gateway,
    await read(path),
    await app.store.find(Task),
    ...gatewayFacts(app.world).gateways.all().values(),
  ]
  assert.ok(!JSON.stringify(shown).includes('vpn-secret-3'))
  const service: any = gatewayFacts(app.world).gateways.get(path.slice(-36))?.service
  assert.equal(service.bgp.autonomousSystemNumber, 65034)
  assert.ok(service.bgp.passwordDigest, 'an update without the password keeps it')
  assert.equal((await app.call('DELETE', routed)).status, 409)
  await removed(app, path)
  await removed(app, routed)
})

test('a gateway on a VLAN takes the given address of its subnet, or the lowest free one', async () => {
  const path = await made(app, gateways, vtep('vtep'))
  const first = await read(path)
  const { address, defaultGateway, mtu } = first.deployment.managementInterface
  assert.deepEqual([defaultGateway.ipv4.value, mtu], ['10.10.100.1', 1500])
  assert.deepEqual(first.services.serviceAddress, address)
  const taken = await create(vtep('other', { deployment: on({ address }) }))
  assert.deepEqual(refusal(taken), [409, ['NETWORKING-10080', undefined]])
  await changed(app, path, { deployment: on({ address: ip('10.10.100.180') }) })
  const second = await read(path)
  assert.equal(second.deployment.interfaces[0].ipAddress.ipv4.value, '10.10.100.180')
  assert.equal((await leasesOf(path)).length, 1)
  assert.equal(domainFacts(app.world).get(second.vmReference)?.domain.nics[0]?.address, '10.10.100.180')
  const subnet = await app.call('DELETE', `/networking/v4.3/config/subnets/${seedId('subnet/vlan-100-app')}`)
  assert.equal(subnet.status, 409)
  await removed(app, path)
})

const on = (more: object): object => ({
  managementInterface: { subnetReference: seedId('subnet/vlan-100-app'), ...more },
})

test('a gateway on a VLAN without address management needs its address and its default gateway', async () => {
  const managementInterface = { vlanId: 77 }
  const clusterReference = seedId('cluster/hp-native-01')
  const bare = await create(vtep('bare', { deployment: { clusterReference, managementInterface } }))
  assert.deepEqual(refusal(bare), [400, ['NETWORKING-10001', 'deployment/managementInterface/address']])
  const given = { ...managementInterface, address: ip('10.77.0.5'), defaultGateway: ip('10.77.0.1') }
  const path = await made(
    app,
    gateways,
    vtep('tagged', { deployment: { clusterReference, managementInterface: given } }),
  )
  const { vmReference, deployment } = await read(path)
  assert.equal(deployment.interfaces[0].ipAddress.ipv4.value, '10.77.0.5')
  assert.equal(domainFacts(app.world).get(vmReference)?.domain.nics[0]?.vlan?.tag, 77)
  await removed(app, path)
})

test('a gateway that moves to a subnet with the same prefix releases its address on the former subnet', async () => {
  const ranges = { ipv4: '10.79.0.0/24' }
  const clusterReference = seedId('cluster/hp-native-01')
  const subnets = [
    await aSubnet(app, ranges, { name: 'left', networkId: 791, clusterReference }),
    await aSubnet(app, ranges, { name: 'entered', networkId: 792, clusterReference }),
  ]
  const [left, entered] = subnets.map((subnet) => subnet.slice(-36))
  const at = { address: ip('10.79.0.9') }
  const path = await made(app, gateways, vtep('mover', { deployment: on({ ...at, subnetReference: left }) }))
  await changed(app, path, { deployment: on({ ...at, subnetReference: entered }) })
  assert.deepEqual(
    (await leasesOf(path)).map(({ subnetExtId }) => subnetExtId),
    [entered],
  )
  await removed(app, path)
  for (const subnet of subnets) await removed(app, subnet)
})

test('an address change that fails leaves the gateway unchanged', async () => {
  const path = await made(app, gateways, vtep('vtep'))
  const before = await read(path)
  failing = 'networking.update-gateway configure service'
  const task = await app.task(await put(app, path, { deployment: on({ address: ip('10.10.100.181') }) }))
  assert.equal(task.status, 'FAILED')
  assert.deepEqual(await read(path), before)
  assert.equal((await leasesOf(path)).length, 1)
  const { nics } = domainFacts(app.world).get(before.vmReference)!.domain
  assert.equal(nics[0]?.address, before.deployment.interfaces[0].ipAddress.ipv4.value)
  failing = undefined
  await removed(app, path)
})

test('a creation that fails at any step leaves no VM, disk, lease or row', async () => {
  const present = (await app.store.find(Gateway)).length
  const disks = diskFacts(app.world).all().size
  for (const step of ['create VM and disk', 'power on', 'wait for its agent', 'configure service']) {
    failing = `networking.create-gateway ${step}`
    const task = await app.task(await create(vtep('failing')))
    assert.equal(task.status, 'FAILED', step)
    const path = `${gateways}/${task.entitiesAffected[0].extId}`
    assert.deepEqual(await leasesOf(path), [])
    assert.equal((await app.call('GET', path)).status, 404)
    await checkInvariants(app)
  }
  assert.equal((await app.store.find(Gateway)).length, present)
  assert.equal(diskFacts(app.world).all().size, disks)
})

test('a gateway in use is not deleted: the refusal names its BGP session', async () => {
  for (const path of [local, remote]) {
    const { status, errors } = await app.call('DELETE', path)
    assert.deepEqual([status, errors[0]!.code], [409, 'NETWORKING-10070'])
    assert.match(errors[0]!.message, /BGP session prod-tor-a/)
  }
  const attached = await put(app, demoVpc('prod'), { externalSubnets: [attachedTo('ext-nat')] })
  assert.equal(attached.status, 409)
})

test('an update without the VPC leaves the gateway in its VPC', async () => {
  for (const name of ['bgp-prod', 'vpn-prod']) {
    const path = `${gateways}/${seedId(`gateway/${name}`)}`
    const before = await read(path)
    const services = { ...before.services }
    if (name === 'bgp-prod') services.localBgpService = { ...services.localBgpService, vpcReference: undefined }
    const after = await changed(app, path, { vpcReference: undefined, services, description: 'kept' })
    assert.deepEqual([after.vpcReference, after.services], [before.vpcReference, before.services], name)
  }
})

test('the AS number of a local gateway stays while a session uses it', async () => {
  const services = { ...type('Local'), localBgpService: { asn: 65099, vpcReference: seedId('vpc/prod') } }
  const { status, errors } = await put(app, local, { services })
  assert.deepEqual([status, errors[0]!.code], [409, 'NETWORKING-10070'])
  const asVpn = { ...type('Local'), localVpnService: {} }
  assert.deepEqual(refusal(await put(app, local, { services: asVpn })), [400, ['NETWORKING-10002', 'services']])
  const { services: before } = await read(remote)
  const equal = { ...type('Remote'), remoteBgpService: { address: ip('10.44.4.21'), asn: 65010 } }
  assert.deepEqual(refusal(await put(app, remote, { services: equal })), [
    400,
    ['NETWORKING-10001', 'services/remoteBgpService/asn'],
  ])
  assert.deepEqual((await read(remote)).services, before)
})

test('a change of the AS number of a remote gateway reprograms its BGP peers, and a failed change restores them', async () => {
  const { services } = await read(remote)
  const other = { ...type('Remote'), remoteBgpService: { address: ip('10.44.4.21'), asn: 65044 } }
  const routesOf = async (): Promise<string[]> =>
    (await app.call('GET', `${demoSession}/bgp-routes?$limit=100`)).data.map(({ extId }: any) => extId)
  const before = await routesOf()
  failing = 'networking.update-remote-gateway configure peers'
  assert.equal((await app.task(await put(app, remote, { services: other }))).status, 'FAILED')
  failing = undefined
  assert.deepEqual(await routesOf(), before)
  await changed(app, remote, { services: other })
  assert.equal((await read(demoSession)).status.state, 'DOWN')
  await app.clock.advance(10_000)
  assert.equal((await read(demoSession)).status.state, 'UP')
  assert.notDeepEqual(await routesOf(), before)
  await changed(app, remote, { services })
  await app.clock.advance(10_000)
  assert.deepEqual(await routesOf(), before)
})

test('equal routes share the traffic after a change of the local gateway', async () => {
  const { services } = await read(local)
  const localBgpService = { ...services.localBgpService, isBgpAddPathEnabled: true }
  await changed(app, local, { services: { ...services, localBgpService } })
  assert.equal((await read(demoSession)).status.state, 'UP')
  const program: any = gatewayFacts(app.world).gateways.get(local.slice(-36))
  assert.equal(program.service.isMultipath, true)
  await changed(app, local, { services })
})

test('a session to an IPv6 gateway receives a default route and prefixes of IPv6', async () => {
  const v6 = (value: string): object => ({ ipv6: { value, prefixLength: 128 } })
  const subnets = '/networking/v4.3/config/subnets'
  const uplink = await made(app, subnets, {
    name: 'ext-v6',
    subnetType: 'VLAN',
    networkId: 366,
    isExternal: true,
    isNatEnabled: false,
    clusterReference: seedId('cluster/hp-native-01'),
    virtualSwitchReference: seedId('virtual-switch/vs0'),
    ipConfig: [
      {
        ipv6: {
          ipSubnet: { ip: { value: 'fd00:66::' }, prefixLength: 64 },
          defaultGatewayIp: { value: 'fd00:66::1' },
          poolList: [{ startIp: { value: 'fd00:66::10' }, endIp: { value: 'fd00:66::ff' } }],
        },
      },
    ],
  })
  const vpc = await aVpc(app, { externalSubnets: [{ subnetReference: uplink.slice(-36) }] })
  const own = await made(app, gateways, { name: 'own-v6', vpcReference: vpc.slice(-36), ...localServices(bgp) })
  const remoteBgpService = { address: v6('fd00:66::2'), asn: 65066 }
  const other = await made(app, gateways, { name: 'other-v6', ...remoteServices({ remoteBgpService }) })
  const [localGatewayReference, remoteGatewayReference] = [own.slice(-36), other.slice(-36)]
  const path = await made(app, sessions, { name: 'v6', localGatewayReference, remoteGatewayReference })
  await app.clock.advance(10_000)
  const routes = (await app.call('GET', `${path}/bgp-routes?$filter=bgpRouteType eq 'RECEIVED'`)).data
  const names: string[] = routes.map(({ name }: any) => name)
  assert.ok(names.includes('::/0'))
  assert.ok(names.length >= 2 && names.length <= 5 && names.every((name) => name.includes(':')))
  const table = await app.call('GET', `${await routesIn(app, vpc)}?$limit=100&$filter=routeType eq 'DYNAMIC'`)
  assert.deepEqual(table.data.map(({ name }: any) => name).sort(), [...names].sort())
  const asV4 = { ...type('Remote'), remoteBgpService: { address: ip('10.44.4.90'), asn: 65066 } }
  assert.deepEqual(refusal(await put(app, other, { services: asV4 })), [
    400,
    ['NETWORKING-10001', 'services/remoteBgpService/address'],
  ])
  for (const each of [path, own, other, vpc, uplink]) await removed(app, each)
})

test('a gateway that synchronises its name servers uses those of its cluster, and refuses other ones in its body', async () => {
  const shouldSynchronizeSystemDnsServers = true
  const path = await made(app, gateways, vtep('synchronised', { deployment: on({}) }))
  await changed(app, path, { deployment: { ...(await read(path)).deployment, shouldSynchronizeSystemDnsServers } })
  const { dnsServers } = (await read(path)).deployment
  const cluster = await read(`/clustermgmt/v4.2/config/clusters/${seedId('cluster/hp-native-01')}`)
  const texts = (list: any[]): string[] => list.flatMap(({ ipv4 }) => ipv4?.value ?? [])
  assert.deepEqual(texts(dnsServers), texts(cluster.network.nameServerIpList))
  assert.deepEqual(gatewayFacts(app.world).gateways.get(path.slice(-36))?.dnsServers, texts(dnsServers))
  const deployment = { ...on({}), shouldSynchronizeSystemDnsServers, dnsServers: [ip('10.9.9.9')] }
  assert.deepEqual(refusal(await create(vtep('both', { deployment }))), [
    400,
    ['NETWORKING-10001', 'deployment/dnsServers'],
  ])
  await removed(app, path)
})
