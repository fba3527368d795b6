/** Configurations for remote devices. Source: behaviour networking.md 1.11, 5 (31). */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { changed, ip, made, removed } from '../../support/vpcs.ts'
import { aRemoteVpn, connectionTo, removeDemoConnection, vpnConnections } from '../../support/vpn.ts'

let app: TestApp
let own: string
before(async () => {
  app = await startApp()
  await removeDemoConnection(app)
  const services = {
    $objectType: 'networking.v4.config.LocalNetworkServices',
    localVpnService: { ebgpConfig: { asn: 65010, password: 'ebgp-secret-2' } },
  }
  await changed(app, `/networking/v4.3/config/gateways/${seedId('gateway/vpn-prod')}`, { services })
  const remote = await aRemoteVpn(app, '198.51.100.30', 65060, { password: 'ebgp-secret-2' })
  const body = connectionTo(remote, "Zürich's branch", {
    dpdConfig: { intervalSecs: 12, timeoutSecs: 48 },
    ipsecConfig: {
      preSharedKey: 'tunnel-secret-2',
      ikeLifetimeSecs: 11111,
      ipsecLifetimeSecs: 2222,
      espPfsDhGroupNumber: 19,
      ipsecAuthenticationAlgorithm: 'SHA512',
      localVtiIp: ip('169.254.7.1'),
      remoteVtiIp: ip('169.254.7.2'),
      remoteAuthenticationId: 'branch.example.com',
    },
  })
  own = await made(app, vpnConnections, body)
})
after(() => app.close())

const configs = (path: string): string => `${path}/vpn-vendor-configs`
const listed = async (): Promise<any[]> => (await app.call('GET', configs(own))).data
const configOf = async (name: string): Promise<string> => {
  const { extId } = (await listed()).find((device) => device.name === name)
  return (await app.call('GET', `${configs(own)}/${extId}`)).data
}
const local = async (): Promise<string> => {
  const { data } = await app.call('GET', `/networking/v4.3/config/gateways/${seedId('gateway/vpn-prod')}`)
  return data.services.serviceAddress.ipv4.value
}

test('six devices are known, with the same ids for every connection; lists filter and order them', async () => {
  const devices = await listed()
  assert.equal(devices.length, 6)
  assert.ok(devices.every(({ extId, name, version }) => extId && name && version))
  const other = await made(app, vpnConnections, connectionTo(seedId('gateway/branch'), 'other'))
  const ids = (await app.call('GET', configs(other))).data.map(({ extId }: any) => extId)
  assert.deepEqual(
    ids,
    devices.map(({ extId }) => extId),
  )
  const filtered = await app.call('GET', `${configs(own)}?$filter=startswith(name,'V')&$orderby=name desc`)
  assert.deepEqual([filtered.total, filtered.data[0].name], [1, 'VyOS'])
  await removed(app, other)
})

