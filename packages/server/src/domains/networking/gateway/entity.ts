/** Source: behaviour networking.md 1.9. */
import type { BodyOf, EntityOf, ValueOf } from '@hyperplane/contract'
import { Gateway, type LocalNetworkServices, type RemoteNetworkServices } from '@hyperplane/contract/networking/gateway'
import type { Reader } from '../../../store/store.ts'

export type GatewayEntity = EntityOf<typeof Gateway>
export type GatewayBody = BodyOf<typeof Gateway>
export type Local = ValueOf<typeof LocalNetworkServices>
export type Remote = ValueOf<typeof RemoteNetworkServices>
type OfServices = Pick<GatewayBody, 'services'>

export const localServices = ['localBgpService', 'localVpnService', 'localVtepService'] as const
export const remoteServices = ['remoteBgpService', 'remoteVpnService', 'remoteVtepService'] as const
const localType = 'networking.v4.config.LocalNetworkServices'

/** Undefined: the gateway is remote. */
export function localOf({ services }: OfServices): Local | undefined {
  const isLocal = services.$objectType === localType || localServices.some((name) => name in services)
  return isLocal ? (services as Local) : undefined
}
export const remoteOf = (of: OfServices): Remote | undefined =>
  localOf(of) === undefined ? (of.services as Remote) : undefined

/** For steps of a task, which has the lock of the gateway. */
export const storedOf = async (
  { store }: { readonly store: Reader },
  { extId }: { readonly extId: string },
): Promise<GatewayEntity> => (await store.get(Gateway, extId)) as GatewayEntity

export const servicesOf = ({ services }: OfServices): readonly string[] =>
  [...localServices, ...remoteServices].filter((name) => (services as Record<string, unknown>)[name] !== undefined)

export const vpcOf = (gateway: GatewayBody): string | undefined =>
  gateway.vpcReference ?? localOf(gateway)?.localBgpService?.vpcReference

/** The software that appliances of this version of the service run. */
export const supportedVersion = '6.2.0'

export const localBgpOf = (gateway: OfServices) => localOf(gateway)?.localBgpService
export const remoteBgpOf = (gateway: OfServices) => remoteOf(gateway)?.remoteBgpService
export const localVpnOf = (gateway: OfServices) => localOf(gateway)?.localVpnService
export const remoteVpnOf = (gateway: OfServices) => remoteOf(gateway)?.remoteVpnService

/** True for one of several VTEP gateways of a network, which replace each other after a failure. */
export const isHighlyAvailable = (gateway: GatewayEntity): boolean =>
  localOf(gateway)?.localVtepService !== undefined && gateway.highAvailabilityGroup?.isHaEnabled === true

/** The VPC, or the subnet or VLAN of its interface. */
export function networkOf(gateway: GatewayEntity): string {
  const { subnetReference, vlanId } = gateway.deployment?.managementInterface ?? {}
  return vpcOf(gateway) ?? subnetReference ?? `VLAN ${vlanId} of ${gateway.deployment?.clusterReference}`
}
