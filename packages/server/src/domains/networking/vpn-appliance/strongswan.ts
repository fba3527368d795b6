import type { TunnelAlgorithms } from '../../../drivers/vpn-tunnels.ts'
import { type Device, type DeviceTerms, isCounterMode, keyPlaceholder } from './device.ts'
import { routerBgpLines } from './router-bgp.ts'

const ciphers: Readonly<Record<string, string>> = {
  AES128: 'aes128',
  AES256: 'aes256',
  AES256GCM128: 'aes256gcm16',
  TRIPLE_DES: '3des',
}
const groups: Readonly<Record<number, string>> = { 14: 'modp2048', 19: 'ecp256', 20: 'ecp384' }
/** Binds the policies of the tunnel to its interface. */
const interfaceId = 1

/** @param prf IKE counter modes need a function of their own to derive keys */
function proposalOf({ encryption, authentication }: TunnelAlgorithms, group: number, prf: boolean): string {
  const hash = authentication.toLowerCase()
  const integrity = isCounterMode(encryption) ? (prf ? [`prf${hash}`] : []) : [hash]
  return [ciphers[encryption], ...integrity, groups[group]].join('-')
}

export const strongswan: Device = {
  name: 'strongSwan',
  version: '5.9',
  render: (terms) => [
    `# /etc/swanctl/conf.d/${terms.name}.conf: VPN connection ${terms.title}`,
    'connections {',
    `  ${terms.name} {`,
    ...connectionLines(terms).map((line) => `    ${line}`),
    '  }',
    '}',
    'secrets {',
    `  ike-${terms.name} {`,
    `    id-local = "${terms.own.identity.text}"`,
    `    id-remote = "${terms.peer.identity.text}"`,
    `    secret = "${keyPlaceholder}"`,
    '  }',
    '}',
    '',
    '# The interface of the tunnel:',
    `# ip link add ${terms.name} type xfrm if_id ${interfaceId}`,
    `# ip address add ${terms.own.interfaceAddress}/30 dev ${terms.name}`,
    `# ip link set ${terms.name} up`,
    ...routingLines(terms),
  ],
}

function connectionLines({ deadPeerDetection, diffieHellmanGroup, ike, ipsec, isInitiator, own, peer }: DeviceTerms) {
  return [
    'version = 2',
    `local_addrs = ${own.address}`,
    `remote_addrs = ${peer.address}`,
    `proposals = ${proposalOf(ike, diffieHellmanGroup, true)}`,
    `rekey_time = ${ike.lifetimeSeconds}s`,
    `dpd_delay = ${deadPeerDetection.intervalSeconds}s`,
    `dpd_timeout = ${deadPeerDetection.timeoutSeconds}s`,
    `if_id_in = ${interfaceId}`,
    `if_id_out = ${interfaceId}`,
    'local {',
    '  auth = psk',
    `  id = "${own.identity.text}"`,
    '}',
    'remote {',
    '  auth = psk',
    `  id = "${peer.identity.text}"`,
    '}',
    'children {',
    '  net {',
    '    local_ts = 0.0.0.0/0',
    '    remote_ts = 0.0.0.0/0',
    `    esp_proposals = ${proposalOf(ipsec, diffieHellmanGroup, false)}`,
    `    rekey_time = ${ipsec.lifetimeSeconds}s`,
    '    dpd_action = restart',
    `    start_action = ${isInitiator ? 'start' : 'none'}`,
    '  }',
    '}',
  ]
}

function routingLines(terms: DeviceTerms): readonly string[] {
  if (terms.bgp === undefined) return []
  // FRR 7.5 and later exchange no routes with an eBGP neighbor that has no route maps.
  const more = [' no bgp ebgp-requires-policy']
  const lines = routerBgpLines(terms, { addressFamily: 'ipv4 unicast', more })
  return ['', '# The BGP session, in /etc/frr/frr.conf:', ...lines.map((line) => `# ${line}`)]
}
