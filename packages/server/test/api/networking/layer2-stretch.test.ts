/** Layer-2 stretches over VXLAN. Source: behaviour networking.md 1.2, 1.9, 1.12, 3.5, 5 (37). */
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import type { RoleName } from '@hyperplane/contract/roles'
import { catalogueId, seedId } from '../../../src/core/ids/named-id.ts'
import { stretchFacts } from '../../../src/drivers/simulated/stretches.ts'
import { remoteId } from '../../../src/seeds/demo/remote-networks.ts'
import { happen } from '../../support/events.ts'
import { aFault, readFault } from '../../support/faults.ts'
import { aUser } from '../../support/identities.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { unregister } from '../../support/registering.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { Steps } from '../../support/steps.ts'
import {
  demoStretch,
  drSite,
  localSide,
  remoteSide,
  remoteSubnet,
  stretchBody,
  stretches,
  unstretched,
  vpnBody,
} from '../../support/stretches.ts'
import { demoSubnet, recount } from '../../support/subnets.ts'
import { changed, ip, made, put, removed } from '../../support/vpcs.ts'

let app: TestApp
const steps = new Steps()
let release = (): void => undefined
before(async () => {
  app = await startApp({ logLevel: 'silent', beforeStep: steps.beforeStep })
})
beforeEach(() => unstretched(app))
afterEach(async () => {
  steps.failing = undefined
  release()
  await recount(app)
  await checkInvariants(app)
})
after(() => app.close())

const gateways = '/networking/v4.3/config/gateways'
const web = demoSubnet('web')
const read = async (path: string): Promise<any> => (await app.call('GET', path)).data
const create = (more: object = {}): Promise<CallResult> =>
  app.call('POST', stretches, { body: stretchBody('test', more) })
const refusal = ({ status, errors }: CallResult): unknown[] => [status, errors[0]?.errorGroup]
const pathsOf = ({ status, errors }: CallResult): unknown[] => [
  status,
  ...errors.map((error) => error.argumentsMap?.['attributePath']).sort(),
]
const factOf = (path: string) => stretchFacts(app.world).stretches.get(path.slice(-36))
const vtepsOf = (path: string): unknown => {
  const tunnel = factOf(path)?.tunnel
  return tunnel?.type === 'VXLAN' ? tunnel.vteps : undefined
}
const leasesIn = async (): Promise<number> => (await read(web)).ipUsage.numAssignedIPs

test('a stretch leases its interface, programs the tunnel, shows on its subnet, and leaves nothing behind', async () => {
  const before = await leasesIn()
  const task = await app.task(await create())
  assert.deepEqual([task.operation, task.status], ['kLayer2StretchCreate', 'SUCCEEDED'])
  assert.deepEqual(
    task.entitiesAffected.map(({ rel, name }: any) => [rel.split(':')[2], name]),
    [
      ['layer2-stretch', 'test'],
      ['subnet', 'web'],
      ['gateway', 'vtep-prod'],
      ['gateway', 'vtep-dr'],
    ],
  )
  const path = `${stretches}/${task.entitiesAffected[0].extId}`
  const { localSiteParams, mtu, remoteSiteParams } = await read(path)
  const address = localSiteParams.stretchInterfaceIpAddress.ipv4.value
  assert.match(address, /^192\.168\.10\.\d+$/)
  assert.deepEqual(
    [localSiteParams.defaultGatewayIPAddress, remoteSiteParams.defaultGatewayIPAddress, mtu],
    [ip('192.168.10.1'), ip('192.168.10.1'), 1450],
  )
  assert.equal(await leasesIn(), before + 1)
  const { bridgedAt, ...program } = factOf(path)!
  assert.equal(bridgedAt, app.clock.now())
  assert.deepEqual(program, {
    extId: path.slice(-36),
    subnetExtId: seedId('subnet/web'),
    interfaceAddress: address,
    mtu: 1450,
    remote: { siteExtId: drSite, subnetExtId: remoteSubnet('web-dr') },
    tunnel: {
      type: 'VXLAN',
      vni: 5001,
      gatewayExtId: seedId('gateway/vtep-prod'),
      isHighlyAvailable: true,
      vteps: ['10.46.1.30'],
    },
  })
  const { layer2StretchReference } = await read(web)
  assert.deepEqual([layer2StretchReference.extId, layer2StretchReference.name], [path.slice(-36), 'test'])
  await removed(app, path)
  assert.equal((await read(web)).layer2StretchReference, undefined)
  assert.deepEqual([await leasesIn(), factOf(path)], [before, undefined])
})

