/** The BGP peer that the fabric configures for a session. Source: behaviour networking.md 1.10. */

import { BgpSession } from '@hyperplane/contract/networking/bgp-session'
import { Gateway } from '@hyperplane/contract/networking/gateway'
import { formatPrefix, textOf } from '../../core/ip-address.ts'
import type { BgpPeer } from '../../drivers/network-fabric.ts'
import type { Reader } from '../../store/store.ts'
import type { StepContext } from '../context.ts'
import type { SessionEntity } from './bgp-view.ts'
import { type GatewayEntity, localBgpOf, remoteBgpOf, vpcOf } from './gateway/entity.ts'
import { prefixOfSubnet } from './ip-subnet.ts'

/** @param gateway one of its gateways as a running update configures it */
export async function programPeer(
  { drivers, secrets, store }: StepContext,
  session: SessionEntity,
  gateway?: GatewayEntity,
): Promise<void> {
  const { password: given, extId } = session
  const password =
    typeof given === 'string' ? given : secrets.open(BgpSession.kind, extId, 'password', given as unknown)
  const peer = await peerOf(store, session, gateway)
  await drivers.networkFabric.addBgpPeer({ ...peer, ...(password !== undefined && { password }) })
}

/** Without the password, which the row has sealed. */
export async function peerOf(
  store: Reader,
  session: SessionEntity,
  changed?: GatewayEntity,
): Promise<Omit<BgpPeer, 'password'>> {
  const { localGatewayReference, remoteGatewayReference, dynamicRoutePriority = 700 } = session
  const gatewayAt = async (extId: string): Promise<GatewayEntity> =>
    changed?.extId === extId ? changed : ((await store.get(Gateway, extId)) as GatewayEntity)
  const [local, remote] = [await gatewayAt(localGatewayReference), await gatewayAt(remoteGatewayReference)]
  const [own, other] = [localBgpOf(local)!, remoteBgpOf(remote)!]
  const listed = session.externallyRoutablePrefixesToAdvertise
  const isAll = session.shouldAdvertiseAllExternallyRoutablePrefixes ?? listed === undefined
  return {
    sessionExtId: session.extId,
    gatewayExtId: local.extId,
    vpcExtId: vpcOf(local) as string,
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
