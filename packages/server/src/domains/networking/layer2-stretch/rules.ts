/** Faults of a body alone, and of two subnets that are to be one. Source: behaviour networking.md 1.12. */
import { ApiError } from '../../../core/api-error.ts'
import { formatAddress, formatPrefix } from '../../../core/ip-address.ts'
import { type AddressPlan, families, intersection } from '../../addressing/address-plan.ts'
import { hostFaults, invalidField } from '../ip-config.ts'
import type { StretchBody } from './entity.ts'

export function stretchFaults({
  connectionType,
  localSiteParams,
  remoteSiteParams,
  vni,
}: StretchBody): readonly ApiError[] {
  const isVpn = connectionType === 'VPN'
  return [
    ...(isVpn === (vni === undefined)
      ? []
      : [
          invalidField(
            'vni',
            isVpn ? 'expected none for the connectionType VPN' : 'is required for the connectionType VXLAN',
          ),
        ]),
    ...(remoteSiteParams.pcClusterReference === undefined
      ? [invalidField('remoteSiteParams/pcClusterReference', 'is required: it names the manager of the remote site')]
      : []),
    ...Object.entries({ localSiteParams, remoteSiteParams }).flatMap(([side, params]) => [
      ...addressNames.flatMap((name) =>
        params[name] === undefined ? [] : hostFaults(params[name], `${side}/${name}`),
      ),
      ...(params.vpnInterfaceIPAddress === undefined || isVpn
        ? []
        : [invalidField(`${side}/vpnInterfaceIPAddress`, 'expected only for the connectionType VPN')]),
      ...(params.highAvailabilityGroup?.isHaEnabled === true && isVpn
        ? [invalidField(`${side}/highAvailabilityGroup/isHaEnabled`, 'expected only for the connectionType VXLAN')]
        : []),
    ]),
  ]
}
const addressNames = ['stretchInterfaceIpAddress', 'defaultGatewayIPAddress', 'vpnInterfaceIPAddress'] as const

/** @throws ApiError 400 unless the local subnet contains the remote one, 409 for pools that overlap */
export function refuseUnlike(local: AddressPlan, remote: AddressPlan, path: string): void {
  for (const family of families) {
    const [own, other] = [local[family], remote[family]]
    if (other === undefined) continue
    const isInside = own !== undefined && own.prefix.first <= other.prefix.first && other.prefix.last <= own.prefix.last
    const inside = own === undefined ? `nothing in ${family}` : `${formatPrefix(own.prefix)}, or a part of it`
    if (!isInside)
      throw invalidField(path, `expected ${inside}, as at the local side; found ${formatPrefix(other.prefix)}`)
    for (const pool of own.pools)
      for (const [shared] of other.pools.map((foreign) => intersection(pool, foreign)))
        if (shared !== undefined) {
          const [first, last] = [shared.first, shared.last].map((value) => formatAddress({ family, value }))
          const fields = `addresses at the other site (${first} to ${last})`
          throw new ApiError('NETWORKING_ENTITY_ALREADY_EXISTS', { kind: 'pool', fields })
        }
  }
}