test('faults of a body are refused together: a VXLAN without vni, VPN fields, a remote side without manager', async () => {
  const refused = await create({
    vni: undefined,
    localSiteParams: localSide({ vpnInterfaceIPAddress: ip('169.254.0.1') }),
    remoteSiteParams: remoteSide({ pcClusterReference: undefined, stretchInterfaceIpAddress: ip('224.0.0.1') }),
  })
  assert.deepEqual(pathsOf(refused), [
    400,
    'localSiteParams/vpnInterfaceIPAddress',
    'remoteSiteParams/pcClusterReference',
    'remoteSiteParams/stretchInterfaceIpAddress',
    'vni',
  ])
  for (const mtu of [499, 8951]) assert.equal((await create({ mtu })).status, 400)
  for (const vni of [0, 16777216]) assert.equal((await create({ vni })).status, 400)
})

test('unknown references, entities of another site and entities that the caller cannot view are not found', async () => {
  const unknown = '5d3f6a0e-9f0b-4c39-8f4e-3a1d0c9b7e11'
  for (const more of [
    { localSiteParams: localSide({ stretchSubnetReference: unknown }) },
    { localSiteParams: localSide({ connectionReference: unknown }) },
    { remoteSiteParams: remoteSide({ stretchSubnetReference: seedId('subnet/web') }) },
    { remoteSiteParams: remoteSide({ connectionReference: unknown }) },
    { remoteSiteParams: remoteSide({ pcClusterReference: seedId('cluster/hp-native-01') }) },
  ])
    assert.deepEqual(refusal(await create(more)), [404, 'ENTITY_NOT_FOUND'], JSON.stringify(more))
  const operations = ['Create_Layer2_Stretch', 'View_Layer2_Stretch', 'View_Gateway']
  const body = { displayName: 'Stretching', operations: operations.map((name) => catalogueId('operation', name)) }
  const role = await app.call('POST', '/iam/v4.1.b2/authz/roles', { body, requestId: crypto.randomUUID() })
  assert.equal(role.status, 201, JSON.stringify(role.errors))
  const as = await aUser(app, ['Stretching' as RoleName])
  const refused = await app.call('POST', stretches, { body: stretchBody('test'), as })
  assert.deepEqual(
    [refused.status, refused.errors[0]?.argumentsMap?.['attributePath']],
    [404, 'localSiteParams/stretchSubnetReference'],
  )
})

test('subnets and gateways of the wrong kind are refused', async () => {
  const local = 'localSiteParams/connectionReference'
  const subnet = 'localSiteParams/stretchSubnetReference'
  const remote = 'remoteSiteParams/connectionReference'
  const cases: [object, string][] = [
    [{ localSiteParams: localSide({ connectionReference: seedId('gateway/bgp-prod') }) }, local],
    [{ localSiteParams: localSide({ connectionReference: seedId('gateway/vtep-dr') }) }, local],
    [{ remoteSiteParams: remoteSide({ connectionReference: seedId('gateway/vtep-prod') }) }, remote],
    [{ remoteSiteParams: remoteSide({ connectionReference: seedId('gateway/branch') }) }, remote],
    [{ localSiteParams: localSide({ stretchSubnetReference: seedId('subnet/vlan-200-static') }) }, subnet],
    [{ localSiteParams: localSide({ stretchSubnetReference: seedId('subnet/ext-routed') }) }, subnet],
    [
      { remoteSiteParams: remoteSide({ stretchSubnetReference: remoteSubnet('db-dr') }) },
      'remoteSiteParams/stretchSubnetReference',
    ],
    [{ localSiteParams: localSide({ pcClusterReference: drSite }) }, 'localSiteParams/pcClusterReference'],
    [
      { localSiteParams: localSide({ defaultGatewayIPAddress: ip('192.168.10.2') }) },
      'localSiteParams/defaultGatewayIPAddress',
    ],
    [
      { remoteSiteParams: remoteSide({ stretchInterfaceIpAddress: ip('192.168.11.2') }) },
      'remoteSiteParams/stretchInterfaceIpAddress',
    ],
  ]
  for (const [more, path] of cases) assert.deepEqual(pathsOf(await create(more)), [400, path], JSON.stringify(more))
})

