/** What a session's gateways configure at the fabric. Source: behaviour networking.md 1.10. */
import type { EntityOf, ValueOf } from '@hyperplane/contract'
import type { BgpSession } from '@hyperplane/contract/networking/bgp-session'
import { Gateway, type LocalNetworkServices, type RemoteNetworkServices } from '@hyperplane/contract/networking/gateway'
import { formatPrefix, textOf } from '../../core/ip-address.ts'
import type { BgpPeer } from '../../drivers/network-fabric.ts'
import type { Reader } from '../../store/store.ts'
import { prefixOfSubnet } from './ip-subnet.ts'

export type GatewayEntity = EntityOf<typeof Gateway>

export const localBgpOf = ({ services }: GatewayEntity) =>
  (services as ValueOf<typeof LocalNetworkServices> | undefined)?.localBgpService
export const remoteBgpOf = ({ services }: GatewayEntity) =>
  (services as ValueOf<typeof RemoteNetworkServices> | undefined)?.remoteBgpService

/** Without the password, which the row has sealed. */
export async function peerOf(store: Reader, session: EntityOf<typeof BgpSession>): Promise<Omit<BgpPeer, 'password'>> {
  const { localGatewayReference, remoteGatewayReference, dynamicRoutePriority = 700 } = session
  const local = (await store.get(Gateway, localGatewayReference)) as GatewayEntity
  const remote = (await store.get(Gateway, remoteGatewayReference)) as GatewayEntity
  const [own, other] = [localBgpOf(local)!, remoteBgpOf(remote)!]
  const listed = session.externallyRoutablePrefixesToAdvertise
  const isAll = session.shouldAdvertiseAllExternallyRoutablePrefixes ?? listed === undefined
  return {
    sessionExtId: session.extId,
    vpcExtId: (local.vpcReference ?? own.vpcReference) as string,
    local: { address: textOf(session.localGatewayInterfaceIpAddress) as string, autonomousSystemNumber: own.asn },
    remote: { address: textOf(other.address) as string, autonomousSystemNumber: other.asn },
    priority: dynamicRoutePriority,
    isMultipath: own.isBgpAddPathEnabled === true,
    advertising: {
      ...(!isAll && { prefixes: (listed ?? []).map((each) => formatPrefix(prefixOfSubnet(each))) }),
      communities: session.advertisedRoutesCommunities ?? [],
      prependedPath: session.prependedAutonomousSystemPath ?? [],
    },
  }
}
