/** Faults of a body alone, and the addresses of tunnel interfaces. Source: behaviour networking.md 1.11. */
import type { BodyOf, EntityOf } from '@hyperplane/contract'
import type { VpnConnection } from '@hyperplane/contract/networking/vpn-connection'
import type { ApiError } from '../../../core/api-error.ts'
import {
  type Address,
  formatPrefix,
  type Prefix,
  parsePrefix,
  prefixOf,
  readAddress,
} from '../../../core/ip-address.ts'
import { hostFaults, invalidField } from '../ip-config.ts'

export type ConnectionEntity = EntityOf<typeof VpnConnection>
export type ConnectionBody = BodyOf<typeof VpnConnection>

const groups: readonly number[] = [14, 19, 20]
const interfaceBits = 30
/** Link-local: only the two ends of a tunnel use them. */
const defaultInterfaces = parsePrefix('169.254.0.0/16') as Prefix

export function connectionFaults({ dpdConfig, ipsecConfig }: ConnectionBody): readonly ApiError[] {
  const { espPfsDhGroupNumber: group = 14 } = ipsecConfig
  const { intervalSecs = 10, timeoutSecs = 30 } = dpdConfig ?? {}
  return [
    ...(groups.includes(group)
      ? []
      : [invalidField('ipsecConfig/espPfsDhGroupNumber', `expected one of ${groups.join(', ')}, found ${group}`)]),
    ...(timeoutSecs > intervalSecs
      ? []
      : [
          invalidField(
            'dpdConfig/timeoutSecs',
            `expected more than intervalSecs (${intervalSecs}), found ${timeoutSecs}`,
          ),
        ]),
    ...interfaceFaults(ipsecConfig),
  ]
}

function interfaceFaults({ localVtiIp, remoteVtiIp }: ConnectionBody['ipsecConfig']): readonly ApiError[] {
  const [own, other] = ['ipsecConfig/localVtiIp', 'ipsecConfig/remoteVtiIp'] as const
  if (localVtiIp === undefined && remoteVtiIp === undefined) return []
  if (localVtiIp === undefined) return [invalidField(own, 'is required together with remoteVtiIp')]
  if (remoteVtiIp === undefined) return [invalidField(other, 'is required together with localVtiIp')]
  const faults = [...hostFaults(localVtiIp, own), ...hostFaults(remoteVtiIp, other)]
  if (faults.length > 0) return faults
  const [local, remote] = [readAddress(localVtiIp) as Address, readAddress(remoteVtiIp) as Address]
  if (local.family !== 'IPV4') return [invalidField(own, 'expected an IPv4 address')]
  const prefix = prefixOf(local, interfaceBits)
  const [first, second] = [prefix.first + 1n, prefix.first + 2n]
  if (local.value !== first && local.value !== second)
    return [invalidField(own, `expected one of the two hosts of ${formatPrefix(prefix)}`)]
  const expected = first + second - local.value
  if (remote.family === 'IPV4' && remote.value === expected) return []
  return [invalidField(other, `expected the other host of ${formatPrefix(prefix)}, as localVtiIp is in it`)]
}

/** @param local an address that passed the rules */
export const interfacePrefixOf = (local: Address): string => formatPrefix(prefixOf(local, interfaceBits))

/** The two hosts of the first /30 that is not taken. @param taken CIDR texts */
export function freeInterfaces(taken: ReadonlySet<string>): { readonly local: Address; readonly remote: Address } {
  for (let first = defaultInterfaces.first; first < defaultInterfaces.last; first += 4n) {
    const local: Address = { family: 'IPV4', value: first + 1n }
    if (!taken.has(interfacePrefixOf(local))) return { local, remote: { family: 'IPV4', value: first + 2n } }
  }
  throw new Error('the limit of connections of a gateway leaves addresses free')
}