test('pools that overlap at both sites, and an interface in a pool of the other site, are refused', async () => {
  const refused = await create({
    localSiteParams: localSide({ stretchSubnetReference: seedId('subnet/db') }),
    remoteSiteParams: remoteSide({ stretchSubnetReference: remoteSubnet('db-dr') }),
  })
  assert.deepEqual(refusal(refused), [409, 'ENTITY_ALREADY_EXISTS'])
  assert.match(refused.errors[0]!.message, /192\.168\.20\.100 to 192\.168\.20\.200/)
  const interfaceAddress = { localSiteParams: localSide({ stretchInterfaceIpAddress: ip('192.168.10.252') }) }
  assert.deepEqual(refusal(await create(interfaceAddress)), [409, 'IP_ADDRESS_UNAVAILABLE'])
})

test('name, subnet and vni of a gateway are unique', async () => {
  const path = await made(app, stretches, stretchBody('test'))
  const other = await made(app, '/networking/v4.3/config/subnets', {
    name: 'web-too',
    subnetType: 'VLAN',
    networkId: 77,
    ipConfig: [
      {
        ipv4: {
          ipSubnet: { ip: { value: '192.168.0.0' }, prefixLength: 16 },
          defaultGatewayIp: { value: '192.168.0.1' },
          poolList: [{ startIp: { value: '192.168.0.10' }, endIp: { value: '192.168.0.99' } }],
        },
      },
    ],
  })
  const onOther = { localSiteParams: localSide({ stretchSubnetReference: other.slice(-36) }) }
  for (const [body, text] of [
    [stretchBody('test', { vni: 6000, ...onOther }), /same name/],
    [stretchBody('second', { vni: 6000 }), /local subnet \(layer-2 stretch test\)/],
    [stretchBody('second', onOther), /vni on its gateway \(layer-2 stretch test\)/],
  ] as const) {
    const refused = await app.call('POST', stretches, { body })
    assert.deepEqual(refusal(refused), [409, 'ENTITY_ALREADY_EXISTS'])
    assert.match(refused.errors[0]!.message, text)
  }
  // The remote prefix may be a part of the local one.
  const second = await made(app, stretches, stretchBody('second', { vni: 6000, ...onOther }))
  const renamed = await put(app, second, { name: 'test' })
  assert.deepEqual(refusal(renamed), [409, 'ENTITY_ALREADY_EXISTS'])
  for (const each of [second, path, other]) await removed(app, each)
})

test('a stretch can change its interface and MTU, but not its type, references and vni', async () => {
  const path = await made(app, stretches, stretchBody('test'))
  const before = await leasesIn()
  const { localSiteParams } = await changed(app, path, {
    mtu: undefined,
    localSiteParams: localSide({ stretchInterfaceIpAddress: ip('192.168.10.3') }),
  })
  assert.deepEqual(localSiteParams.stretchInterfaceIpAddress, ip('192.168.10.3'))
  const { interfaceAddress, mtu, bridgedAt } = factOf(path)!
  assert.deepEqual([interfaceAddress, mtu, bridgedAt === undefined], ['192.168.10.3', 1450, false])
  assert.equal(await leasesIn(), before)
  // A client that leaves the address out keeps it.
  await changed(app, path, { mtu: 9000 - 100, localSiteParams: localSide() })
  assert.deepEqual([factOf(path)?.interfaceAddress, factOf(path)?.mtu], ['192.168.10.3', 8900])
  const otherGateway = localSide({ defaultGatewayIPAddress: ip('192.168.10.2') })
  assert.deepEqual(pathsOf(await put(app, path, { localSiteParams: otherGateway })), [
    400,
    'localSiteParams/defaultGatewayIPAddress',
  ])
  for (const change of [
    { vni: 7 },
    { connectionType: 'VPN' },
    { localSiteParams: localSide({ connectionReference: seedId('gateway/vtep-dr') }) },
    { remoteSiteParams: remoteSide({ stretchSubnetReference: remoteSubnet('db-dr') }) },
    { remoteSiteParams: remoteSide({ pcClusterReference: seedId('vpc/prod') }) },
  ])
    assert.deepEqual(refusal(await put(app, path, change)), [400, 'IMMUTABLE_ATTRIBUTE'], JSON.stringify(change))
  await removed(app, path)
})

