/** Routing inside the site of a VPN gateway: iBGP peers and an OSPF area. Source: behaviour networking.md 1.9, 1.11. */
import { Gateway } from '@hyperplane/contract/networking/gateway'
import type { ApiError } from '../../../core/api-error.ts'
import { defined } from '../../../core/defined.ts'
import { formatAddress, parseAddress, textOf } from '../../../core/ip-address.ts'
import type { InteriorRouting } from '../../../drivers/gateways.ts'
import type { InteriorRouter } from '../../../drivers/vpn-tunnels.ts'
import type { StepContext } from '../../context.ts'
import { hostFaults, invalidField } from '../ip-config.ts'
import { readSubnet } from '../ip-subnet.ts'
import { type GatewayBody, type GatewayEntity, localOf, localVpnOf, remoteOf, remoteVpnOf } from './entity.ts'

type Service = NonNullable<ReturnType<typeof localVpnOf>>
type Interior = NonNullable<Service['peerIgpConfig']>
type IbgpConfig = NonNullable<Interior['ibgpConfigList']>[number]
type OspfConfig = NonNullable<Interior['ospfConfig']>
type OfServices = Pick<GatewayBody, 'services'>

const vpnOf = (gateway: OfServices): Service | undefined => localVpnOf(gateway) ?? remoteVpnOf(gateway)
const pathOf = (gateway: OfServices): string =>
  `services/${localOf(gateway) === undefined ? 'remoteVpnService' : 'localVpnService'}`
const interiorPathOf = (gateway: OfServices): string => `${pathOf(gateway)}/peerIgpConfig`

/** Faults of a body alone; a secret that it leaves out may be stored. */
export function interiorFaults(gateway: OfServices): readonly ApiError[] {
  const { ebgpConfig, peerIgpConfig } = vpnOf(gateway) ?? {}
  if (peerIgpConfig === undefined) return []
  const { ibgpConfigList = [], localPrefixList = [], ospfConfig } = peerIgpConfig
  const path = interiorPathOf(gateway)
  const isNeeded = localPrefixList.length + ibgpConfigList.length > 0 || ospfConfig !== undefined
  const isSilent = isNeeded && ebgpConfig?.asn === undefined
  return [
    ...(isSilent
      ? [invalidField(`${pathOf(gateway)}/ebgpConfig/asn`, 'is required: eBGP advertises what peerIgpConfig describes')]
      : []),
    ...localPrefixList.flatMap((subnet, index) => prefixFaults(subnet, `${path}/localPrefixList[${index}]`)),
    ...ibgpConfigList.flatMap((config, index) => [
      ...numberFaults(config, ebgpConfig?.asn, `${path}/ibgpConfigList[${index}]/asn`),
      ...peerFaults(ibgpConfigList, index, `${path}/ibgpConfigList[${index}]/peerIp`),
    ]),
    ...(ospfConfig === undefined ? [] : areaFaults(ospfConfig, `${path}/ospfConfig`)),
  ]
}

function prefixFaults(subnet: NonNullable<Interior['localPrefixList']>[number], path: string): readonly ApiError[] {
  const prefix = readSubnet(subnet, path)
  if (!('first' in prefix)) return prefix
  return prefix.family === 'IPV4' ? [] : [invalidField(path, 'expected an IPv4 prefix: tunnels carry IPv4')]
}

function numberFaults({ asn }: IbgpConfig, expected: number | undefined, path: string): readonly ApiError[] {
  if (asn === undefined || expected === undefined || asn === expected) return []
  return [invalidField(path, `expected ${expected}, as in ebgpConfig, because iBGP stays in one AS; found ${asn}`)]
}

function peerFaults(list: readonly IbgpConfig[], index: number, path: string): readonly ApiError[] {
  const { peerIp } = list[index] as IbgpConfig
  if (peerIp === undefined) return [invalidField(path, 'is required')]
  const faults = hostFaults(peerIp, path)
  if (faults.length > 0) return faults
  if (peerIp.ipv4 === undefined) return [invalidField(path, 'expected an IPv4 address: tunnels carry IPv4')]
  const text = textOf(peerIp)
  const isRepeated = list.slice(0, index).some((other) => textOf(other.peerIp) === text)
  return isRepeated ? [invalidField(path, `${text} is in the list already`)] : []
}

function areaFaults({ areaId, authenticationType, password }: OspfConfig, path: string): readonly ApiError[] {
  const isUnused = password !== undefined && authenticationType === undefined
  return [
    ...(areaId === undefined ? [invalidField(`${path}/areaId`, 'is required')] : []),
    ...(isUnused ? [invalidField(`${path}/authenticationType`, 'is required together with password')] : []),
  ]
}

