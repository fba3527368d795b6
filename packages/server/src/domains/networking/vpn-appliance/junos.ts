import {
  type Device,
  type DeviceTerms,
  type Identity,
  interiorPasswordPlaceholder,
  isCounterMode,
  keyPlaceholder,
  passwordPlaceholder,
  retriesOf,
  within,
} from './device.ts'

const ciphers: Readonly<Record<string, string>> = {
  AES128: 'aes-128-cbc',
  AES256: 'aes-256-cbc',
  AES256GCM128: 'aes-256-gcm',
  TRIPLE_DES: '3des-cbc',
}
const ikeHashes: Readonly<Record<string, string>> = {
  MD5: 'md5',
  SHA1: 'sha1',
  SHA256: 'sha-256',
  SHA384: 'sha-384',
  SHA512: 'sha-512',
}
const espHashes: Readonly<Record<string, string>> = {
  MD5: 'hmac-md5-96',
  SHA1: 'hmac-sha1-96',
  SHA256: 'hmac-sha-256-128',
  SHA384: 'hmac-sha-384',
  SHA512: 'hmac-sha-512',
}
const identityTypes: Readonly<Record<Identity['type'], string>> = {
  address: 'inet',
  distinguishedName: 'key-id',
  email: 'user-at-hostname',
  name: 'hostname',
}
const identity = ({ type, text }: Identity): string =>
  `${text.includes(':') && type === 'address' ? 'inet6' : identityTypes[type]} "${text}"`

export const junos: Device = {
  name: 'Juniper SRX',
  version: 'Junos 21.4',
  render(terms) {
    const { deadPeerDetection, diffieHellmanGroup, ike, ipsec, isInitiator, name, own, peer, title } = terms
    const group = `group${diffieHellmanGroup}`
    const gateway = `set security ike gateway ${name}`
    const ikeHash = `set security ike proposal ${name} authentication-algorithm ${ikeHashes[ike.authentication]}`
    const espHash = `set security ipsec proposal ${name} authentication-algorithm ${espHashes[ipsec.authentication]}`
    return [
      `# VPN connection ${title}`,
      `set security ike proposal ${name} authentication-method pre-shared-keys`,
      `set security ike proposal ${name} dh-group ${group}`,
      ...(isCounterMode(ike.encryption) ? [] : [ikeHash]),
      `set security ike proposal ${name} encryption-algorithm ${ciphers[ike.encryption]}`,
      `set security ike proposal ${name} lifetime-seconds ${ike.lifetimeSeconds}`,
      `set security ike policy ${name} proposals ${name}`,
      `set security ike policy ${name} pre-shared-key ascii-text "${keyPlaceholder}"`,
      `${gateway} ike-policy ${name}`,
      `${gateway} address ${peer.address}`,
      `${gateway} dead-peer-detection always-send`,
      `${gateway} dead-peer-detection interval ${within(2, deadPeerDetection.intervalSeconds, 60)}`,
      `${gateway} dead-peer-detection threshold ${within(1, retriesOf(terms), 5)}`,
      `${gateway} local-identity ${identity(own.identity)}`,
      `${gateway} remote-identity ${identity(peer.identity)}`,
      `${gateway} local-address ${own.address}`,
      `${gateway} external-interface ge-0/0/0.0`,
      `${gateway} version v2-only`,
      `set security ipsec proposal ${name} protocol esp`,
      ...(isCounterMode(ipsec.encryption) ? [] : [espHash]),
      `set security ipsec proposal ${name} encryption-algorithm ${ciphers[ipsec.encryption]}`,
      `set security ipsec proposal ${name} lifetime-seconds ${ipsec.lifetimeSeconds}`,
      `set security ipsec policy ${name} perfect-forward-secrecy keys ${group}`,
      `set security ipsec policy ${name} proposals ${name}`,
      `set security ipsec vpn ${name} bind-interface st0.0`,
      `set security ipsec vpn ${name} ike gateway ${name}`,
      `set security ipsec vpn ${name} ike ipsec-policy ${name}`,
      `set security ipsec vpn ${name} establish-tunnels ${isInitiator ? 'immediately' : 'responder-only'}`,
      `set interfaces st0 unit 0 family inet address ${own.interfaceAddress}/30`,
      'set security zones security-zone vpn interfaces st0.0',
      ...bgpLines(terms),
    ]
  },
}

function bgpLines(terms: DeviceTerms): readonly string[] {
  const { bgp, name, peer } = terms
  if (bgp === undefined) return []
  return [
    'set security zones security-zone vpn interfaces st0.0 host-inbound-traffic protocols bgp',
    `set routing-options autonomous-system ${bgp.own}`,
    `set protocols bgp group ${name} type external`,
    `set protocols bgp group ${name} neighbor ${peer.interfaceAddress} peer-as ${bgp.peer}`,
    ...(bgp.hasPassword ? [`set protocols bgp group ${name} authentication-key "${passwordPlaceholder}"`] : []),
    ...(bgp.interior.length > 0 ? interiorLines(name, bgp) : []),
  ]
}

function interiorLines(
  name: string,
  { interior, emptyFilter: nothing }: NonNullable<DeviceTerms['bgp']>,
): readonly string[] {
  const inside = `${name}-inside`
  const routes = `set policy-options policy-statement ${inside} term bgp`
  const isAnySent = interior.some(({ redistributesRoutes }) => redistributesRoutes)
  return [
    ...(isAnySent ? [`${routes} from protocol bgp`, `${routes} then next-hop self`, `${routes} then accept`] : []),
    ...(nothing === undefined ? [] : [`set policy-options policy-statement ${nothing} then reject`]),
    'set security zones security-zone trust host-inbound-traffic protocols bgp',
    `set protocols bgp group ${inside} type internal`,
    ...interior.flatMap(({ address, hasPassword, redistributesRoutes }) => {
      const neighbor = `set protocols bgp group ${inside} neighbor ${address}`
      return [
        ...(hasPassword ? [`${neighbor} authentication-key "${interiorPasswordPlaceholder}"`] : []),
        `${neighbor} export ${redistributesRoutes ? inside : nothing}`,
      ]
    }),
  ]
}
