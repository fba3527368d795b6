import {
  type Device,
  type DeviceTerms,
  interiorPasswordPlaceholder,
  isCounterMode,
  keyPlaceholder,
  passwordPlaceholder,
  within,
} from './device.ts'

const ciphers: Readonly<Record<string, string>> = {
  AES128: 'aes128',
  AES256: 'aes256',
  AES256GCM128: 'aes256gcm128',
  TRIPLE_DES: '3des',
}

export const vyos: Device = {
  name: 'VyOS',
  version: '1.4',
  render(terms) {
    const { deadPeerDetection, diffieHellmanGroup, ike, ipsec, isInitiator, name, own, peer, title } = terms
    const [ikeGroup, espGroup] = [`set vpn ipsec ike-group ${name}`, `set vpn ipsec esp-group ${name}`]
    const site = `set vpn ipsec site-to-site peer ${name}`
    const hashOf = ({ authentication }: typeof ike): string => authentication.toLowerCase()
    return [
      `# VPN connection ${title}`,
      `${ikeGroup} key-exchange 'ikev2'`,
      `${ikeGroup} lifetime '${ike.lifetimeSeconds}'`,
      `${ikeGroup} proposal 1 encryption '${ciphers[ike.encryption]}'`,
      `${ikeGroup} proposal 1 hash '${hashOf(ike)}'`,
      `${ikeGroup} proposal 1 dh-group '${diffieHellmanGroup}'`,
      `${ikeGroup} dead-peer-detection action 'restart'`,
      `${ikeGroup} dead-peer-detection interval '${within(2, deadPeerDetection.intervalSeconds, 86400)}'`,
      `${ikeGroup} dead-peer-detection timeout '${deadPeerDetection.timeoutSeconds}'`,
      `${espGroup} lifetime '${ipsec.lifetimeSeconds}'`,
      `${espGroup} mode 'tunnel'`,
      `${espGroup} pfs 'dh-group${diffieHellmanGroup}'`,
      `${espGroup} proposal 1 encryption '${ciphers[ipsec.encryption]}'`,
      ...(isCounterMode(ipsec.encryption) ? [] : [`${espGroup} proposal 1 hash '${hashOf(ipsec)}'`]),
      `set vpn ipsec authentication psk ${name} id '${own.identity.text}'`,
      `set vpn ipsec authentication psk ${name} id '${peer.identity.text}'`,
      `set vpn ipsec authentication psk ${name} secret '${keyPlaceholder}'`,
      `${site} authentication mode 'pre-shared-secret'`,
      `${site} authentication local-id '${own.identity.text}'`,
      `${site} authentication remote-id '${peer.identity.text}'`,
      `${site} connection-type '${isInitiator ? 'initiate' : 'respond'}'`,
      `${site} ike-group '${name}'`,
      `${site} local-address '${own.address}'`,
      `${site} remote-address '${peer.address}'`,
      `${site} vti bind 'vti0'`,
      `${site} vti esp-group '${name}'`,
      `set interfaces vti vti0 address '${own.interfaceAddress}/30'`,
      ...bgpLines(terms),
    ]
  },
}

function bgpLines({ bgp, peer }: DeviceTerms): readonly string[] {
  if (bgp === undefined) return []
  const neighbor = `set protocols bgp neighbor ${peer.interfaceAddress}`
  const filter = bgp.emptyFilter
  const rule = `set policy prefix-list ${filter} rule 1`
  return [
    ...(filter === undefined ? [] : [`${rule} action 'deny'`, `${rule} prefix '0.0.0.0/0'`, `${rule} le '32'`]),
    `set protocols bgp system-as '${bgp.own}'`,
    `${neighbor} remote-as '${bgp.peer}'`,
    ...(bgp.hasPassword ? [`${neighbor} password '${passwordPlaceholder}'`] : []),
    `${neighbor} address-family ipv4-unicast`,
    ...bgp.interior.flatMap(({ address, hasPassword, redistributesRoutes }) => {
      const inside = `set protocols bgp neighbor ${address}`
      return [
        `${inside} remote-as '${bgp.own}'`,
        ...(hasPassword ? [`${inside} password '${interiorPasswordPlaceholder}'`] : []),
        `${inside} address-family ipv4-unicast ${redistributesRoutes ? 'nexthop-self' : `prefix-list export '${filter}'`}`,
      ]
    }),
  ]
}
