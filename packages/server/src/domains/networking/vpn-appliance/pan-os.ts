import { type Device, type Identity, isCounterMode, keyPlaceholder, passwordPlaceholder, within } from './device.ts'

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

/** PAN-OS takes at most 65535 of each unit. */
const lifetimeOf = (seconds: number): string =>
  seconds <= 65535 ? `seconds ${seconds}` : `minutes ${Math.floor(seconds / 60)}`

export const panOs: Device = {
  name: 'Palo Alto Networks PAN-OS',
  version: '10.2',
  render({ bgp, deadPeerDetection, diffieHellmanGroup, ike, ipsec, isInitiator, name, own, peer }) {
    const ikeProfile = `set network ike crypto-profiles ike-crypto-profiles ${name}`
    const ipsecProfile = `set network ike crypto-profiles ipsec-crypto-profiles ${name}`
    const gateway = `set network ike gateway ${name}`
    const tunnel = `set network tunnel ipsec ${name}`
    const router = 'set network virtual-router default'
    const neighbor = `${router} protocol bgp peer-group ${name} peer ${name}`
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
      ...(bgp === undefined
        ? []
        : [
            `${router} protocol bgp enable yes`,
            `${router} protocol bgp router-id ${own.interfaceAddress}`,
            `${router} protocol bgp local-as ${bgp.own}`,
            `${router} protocol bgp peer-group ${name} type ebgp`,
            `${neighbor} peer-as ${bgp.peer}`,
            `${neighbor} local-address interface tunnel.1`,
            `${neighbor} local-address ip ${own.interfaceAddress}/30`,
            `${neighbor} peer-address ip ${peer.interfaceAddress}`,
            ...(bgp.hasPassword
              ? [
                  `${router} protocol bgp auth-profile ${name} secret ${passwordPlaceholder}`,
                  `${neighbor} connection-options authentication ${name}`,
                ]
              : []),
            `${neighbor} enable yes`,
          ]),
      'commit',
    ]
  },
}
