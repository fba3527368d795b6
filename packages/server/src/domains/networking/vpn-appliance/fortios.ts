import {
  type Device,
  type DeviceTerms,
  type Identity,
  interiorPasswordPlaceholder,
  isCounterMode,
  isOverIpv6,
  keyPlaceholder,
  passwordPlaceholder,
  retriesOf,
  within,
} from './device.ts'

const ciphers: Readonly<Record<string, string>> = {
  AES128: 'aes128',
  AES256: 'aes256',
  AES256GCM128: 'aes256gcm',
  TRIPLE_DES: '3des',
}
const identityTypes: Readonly<Record<Identity['type'], string>> = {
  address: 'address',
  distinguishedName: 'keyid',
  email: 'user-fqdn',
  name: 'fqdn',
}

const block = (head: string, end: 'end' | 'next', lines: readonly string[]): readonly string[] => [
  head,
  ...lines.map((line) => `    ${line}`),
  end,
]
const configured = (path: string, entry: string, lines: readonly string[]): readonly string[] =>
  block(`config ${path}`, 'end', block(`edit "${entry}"`, 'next', lines))

export const fortios: Device = {
  name: 'Fortinet FortiGate',
  version: 'FortiOS 7.2',
  render: (terms) => [
    `# VPN connection ${terms.title}`,
    ...configured('vpn ipsec phase1-interface', terms.name, firstPhase(terms)),
    ...configured('vpn ipsec phase2-interface', terms.name, secondPhase(terms)),
    ...configured('system interface', terms.name, [
      `set ip ${terms.own.interfaceAddress} 255.255.255.255`,
      `set remote-ip ${terms.peer.interfaceAddress} 255.255.255.252`,
    ]),
    ...bgpLines(terms),
  ],
}

function firstPhase(terms: DeviceTerms): readonly string[] {
  const { deadPeerDetection, diffieHellmanGroup, ike, isInitiator, own, peer } = terms
  const hash = ike.authentication.toLowerCase()
  return [
    'set interface "wan1"',
    'set ike-version 2',
    ...(isOverIpv6(terms) ? ['set ip-version 6'] : []),
    `set local-gw${isOverIpv6(terms) ? '6' : ''} ${own.address}`,
    `set remote-gw${isOverIpv6(terms) ? '6' : ''} ${peer.address}`,
    'set authmethod psk',
    `set psksecret ${keyPlaceholder}`,
    `set localid-type ${identityTypes[own.identity.type]}`,
    `set localid "${own.identity.text}"`,
    ...(peer.identity.type === 'address'
      ? ['set peertype any']
      : ['set peertype one', `set peerid "${peer.identity.text}"`]),
    `set proposal ${ciphers[ike.encryption]}-${isCounterMode(ike.encryption) ? 'prf' : ''}${hash}`,
    `set dhgrp ${diffieHellmanGroup}`,
    `set keylife ${ike.lifetimeSeconds}`,
    'set dpd on-idle',
    `set dpd-retrycount ${within(1, retriesOf(terms), 10)}`,
    `set dpd-retryinterval ${deadPeerDetection.intervalSeconds}`,
    `set passive-mode ${isInitiator ? 'disable' : 'enable'}`,
    'set net-device disable',
  ]
}

function secondPhase({ diffieHellmanGroup, ipsec, isInitiator, name }: DeviceTerms): readonly string[] {
  const hash = isCounterMode(ipsec.encryption) ? '' : `-${ipsec.authentication.toLowerCase()}`
  return [
    `set phase1name "${name}"`,
    `set proposal ${ciphers[ipsec.encryption]}${hash}`,
    'set pfs enable',
    `set dhgrp ${diffieHellmanGroup}`,
    `set keylifeseconds ${ipsec.lifetimeSeconds}`,
    `set auto-negotiate ${isInitiator ? 'enable' : 'disable'}`,
  ]
}

function bgpLines({ bgp, peer }: DeviceTerms): readonly string[] {
  if (bgp === undefined) return []
  const filter = bgp.emptyFilter
  const nothing = configured('rule', '1', ['set action deny', 'set prefix any'])
  const neighbor = [`set remote-as ${bgp.peer}`, ...(bgp.hasPassword ? [`set password ${passwordPlaceholder}`] : [])]
  return [
    ...(filter === undefined ? [] : configured('router prefix-list', filter, nothing)),
    ...block('config router bgp', 'end', [
      `set as ${bgp.own}`,
      ...configured('neighbor', peer.interfaceAddress, neighbor),
      ...bgp.interior.flatMap(({ address, hasPassword, redistributesRoutes }) =>
        configured('neighbor', address, [
          `set remote-as ${bgp.own}`,
          ...(hasPassword ? [`set password ${interiorPasswordPlaceholder}`] : []),
          redistributesRoutes ? 'set next-hop-self enable' : `set prefix-list-out "${filter}"`,
        ]),
      ),
    ]),
  ]
}
