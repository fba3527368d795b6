/** What a subnet's body may say: one row for each rule. Source: behaviour networking.md 1.1 (addresses), 1.2. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { aSubnet, ipConfigOf, recount, reserve, subnets, usageOf } from '../../support/subnets.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
afterEach(() => recount(app))
after(() => app.close())

const ten = { ipv4: '10.20.0.0/24', pools: [['10.20.0.10', '10.20.0.19']] } as const
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

function gatewayOf(family: 'ipv4' | 'ipv6', value: string): object[] {
  const [config] = ipConfigOf({ ipv4: '10.20.0.0/24', ipv6: 'fd00:9::/64' }) as any[]
  config[family].defaultGatewayIp.value = value
  return [config]
}
function dhcpServerAt(value: string): object[] {
  const [config] = ipConfigOf(ten) as any[]
  return [{ ipv4: { ...config.ipv4, dhcpServerAddress: { value } } }]
}
function withoutGateway(ipv4: string): object[] {
  const [
    {
      ipv4: { defaultGatewayIp: _, ...rest },
    },
  ] = ipConfigOf({ ipv4 }) as any
  return [{ ipv4: rest }]
}

const refusals: readonly (readonly [title: string, body: object, path: string])[] = [
  [
    'host bits in the prefix',
    vlan({ ipConfig: ipConfigOf({ ipv4: '10.20.0.8/24' }) }),
    'ipConfig[0]/ipv4/ipSubnet/ip/value',
  ],
  [
    'a prefix of 31',
    vlan({ ipConfig: ipConfigOf({ ipv4: '10.20.0.0/31' }) }),
    'ipConfig[0]/ipv4/ipSubnet/prefixLength',
  ],
  ['dhcpOptions without ipConfig', vlan({ dhcpOptions: { domainName: 'a.example' } }), 'dhcpOptions'],
  ['NAT on an internal subnet', vlan({ isNatEnabled: true }), 'isNatEnabled'],
  ['an external subnet without ipConfig', vlan({ isExternal: true }), 'ipConfig'],
  ['a VPC for a VLAN', vlan({ vpcReference: seedId('vpc/prod') }), 'vpcReference'],
  ['an overlay without VPC', { name: 'x', subnetType: 'OVERLAY', ipConfig: ipConfigOf(ten) }, 'vpcReference'],
  [
    'an overlay on a switch',
    overlay('prod', '10.99.0.0/24', { virtualSwitchReference: seedId('virtual-switch/vs0') }),
    'virtualSwitchReference',
  ],
  ['an external overlay in a regular VPC', overlay('prod', '10.99.0.0/24', { isExternal: true }), 'isExternal'],
  ['a cluster without a switch', vlan({ clusterReference: seedId('cluster/hp-extern-01') }), 'clusterReference'],
  [
    'a switch of another cluster',
    vlan({ clusterReference: seedId('cluster/cloud-1'), virtualSwitchReference: seedId('virtual-switch/vs0') }),
    'virtualSwitchReference',
  ],
  ['an ipConfig without addresses', vlan({ ipConfig: [{}] }), 'ipConfig[0]'],
  [
    'a pool outside the prefix',
    vlan({ ipConfig: ipConfigOf({ ipv4: '10.20.0.0/24', pools: [['10.21.0.1', '10.21.0.9']] }) }),
    'ipConfig[0]/ipv4/poolList[0]',
  ],
  [
    'an IPv6 prefix of 127',
    vlan({ ipConfig: ipConfigOf({ ipv6: 'fd00:9::/127' }) }),
    'ipConfig[0]/ipv6/ipSubnet/prefixLength',
  ],
  [
    'an IPv4-mapped IPv6 address',
    vlan({ ipConfig: gatewayOf('ipv6', '::ffff:10.20.0.1') }),
    'ipConfig[0]/ipv6/defaultGatewayIp',
  ],
  [
    'the broadcast address as gateway',
    vlan({ ipConfig: gatewayOf('ipv4', '10.20.0.255') }),
    'ipConfig[0]/ipv4/defaultGatewayIp',
  ],
  ['a DHCP server at the gateway', vlan({ ipConfig: dhcpServerAt('10.20.0.1') }), 'ipConfig[0]/ipv4/dhcpServerAddress'],
  [
    'an overlay without gateway',
    overlay('prod', '10.99.0.0/24', { ipConfig: withoutGateway('10.99.0.0/24') }),
    'ipConfig[0]/ipv4/defaultGatewayIp',
  ],
  ['an overlay without ipConfig', overlay('prod', '10.99.0.0/24', { ipConfig: undefined }), 'ipConfig'],
  [
    'a chain of network functions on an overlay',
    overlay('prod', '10.99.0.0/24', { networkFunctionChainReference: randomUUID() }),
    'networkFunctionChainReference',
  ],
  [
    'DHCP relayed from a basic VLAN',
    vlan({ externalDhcpServers: [{ externalDhcpServerIpAddress: { ipv4: { value: '10.1.1.1' } } }] }),
    'externalDhcpServers',
  ],
  [
    'a name server of both families in one',
    vlan({
      ipConfig: ipConfigOf(ten),
      dhcpOptions: { domainNameServers: [{ ipv4: { value: '10.1.1.1' }, ipv6: { value: 'fd00::1' } }] },
    }),
    'dhcpOptions/domainNameServers[0]',
  ],
  [
    '33 name servers',
    vlan({
      ipConfig: ipConfigOf(ten),
      dhcpOptions: { domainNameServers: Array.from({ length: 33 }, (_, n) => ({ ipv4: { value: `10.1.1.${n}` } })) },
    }),
    'dhcpOptions/domainNameServers',
  ],
  ['two configurations of addresses', vlan({ ipConfig: [...ipConfigOf(ten), ...ipConfigOf(ten)] }), 'ipConfig'],
  ['a name of 129 characters', vlan({ name: 'n'.repeat(129) }), 'name'],
]
for (const [title, body, path] of refusals) {
  test(`refuses ${title}`, async () => {
    const refused = await create(body)
    assert.equal(refused.status, 400, JSON.stringify(refused.errors))
    const paths = [...pathsOf(refused), ...refused.errors.map(({ attributePath }) => attributePath)]
    assert.ok(paths.includes(path), JSON.stringify(refused.errors))
  })
}

test('a DHCP server address that is sent is leased, and without one the subnet has none', async () => {
  const task = await app.task(await create(vlan({ ipConfig: dhcpServerAt('10.20.0.10') })))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  const subnet = `${subnets}/${task.entitiesAffected[0].extId}`
  const held = await reserve(app, subnet, {
    reserveType: 'IP_ADDRESS_LIST',
    ipAddresses: [{ ipv4: { value: '10.20.0.10' } }],
  })
  assert.match(held.errors[0]!.message, /10\.20\.0\.10 is already the DHCP server/)
  const { ipPoolUsages, numAssignedIPs } = await usageOf(app, subnet)
  assert.deepEqual([ipPoolUsages[0].numTotalIPs, numAssignedIPs], [9, 0])
  const plain = (await app.call('GET', await aSubnet(app, ten))).data
  assert.equal(plain.ipConfig[0].ipv4.dhcpServerAddress, undefined)
})

test('addresses are returned in canonical spelling with their prefix length', async () => {
  const [config] = ipConfigOf({ ipv6: 'fd00:a::/64', pools6: [['FD00:A:0:0::10', 'fd00:a::0:1F']] }) as any[]
  delete config.ipv6.defaultGatewayIp.prefixLength
  const task = await app.task(await create(vlan({ ipConfig: [config] })))
  const { ipConfig, ipPrefix } = (await app.call('GET', `${subnets}/${task.entitiesAffected[0].extId}`)).data
  const { defaultGatewayIp, poolList } = ipConfig[0].ipv6
  assert.deepEqual(defaultGatewayIp, { value: 'fd00:a::1', prefixLength: 128 })
  assert.deepEqual([poolList[0].startIp.value, poolList[0].endIp.value], ['fd00:a::10', 'fd00:a::1f'])
  assert.equal(ipPrefix, 'fd00:a::/64')
})