test('an update that fails restores the tunnel and the lease', async () => {
  const path = await made(app, stretches, stretchBody('test'))
  const [before, program] = [await read(path), factOf(path)]
  steps.failing = 'networking.update-layer2-stretch configure tunnel'
  const task = await app.task(
    await put(app, path, { localSiteParams: localSide({ stretchInterfaceIpAddress: ip('192.168.10.3') }) }),
  )
  assert.equal(task.status, 'FAILED')
  assert.deepEqual([await read(path), factOf(path)], [before, program])
  steps.failing = undefined
  await removed(app, path)
})

test('a creation that fails at any step leaves no row, no lease and no tunnel', async () => {
  const before = await leasesIn()
  for (const step of ['set up tunnel', 'bridge subnet']) {
    steps.failing = `networking.create-layer2-stretch ${step}`
    assert.equal((await app.task(await create())).status, 'FAILED')
    assert.deepEqual((await app.call('GET', stretches)).data, [])
    assert.deepEqual([await leasesIn(), stretchFacts(app.world).stretches.all().size], [before, 0])
  }
})

test('a stretch with a running task refuses changes, and a subnet or gateway with a stretch cannot be deleted', async () => {
  release = steps.hold('networking.create-layer2-stretch bridge subnet')
  const started = await create()
  const [{ extId }] = (await app.call('GET', stretches)).data
  const path = `${stretches}/${extId}`
  assert.deepEqual(refusal(await app.call('DELETE', path)), [409, 'ENTITY_BUSY'])
  assert.deepEqual(refusal(await put(app, path, { mtu: 1300 })), [409, 'ENTITY_BUSY'])
  for (const gateway of ['vtep-prod', 'vtep-dr']) {
    const refused = await app.call('DELETE', `${gateways}/${seedId(`gateway/${gateway}`)}`)
    assert.deepEqual(refusal(refused), [409, 'ENTITY_IN_USE'])
    assert.match(refused.errors[0]!.message, /layer-2 stretch test/)
  }
  assert.deepEqual(refusal(await app.call('DELETE', web)), [409, 'ENTITY_IN_USE'])
  release()
  assert.equal((await app.task(started)).status, 'SUCCEEDED')
  await removed(app, path)
})

test('a stretched subnet cannot change its prefix and gateway, and its pools cannot overlap those of the other site', async () => {
  const path = await made(app, stretches, stretchBody('test'))
  const { ipConfig } = await read(web)
  const withIpv4 = (changes: object): object => ({ ipConfig: [{ ipv4: { ...ipConfig[0].ipv4, ...changes } }] })
  const gateway = await put(app, web, withIpv4({ defaultGatewayIp: { value: '192.168.10.2' } }))
  assert.deepEqual(refusal(gateway), [409, 'ENTITY_IN_USE'])
  const pool = (endIp: string): object =>
    withIpv4({ poolList: [{ startIp: { value: '192.168.10.10' }, endIp: { value: endIp } }] })
  assert.deepEqual(refusal(await put(app, web, pool('192.168.10.252'))), [409, 'ENTITY_ALREADY_EXISTS'])
  await changed(app, web, pool('192.168.10.249'))
  await changed(app, web, { ipConfig })
  await removed(app, path)
})

test('a change of a remote VTEP gateway moves the tunnels of its stretches', async () => {
  const path = await made(app, stretches, stretchBody('test'))
  const gateway = `${gateways}/${seedId('gateway/vtep-dr')}`
  const { services } = await read(gateway)
  const vteps = [{ address: ip('10.46.1.30') }, { address: ip('10.46.1.31') }]
  await changed(app, gateway, { services: { ...services, remoteVtepService: { vteps } } })
  assert.deepEqual(vtepsOf(path), ['10.46.1.30', '10.46.1.31'])
  const { remoteStretchStatus } = await read(path)
  assert.deepEqual(
    remoteStretchStatus.map(({ address }: any) => address),
    vteps.map(({ address }) => address),
  )
  await changed(app, gateway, { services })
  assert.deepEqual(vtepsOf(path), ['10.46.1.30'])
  await removed(app, path)
})

