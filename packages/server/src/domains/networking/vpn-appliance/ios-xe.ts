import { type Device, type Identity, isCounterMode, isOverIpv6, keyPlaceholder, retriesOf, within } from './device.ts'
import { routerBgpLines } from './router-bgp.ts'

const ikeCiphers: Readonly<Record<string, string>> = {
  AES128: 'aes-cbc-128',
  AES256: 'aes-cbc-256',
  AES256GCM128: 'aes-gcm-256',
  TRIPLE_DES: '3des',
}
const espCiphers: Readonly<Record<string, string>> = {
  AES128: 'esp-aes',
  AES256: 'esp-aes 256',
  AES256GCM128: 'esp-gcm 256',
  TRIPLE_DES: 'esp-3des',
}
const identityTypes: Readonly<Record<Identity['type'], string>> = {
  address: 'address',
  distinguishedName: 'key-id',
  email: 'email',
  name: 'fqdn',
}
const hmacOf = (authentication: string): string =>
  `esp-${authentication === 'SHA1' ? 'sha' : authentication.toLowerCase()}-hmac`

export const iosXe: Device = {
  name: 'Cisco IOS XE',
  version: '17.9',
  render(terms) {
    const { deadPeerDetection, diffieHellmanGroup: group, ike, ipsec, isInitiator, name, own, peer, title } = terms
    const integrity = isCounterMode(ike.encryption) ? 'prf' : 'integrity'
    const hmac = isCounterMode(ipsec.encryption) ? '' : ` ${hmacOf(ipsec.authentication)}`
    const mask = peer.identity.type !== 'address' ? '' : isOverIpv6(terms) ? '/128' : ' 255.255.255.255'
    return [
      `! VPN connection ${title}`,
      `crypto ikev2 proposal ${name}`,
      ` encryption ${ikeCiphers[ike.encryption]}`,
      ` ${integrity} ${ike.authentication.toLowerCase()}`,
      ` group ${group}`,
      `crypto ikev2 policy ${name}`,
      ` match address local ${own.address}`,
      ` proposal ${name}`,
      `crypto ikev2 keyring ${name}`,
      ` peer ${name}`,
      `  address ${peer.address}`,
      `  pre-shared-key ${keyPlaceholder}`,
      `crypto ikev2 profile ${name}`,
      ` match address local ${own.address}`,
      ` match identity remote ${identityTypes[peer.identity.type]} ${peer.identity.text}${mask}`,
      ` identity local ${identityTypes[own.identity.type]} ${own.identity.text}`,
      ' authentication remote pre-share',
      ' authentication local pre-share',
      ` keyring local ${name}`,
      ` lifetime ${ike.lifetimeSeconds}`,
      ` dpd ${within(10, deadPeerDetection.intervalSeconds, 3600)} ${within(2, retriesOf(terms), 60)} periodic`,
      `crypto ipsec transform-set ${name} ${espCiphers[ipsec.encryption]}${hmac}`,
      ' mode tunnel',
      `crypto ipsec profile ${name}`,
      ` set security-association lifetime seconds ${ipsec.lifetimeSeconds}`,
      ` set transform-set ${name}`,
      ` set pfs group${group}`,
      ` set ikev2-profile ${name}`,
      ...(isInitiator ? [] : [' responder-only']),
      'interface Tunnel1',
      ` ip address ${own.interfaceAddress} 255.255.255.252`,
      ` tunnel source ${own.address}`,
      ` tunnel mode ipsec ${isOverIpv6(terms) ? 'ipv6 v4-overlay' : 'ipv4'}`,
      ` tunnel destination ${peer.address}`,
      ` tunnel protection ipsec profile ${name}`,
      ...routerBgpLines(terms, { addressFamily: 'ipv4' }),
      'end',
    ]
  },
}