test('every configuration has addresses, lifetimes, group and eBGP of the connection, and placeholders for secrets', async () => {
  const gateway = await local()
  for (const { extId, name } of await listed()) {
    const config: string = (await app.call('GET', `${configs(own)}/${extId}`)).data
    const expected = ['198.51.100.30', gateway, '169.254.7.1', '169.254.7.2', '11111', '2222', 'branch.example.com']
    for (const text of [...expected, '65060', '65010', '<PRE_SHARED_KEY>', '<BGP_PASSWORD>'])
      assert.ok(config.includes(text), `${name} lacks ${text}`)
    assert.ok(/(group ?19|group '19'|dhgrp 19|ecp256)/.test(config), name)
    assert.ok(!/secret-2|undefined|\[object/.test(config), name)
  }
})

test('the configuration of an IOS router is that of a route-based tunnel', async () => {
  const gateway = await local()
  const name = `vpn-${own.slice(-36, -28)}`
  assert.equal(
    await configOf('Cisco IOS XE'),
    `! VPN connection Zürich's branch
crypto ikev2 proposal ${name}
 encryption aes-cbc-256
 integrity sha256
 group 19
crypto ikev2 policy ${name}
 match address local 198.51.100.30
 proposal ${name}
crypto ikev2 keyring ${name}
 peer ${name}
  address ${gateway}
  pre-shared-key <PRE_SHARED_KEY>
crypto ikev2 profile ${name}
 match address local 198.51.100.30
 match identity remote address ${gateway} 255.255.255.255
 identity local fqdn branch.example.com
 authentication remote pre-share
 authentication local pre-share
 keyring local ${name}
 lifetime 11111
 dpd 12 4 periodic
crypto ipsec transform-set ${name} esp-aes 256 esp-sha512-hmac
 mode tunnel
crypto ipsec profile ${name}
 set security-association lifetime seconds 2222
 set transform-set ${name}
 set pfs group19
 set ikev2-profile ${name}
 responder-only
interface Tunnel1
 ip address 169.254.7.2 255.255.255.252
 tunnel source 198.51.100.30
 tunnel mode ipsec ipv4
 tunnel destination ${gateway}
 tunnel protection ipsec profile ${name}
router bgp 65060
 neighbor 169.254.7.1 remote-as 65010
 neighbor 169.254.7.1 password <BGP_PASSWORD>
 address-family ipv4
  neighbor 169.254.7.1 activate
 exit-address-family
end
`,
  )
})

test('every configuration has the iBGP peers of the remote site, and filters what those are sent that get no routes', async () => {
  const { data: connection } = await app.call('GET', own)
  const gateway = `/networking/v4.3/config/gateways/${connection.remoteGatewayReference}`
  const { services } = (await app.call('GET', gateway)).data
  const withPeers = (...ibgpConfigList: object[]): object => ({
    services: { ...services, remoteVpnService: { ...services.remoteVpnService, peerIgpConfig: { ibgpConfigList } } },
  })
  const filter = /prefix-list|-none/
  const secretive = { peerIp: ip('10.30.0.1'), password: 'ibgp-secret-2', shouldRedistributeRoutes: true }
  await changed(app, gateway, withPeers(secretive))
  for (const { name } of await listed()) {
    const config = await configOf(name)
    for (const text of ['10.30.0.1', '<IBGP_PASSWORD>']) assert.ok(config.includes(text), `${name} lacks ${text}`)
    assert.match(config, /next-?hop-?self|next-hop self|export-nexthop use-self/, name)
    assert.ok(!filter.test(config) && !/secret-2|undefined|\[object/.test(config), `${name} ${config}`)
  }
  await changed(app, gateway, withPeers({ peerIp: ip('10.30.0.2') }, { peerIp: ip('10.30.0.3') }))
  for (const { name } of await listed()) {
    const config = await configOf(name)
    for (const text of ['10.30.0.2', '10.30.0.3']) assert.ok(config.includes(text), `${name} lacks ${text}`)
    assert.match(config, filter, name)
    assert.ok(!config.includes('<IBGP_PASSWORD>') && !config.includes('10.30.0.1'), name)
  }
  const filterName = `vpn-${own.slice(-36, -28)}-none`
  assert.ok(
    (await configOf('Cisco IOS XE')).includes(`ip prefix-list ${filterName} seq 5 deny 0.0.0.0/0 le 32
router bgp 65060
 neighbor 169.254.7.1 remote-as 65010
 neighbor 169.254.7.1 password <BGP_PASSWORD>
 neighbor 10.30.0.2 remote-as 65060
 neighbor 10.30.0.3 remote-as 65060
 address-family ipv4
  neighbor 169.254.7.1 activate
  neighbor 10.30.0.2 activate
  neighbor 10.30.0.2 prefix-list ${filterName} out
  neighbor 10.30.0.3 activate
  neighbor 10.30.0.3 prefix-list ${filterName} out
 exit-address-family
`),
  )
  await changed(app, gateway, { services })
  for (const { name } of await listed()) assert.doesNotMatch(await configOf(name), /10\.30\.0|prefix-list|-none/)
})

test('the configuration for FRR exchanges routes without route maps, which FRR demands of eBGP by default', async () => {
  assert.match(await configOf('strongSwan'), /# router bgp 65060\n# {2}no bgp ebgp-requires-policy\n/)
})

/** The numbers that the command line of each device accepts. A pattern may match several times. */
const ranges: Readonly<Record<string, readonly (readonly [RegExp, least: number, most: number])[]>> = {
  'Cisco IOS XE': [
    [/^ lifetime (\d+)$/gm, 120, 86_400],
    [/^ dpd (\d+) \d+ periodic$/gm, 10, 3600],
    [/^ dpd \d+ (\d+) periodic$/gm, 2, 60],
    [/security-association lifetime seconds (\d+)$/gm, 120, 2_592_000],
  ],
  'Fortinet FortiGate': [
    [/set keylife (\d+)$/gm, 120, 172_800],
    [/set keylifeseconds (\d+)$/gm, 120, 172_800],
    [/set dpd-retrycount (\d+)$/gm, 1, 10],
    [/set dpd-retryinterval (\d+)$/gm, 1, 3600],
  ],
  'Juniper SRX': [
    [/lifetime-seconds (\d+)$/gm, 180, 86_400],
    [/dead-peer-detection interval (\d+)$/gm, 2, 60],
    [/dead-peer-detection threshold (\d+)$/gm, 1, 5],
  ],
  'Palo Alto Networks PAN-OS': [
    [/lifetime (?:seconds|minutes) (\d+)$/gm, 3, 65_535],
    [/dpd interval (\d+)$/gm, 2, 100],
  ],
  VyOS: [
    [/group \S+ lifetime '(\d+)'$/gm, 30, 86_400],
    [/dead-peer-detection (?:interval|timeout) '(\d+)'$/gm, 2, 86_400],
  ],
}

/** The statements of a device whose configuration has blocks, each with the heads of the blocks around it. */
function statementsOf(name: string, config: string): readonly string[] {
  const [opening, closing] = name === 'strongSwan' ? [/ \{$/, /^\}$/] : [/^(config|edit) /, /^(end|next)$/]
  const open: string[] = []
  const statements: string[] = []
  for (const line of config.split('\n').map((each) => each.trim())) {
    if (line === '' || line.startsWith('#')) continue
    if (closing.test(line)) assert.ok(open.pop(), `${name} closes a block that it did not open`)
    else if (opening.test(line)) open.push(line)
    else statements.push([...open, line].join(' '))
  }
  assert.deepEqual(open, [], name)
  return statements
}

test('every device accepts the numbers that stand for the shortest and the longest times of a connection', async () => {
  const { ipsecConfig, dpdConfig } = (await app.call('GET', own)).data
  for (const [seconds, intervalSecs, timeoutSecs] of [
    [300, 1, 2],
    [86_400, 1, 86_400],
    [65_536, 3600, 86_400],
  ]) {
    const lifetimes = { ikeLifetimeSecs: seconds, ipsecLifetimeSecs: seconds }
    await changed(app, own, {
      ...{ ipsecConfig: { ...ipsecConfig, ...lifetimes }, dpdConfig: { ...dpdConfig, intervalSecs, timeoutSecs } },
    })
    for (const [name, patterns] of Object.entries(ranges)) {
      const config = await configOf(name)
      for (const [pattern, least, most] of patterns) {
        const found = [...config.matchAll(pattern)].map(([, number]) => Number(number))
        assert.ok(found.length > 0, `${name} ${pattern}`)
        for (const number of found) assert.ok(least <= number && number <= most, `${name} ${pattern}: ${number}`)
      }
    }
  }
  await changed(app, own, { ipsecConfig, dpdConfig })
})

test('blocks of configurations are closed, and every other line is a statement of the device', async () => {
  for (const name of ['strongSwan', 'Fortinet FortiGate']) {
    const statements = statementsOf(name, await configOf(name))
    const form = name === 'strongSwan' ? / [a-z_-]+ = \S+/ : /^config .+ set [a-z0-9-]+ \S+/
    for (const statement of statements) assert.match(statement, form, name)
    assert.ok(statements.length > 15)
  }
  for (const name of ['Juniper SRX', 'Palo Alto Networks PAN-OS', 'VyOS'])
    for (const line of (await configOf(name)).split('\n').filter((each) => each !== '' && !each.startsWith('#')))
      assert.match(line, /^(set [a-z-]+ [a-z0-9-]+ .*\S|commit)$/, name)
})

test('an algorithm with built-in integrity has no hash, and the peer of an acceptor initiates', async () => {
  const ipsecConfig = { ikeEncryptionAlgorithm: 'AES256GCM128', ipsecEncryptionAlgorithm: 'AES256GCM128' }
  await changed(app, own, { ipsecConfig, localGatewayRole: 'ACCEPTOR' })
  const strongswan = await configOf('strongSwan')
  assert.match(strongswan, /\n {4}proposals = aes256gcm16-prfsha256-modp2048\n/)
  assert.match(strongswan, /\n {8}esp_proposals = aes256gcm16-modp2048\n/)
  assert.match(strongswan, /start_action = start\n/)
  assert.match(await configOf('Cisco IOS XE'), /encryption aes-gcm-256\n prf sha256\n[\s\S]* esp-gcm 256\n/)
  assert.match(
    await configOf('Fortinet FortiGate'),
    /set proposal aes256gcm-prfsha256\n[\s\S]*set proposal aes256gcm\n/,
  )
  assert.match(await configOf('Juniper SRX'), /encryption-algorithm aes-256-gcm\n/)
  assert.ok(!(await configOf('Juniper SRX')).includes('authentication-algorithm'))
  assert.match(await configOf('Palo Alto Networks PAN-OS'), /hash non-auth\n[\s\S]*esp authentication none\n/)
  assert.match(await configOf('VyOS'), /connection-type 'initiate'\n/)
})

test('a client that accepts text only gets the bare text, every other one a JSON string in the envelope', async () => {
  const [{ extId }] = await listed()
  const path = `${configs(own)}/${extId}`
  const { data } = await app.call('GET', path, { accept: 'text/plain, application/json' })
  assert.equal(typeof data, 'string')
  const bare = await app.call('GET', path, { accept: 'text/plain' })
  assert.deepEqual([bare.status, bare.data], [200, { contentType: 'text/plain; charset=utf-8', content: data }])
  assert.equal((await app.call('GET', path, { accept: '*/*' })).data, data)
  assert.equal((await app.call('GET', path, { accept: 'text/html' })).status, 406)
})

test('an unknown device or connection is 404', async () => {
  const [{ extId }] = await listed()
  const unknown = await app.call('GET', `${configs(own)}/${randomUUID()}`)
  assert.deepEqual([unknown.status, unknown.errors[0]!.code], [404, 'NETWORKING-10010'])
  assert.equal((await app.call('GET', `${vpnConnections}/${randomUUID()}/vpn-vendor-configs/${extId}`)).status, 404)
  assert.equal((await app.call('GET', `${vpnConnections}/${randomUUID()}/vpn-vendor-configs`)).status, 404)
})