test('a stretch can end at a VTEP gateway of the other manager', async () => {
  const connectionReference = remoteId(drSite, 'gateway', 'vtep-dr')
  const path = await made(
    app,
    stretches,
    stretchBody('test', { remoteSiteParams: remoteSide({ connectionReference }) }),
  )
  assert.deepEqual(vtepsOf(path), ['10.46.1.30'])
  await changed(app, path, { description: 'changed' })
  assert.deepEqual(vtepsOf(path), ['10.46.1.30'])
  await removed(app, path)
})

test('while the other site does not answer, new stretches are refused, and existing ones can be changed and deleted', async () => {
  const path = await made(app, stretches, stretchBody('test'))
  await happen(app, { type: 'REMOTE_CUT_OFF', remote: 'dr-site' })
  assert.deepEqual(refusal(await create({ name: 'second' })), [503, 'REMOTE_UNREACHABLE'])
  await changed(app, path, { mtu: 1300 })
  await removed(app, path)
  await happen(app, { type: 'REMOTE_RETURNS', remote: 'dr-site' })
})

test('the number of stretches is limited', async () => {
  const limited = await startApp({ limits: { layer2Stretches: 1 } })
  try {
    const refused = await limited.call('POST', stretches, { body: stretchBody('test') })
    assert.deepEqual(refusal(refused), [422, 'LIMIT_EXCEEDED'])
    assert.equal((await limited.call('GET', demoStretch)).status, 200)
  } finally {
    await limited.close()
  }
})

test('a stretch through a VPN connection uses its interfaces, prevents its deletion, and refuses a vni', async () => {
  const connection = `/networking/v4.3/config/vpn-connections/${seedId('vpn-connection/branch-1')}`
  const { ipsecConfig } = await read(connection)
  const path = await made(app, stretches, vpnBody('through-vpn'))
  const { localSiteParams, mtu, remoteSiteParams, remoteStretchStatus } = await read(path)
  assert.deepEqual(
    [localSiteParams.vpnInterfaceIPAddress, remoteSiteParams.vpnInterfaceIPAddress, mtu, remoteStretchStatus],
    [ipsecConfig.localVtiIp, ipsecConfig.remoteVtiIp, 1392, undefined],
  )
  assert.deepEqual(factOf(path)?.tunnel, { type: 'VPN', connectionExtId: connection.slice(-36) })
  const kept = await app.call('DELETE', connection)
  assert.deepEqual(refusal(kept), [409, 'ENTITY_IN_USE'])
  assert.match(kept.errors[0]!.message, /layer-2 stretch through-vpn/)
  await changed(app, path, { mtu: 1300 })
  for (const [change, ...faulty] of [
    // Immutable, and not for a VPN connection.
    [{ vni: 7 }, 'vni', 'vni'],
    [
      { localSiteParams: { ...localSiteParams, vpnInterfaceIPAddress: ip('169.254.9.9') } },
      'localSiteParams/vpnInterfaceIPAddress',
    ],
    [
      { localSiteParams: { ...localSiteParams, highAvailabilityGroup: { isHaEnabled: true } } },
      'localSiteParams/highAvailabilityGroup/isHaEnabled',
    ],
  ] as const)
    assert.deepEqual(pathsOf(await put(app, path, change)), [400, ...faulty])
  await removed(app, path)
  const gateway = remoteSide()
  const noConnection = await app.call('POST', stretches, { body: vpnBody('test', { remoteSiteParams: gateway }) })
  assert.deepEqual(refusal(noConnection), [404, 'ENTITY_NOT_FOUND'])
  const ofGateways = vpnBody('test', { localSiteParams: localSide() })
  assert.deepEqual(refusal(await app.call('POST', stretches, { body: ofGateways })), [404, 'ENTITY_NOT_FOUND'])
})

test('no stretch is created to a manager that an unregistration removed after its networks were read', async () => {
  release = steps.hold('platform.unregister-remote trust revoked')
  const networks = { driverCall: { driver: 'remoteManagers', method: 'networkEntities' } }
  const late = await aFault(app, networks, { delay: { fixed: 'PT1S' }, moment: 'AFTER' })
  const creation = create()
  while ((await readFault(app, late)).timesFired === 0) await setImmediate()
  const leaving = await unregister(app, { extId: drSite })
  while ((await app.store.get(DomainManager, drSite)) !== undefined) await setImmediate()
  await app.clock.advance(1000)
  assert.deepEqual(pathsOf(await creation), [404, 'remoteSiteParams/pcClusterReference'])
  release()
  assert.equal((await app.task(leaving)).status, 'SUCCEEDED')
})
