/** BGP in the command language of Cisco IOS, which FRR shares. */
import { type DeviceTerms, interiorPasswordPlaceholder, passwordPlaceholder } from './device.ts'

interface Dialect {
  readonly addressFamily: string
  readonly more?: readonly string[]
}

export function routerBgpLines(
  { bgp, peer }: Pick<DeviceTerms, 'bgp' | 'peer'>,
  { addressFamily, more = [] }: Dialect,
): readonly string[] {
  if (bgp === undefined) return []
  const { emptyFilter, hasPassword, interior } = bgp
  return [
    ...(emptyFilter === undefined ? [] : [`ip prefix-list ${emptyFilter} seq 5 deny 0.0.0.0/0 le 32`]),
    `router bgp ${bgp.own}`,
    ...more,
    ` neighbor ${peer.interfaceAddress} remote-as ${bgp.peer}`,
    ...(hasPassword ? [` neighbor ${peer.interfaceAddress} password ${passwordPlaceholder}`] : []),
    ...interior.flatMap((each) => [
      ` neighbor ${each.address} remote-as ${bgp.own}`,
      ...(each.hasPassword ? [` neighbor ${each.address} password ${interiorPasswordPlaceholder}`] : []),
    ]),
    ` address-family ${addressFamily}`,
    `  neighbor ${peer.interfaceAddress} activate`,
    ...interior.flatMap(({ address, redistributesRoutes }) => [
      `  neighbor ${address} activate`,
      `  neighbor ${address} ${redistributesRoutes ? 'next-hop-self' : `prefix-list ${emptyFilter} out`}`,
    ]),
    ' exit-address-family',
  ]
}
