import {
  type Device,
  type DeviceTerms,
  type Identity,
  type InteriorNeighbor,
  interiorPasswordPlaceholder,
  isCounterMode,
  keyPlaceholder,
  passwordPlaceholder,
  within,
} from './device.ts'

const ciphers: Readonly<Record<string, string>> = {
  AES128: 'aes-128-cbc',
  AES256: 'aes-256-cbc',
  AES256GCM128: 'aes-256-gcm',
  TRIPLE_DES: '3des',
}
const identityTypes: Readonly<Record<Identity['type'], string>> = {
  address: 'ipaddr',
  distinguishedName: 'dn',
  email: 'ufqdn',
  name: 'fqdn',
}

const router = 'set network virtual-router default'
const bgpOfRouter = `${router} protocol bgp`

/** PAN-OS takes at most 65535 of each unit. */
const lifetimeOf = (seconds: number): string =>
  seconds <= 65535 ? `seconds ${seconds}` : `minutes ${Math.floor(seconds / 60)}`

export const panOs: Device = {
  name: 'Palo Alto Networks PAN-OS',
  version: '10.2',
  render(terms) {
    const { deadPeerDetection, diffieHellmanGroup, ike, ipsec, isInitiator, name, own, peer } = terms
    const ikeProfile = `set network ike crypto-profiles ike-crypto-profiles ${name}`
    const ipsecProfile = `set network ike crypto-profiles ipsec-crypto-profiles ${name}`
    const gateway = `set network ike gateway ${name}`
    const tunnel = `set network tunnel ipsec ${name}`
    return [
      `${ikeProfile} encryption ${ciphers[ike.encryption]}`,
      `${ikeProfile} hash ${isCounterMode(ike.encryption) ? 'non-auth' : ike.authentication.toLowerCase()}`,
      `${ikeProfile} dh-group group${diffieHellmanGroup}`,
      `${ikeProfile} lifetime ${lifetimeOf(ike.lifetimeSeconds)}`,
      `${ipsecProfile} esp encryption ${ciphers[ipsec.encryption]}`,
      `${ipsecProfile} esp authentication ${isCounterMode(ipsec.encryption) ? 'none' : ipsec.authentication.toLowerCase()}`,
      `${ipsecProfile} dh-group group${diffieHellmanGroup}`,
      `${ipsecProfile} lifetime ${lifetimeOf(ipsec.lifetimeSeconds)}`,
      `${gateway} authentication pre-shared-key key ${keyPlaceholder}`,
      `${gateway} protocol version ikev2`,
      `${gateway} protocol ikev2 ike-crypto-profile ${name}`,
      `${gateway} protocol ikev2 dpd enable yes`,
      `${gateway} protocol ikev2 dpd interval ${within(2, deadPeerDetection.intervalSeconds, 100)}`,
      `${gateway} protocol-common passive-mode ${isInitiator ? 'no' : 'yes'}`,
      `${gateway} local-address interface ethernet1/1`,
      `${gateway} local-address ip ${own.address}`,
      `${gateway} peer-address ip ${peer.address}`,
      `${gateway} local-id type ${identityTypes[own.identity.type]}`,
      `${gateway} local-id id "${own.identity.text}"`,
      `${gateway} peer-id type ${identityTypes[peer.identity.type]}`,
      `${gateway} peer-id id "${peer.identity.text}"`,
      `set network interface tunnel units tunnel.1 ip ${own.interfaceAddress}/30`,
      `${tunnel} auto-key ike-gateway ${name}`,
      `${tunnel} auto-key ipsec-crypto-profile ${name}`,
      `${tunnel} tunnel-interface tunnel.1`,
      `${router} interface tunnel.1`,
      ...bgpLines(terms),
      'commit',
    ]
  },
}

function bgpLines({ bgp, name, own, peer }: DeviceTerms): readonly string[] {
  if (bgp === undefined) return []
  const neighbor = `${bgpOfRouter} peer-group ${name} peer ${name}`
  return [
    `${bgpOfRouter} enable yes`,
    `${bgpOfRouter} router-id ${own.interfaceAddress}`,
    `${bgpOfRouter} local-as ${bgp.own}`,
    `${bgpOfRouter} peer-group ${name} type ebgp`,
    `${neighbor} peer-as ${bgp.peer}`,
    `${neighbor} local-address interface tunnel.1`,
    `${neighbor} local-address ip ${own.interfaceAddress}/30`,
    `${neighbor} peer-address ip ${peer.interfaceAddress}`,
    ...(bgp.hasPassword ? authenticated(neighbor, name, passwordPlaceholder) : []),
    `${neighbor} enable yes`,
    ...bgp.interior.flatMap((each, index) => interiorLines(name, bgp, each, index)),
    ...(bgp.emptyFilter === undefined ? [] : filterLines(bgp.emptyFilter)),
  ]
}

/** An export rule applies to groups, so neighbors that get no routes have a group of their own. */
function interiorLines(
  name: string,
  { own: asn, emptyFilter }: NonNullable<DeviceTerms['bgp']>,
  { address, hasPassword, redistributesRoutes }: InteriorNeighbor,
  index: number,
): readonly string[] {
  const group = redistributesRoutes ? `${name}-inside` : emptyFilter
  const peer = `${name}-${index + 1}`
  const neighbor = `${bgpOfRouter} peer-group ${group} peer ${peer}`
  return [
    `${bgpOfRouter} peer-group ${group} type ibgp export-nexthop use-self`,
    `${neighbor} peer-as ${asn}`,
    `${neighbor} local-address interface ethernet1/2`,
    `${neighbor} peer-address ip ${address}`,
    ...(hasPassword ? authenticated(neighbor, peer, interiorPasswordPlaceholder) : []),
    `${neighbor} enable yes`,
  ]
}

const authenticated = (neighbor: string, profile: string, secret: string): readonly string[] => [
  `${bgpOfRouter} auth-profile ${profile} secret ${secret}`,
  `${neighbor} connection-options authentication ${profile}`,
]

function filterLines(group: string): readonly string[] {
  const rule = `${bgpOfRouter} policy export rules ${group}`
  return [`${rule} used-by ${group}`, `${rule} action deny`, `${rule} enable yes`]
}