/** @param gateway with the secrets that an update keeps */
export function missingPasswordFaults(gateway: OfServices): readonly ApiError[] {
  const { authenticationType, password } = vpnOf(gateway)?.peerIgpConfig?.ospfConfig ?? {}
  if (authenticationType === undefined || password !== undefined) return []
  const path = `${interiorPathOf(gateway)}/ospfConfig/password`
  return [invalidField(path, `is required for authenticationType ${authenticationType}`)]
}

/** Peers without a password in the body keep theirs; that of OSPF depends on its authenticationType. */
export function keepingPasswords(gateway: GatewayEntity, stored: GatewayEntity | undefined): GatewayEntity {
  const before = stored && vpnOf(stored)?.peerIgpConfig
  const kept = <S extends Service>(service: S): S =>
    service.peerIgpConfig === undefined
      ? service
      : { ...service, peerIgpConfig: interiorKeeping(service.peerIgpConfig, before) }
  const [local, remote] = [localOf(gateway), remoteOf(gateway)]
  if (local?.localVpnService !== undefined)
    return { ...gateway, services: { ...local, localVpnService: kept(local.localVpnService) } }
  if (remote?.remoteVpnService !== undefined)
    return { ...gateway, services: { ...remote, remoteVpnService: kept(remote.remoteVpnService) } }
  return gateway
}

function interiorKeeping(given: Interior, before: Interior | undefined): Interior {
  const { ibgpConfigList, ospfConfig } = given
  const passwordOf = ({ peerIp }: IbgpConfig): string | undefined =>
    before?.ibgpConfigList?.find((each) => textOf(each.peerIp) === textOf(peerIp))?.password
  const { password, ...withoutPassword } = ospfConfig ?? {}
  return {
    ...given,
    ...(ibgpConfigList !== undefined && {
      ibgpConfigList: ibgpConfigList.map((each) => defined({ ...each, password: each.password ?? passwordOf(each) })),
    }),
    ...(ospfConfig?.authenticationType === undefined && ospfConfig !== undefined && { ospfConfig: withoutPassword }),
  }
}

/** For tunnels; without secrets. */
export function interiorRoutersOf(gateway: OfServices): readonly InteriorRouter[] {
  const { ibgpConfigList = [], ospfConfig } = vpnOf(gateway)?.peerIgpConfig ?? {}
  const { areaId } = ospfConfig ?? {}
  return [
    ...ibgpConfigList.flatMap(({ peerIp }) => {
      const address = textOf(peerIp)
      return address === undefined ? [] : [{ protocol: 'IBGP', address } as const]
    }),
    ...(areaId === undefined ? [] : [{ protocol: 'OSPF', address: canonicalArea(areaId) } as const]),
  ]
}

export function interiorRoutingOf(ctx: StepContext, gateway: GatewayEntity): InteriorRouting | undefined {
  const { ebgpConfig, peerIgpConfig } = vpnOf(gateway) ?? {}
  const { ibgpConfigList = [], ospfConfig } = peerIgpConfig ?? {}
  const { areaId, authenticationType: authentication } = ospfConfig ?? {}
  if (ibgpConfigList.length === 0 && areaId === undefined) return undefined
  const path = interiorPathOf(gateway)
  const opened = (place: string, given: unknown) => passwordOf(ctx, gateway, `${path}/${place}/password`, given)
  return {
    ibgpPeers: ibgpConfigList.map(({ asn = ebgpConfig?.asn, password, peerIp, shouldRedistributeRoutes }) => ({
      address: textOf(peerIp) as string,
      redistributesRoutes: shouldRedistributeRoutes === true,
      ...defined({ autonomousSystemNumber: asn, password: opened('ibgpConfigList', password) }),
    })),
    ...(areaId !== undefined && {
      ospf: {
        areaId: canonicalArea(areaId),
        ...defined({ authentication, password: opened('ospfConfig', ospfConfig?.password) }),
      },
    }),
  }
}

/** An area id may have leading zeros. */
function canonicalArea(areaId: string): string {
  const address = parseAddress('IPV4', areaId)
  return address === undefined ? areaId : formatAddress(address)
}

/** @param path of the secret, without indices @param given a plain text in the input of a task, else as the row has it */
export const passwordOf = (
  { secrets }: Pick<StepContext, 'secrets'>,
  { extId }: Pick<GatewayEntity, 'extId'>,
  path: string,
  given: unknown,
): string | undefined => (typeof given === 'string' ? given : secrets.open(Gateway.kind, extId, path, given))
