/** The tunnel that the fabric programs for a connection. Source: behaviour networking.md 1.11, 1.22. */

import { Gateway } from '@hyperplane/contract/networking/gateway'
import { VpnConnection } from '@hyperplane/contract/networking/vpn-connection'
import { formatPrefix, textOf } from '../../../core/ip-address.ts'
import type { TunnelProgram, TunnelRouting, TunnelSecurity, TunnelSpeaker } from '../../../drivers/vpn-tunnels.ts'
import type { Reader } from '../../../store/store.ts'
import type { StepContext } from '../../context.ts'
import { type GatewayEntity, localOf, localVpnOf, remoteVpnOf, vpcOf } from '../gateway/entity.ts'
import { interiorRoutersOf, passwordOf } from '../gateway/interior.ts'
import { prefixOfSubnet } from '../ip-subnet.ts'
import type { Phase } from '../lifecycle.ts'
import type { ConnectionEntity } from './rules.ts'

type Speaking = NonNullable<ReturnType<typeof localVpnOf>>

export interface Ends {
  readonly local: GatewayEntity
  readonly remote: GatewayEntity
}

export const tunnelPhases: readonly Phase<ConnectionEntity>[] = [
  {
    create: ['create tunnel interface', 30, [0.3, 0.8]],
    update: ['configure tunnel interface', 30, [0.3, 0.8]],
    delete: ['remove tunnel interface', 100, [0.3, 0.8]],
    program: async (ctx, connection) =>
      ctx.drivers.networkFabric.programTunnel(tunnelOf(connection, await endsOf(ctx.store, connection))),
    remove: ({ drivers }, { extId }) => drivers.networkFabric.removeTunnel(extId),
  },
  {
    create: ['install IPsec policy', 70, [0.3, 1]],
    update: ['replace IPsec policy', 70, [0.3, 1]],
    delete: ['remove IPsec policy', 70, [0.3, 1]],
    program: (ctx, connection) =>
      ctx.drivers.networkFabric.secureTunnel(connection.extId, securityOf(connection, keyOf(ctx, connection))),
    remove: ({ drivers }, { extId }) => drivers.networkFabric.endTunnelSecurity(extId),
  },
  {
    create: ['configure routing', 100, [0.3, 0.8]],
    update: ['configure routing', 100, [0.3, 0.8]],
    delete: ['withdraw routes', 30, [0.3, 0.8]],
    program: async (ctx, connection) => {
      const ends = await endsOf(ctx.store, connection)
      await ctx.drivers.networkFabric.routeTunnel(connection.extId, routingOf(ctx, connection, ends))
    },
    remove: ({ drivers }, { extId }) => drivers.networkFabric.stopTunnelRouting(extId),
  },
]

/** Connections in creation program their tunnel themselves: their task waits. @param gateway as a running update configures it */
export async function programTunnels(ctx: StepContext, gateway: GatewayEntity): Promise<void> {
  for (const connection of await connectionsOf(ctx.store, gateway.extId)) {
    if (connection.change?.verb === 'create') continue
    const ends = await endsOf(ctx.store, connection, gateway)
    await ctx.drivers.networkFabric.programTunnel(tunnelOf(connection, ends))
    await ctx.drivers.networkFabric.routeTunnel(connection.extId, routingOf(ctx, connection, ends))
  }
}

export const connectionsOf = (store: Reader, gatewayExtId: string): Promise<readonly ConnectionEntity[]> =>
  store.find(VpnConnection, { refersTo: { kind: Gateway.kind, extId: gatewayExtId } })

export async function endsOf(store: Reader, connection: ConnectionEntity, changed?: GatewayEntity): Promise<Ends> {
  const gatewayAt = async (extId: string): Promise<GatewayEntity> =>
    changed?.extId === extId ? changed : ((await store.get(Gateway, extId)) as GatewayEntity)
  return {
    local: await gatewayAt(connection.localGatewayReference),
    remote: await gatewayAt(connection.remoteGatewayReference),
  }
}

export function tunnelOf({ extId, ipsecConfig }: ConnectionEntity, { local, remote }: Ends): TunnelProgram {
  const vpcExtId = vpcOf(local)
  const subnetExtId = local.deployment?.interfaces?.[0]?.subnetReference
  return {
    connectionExtId: extId,
    gatewayExtId: local.extId,
    ...(vpcExtId !== undefined && { vpcExtId }),
    ...(vpcExtId === undefined && subnetExtId !== undefined && { subnetExtId }),
    local: {
      address: textOf(localOf(local)?.serviceAddress) as string,
      interfaceAddress: textOf(ipsecConfig.localVtiIp) as string,
    },
    remote: {
      address: textOf(remoteVpnOf(remote)?.serviceAddress) as string,
      interfaceAddress: textOf(ipsecConfig.remoteVtiIp) as string,
    },
  }
}

export function securityOf(connection: ConnectionEntity, preSharedKey: string): TunnelSecurity {
  const { dpdConfig, ipsecConfig: ipsec, localGatewayRole, qosConfig } = connection
  const { egressLimitMbps, ingressLimitMbps } = qosConfig ?? {}
  const { localAuthenticationId: localId, remoteAuthenticationId: remoteId } = ipsec
  return {
    isInitiator: localGatewayRole === 'INITIATOR',
    preSharedKey,
    proposal: {
      ike: {
        encryption: ipsec.ikeEncryptionAlgorithm as string,
        authentication: ipsec.ikeAuthenticationAlgorithm as string,
        lifetimeSeconds: ipsec.ikeLifetimeSecs as number,
      },
      ipsec: {
        encryption: ipsec.ipsecEncryptionAlgorithm as string,
        authentication: ipsec.ipsecAuthenticationAlgorithm as string,
        lifetimeSeconds: ipsec.ipsecLifetimeSecs as number,
      },
      diffieHellmanGroup: ipsec.espPfsDhGroupNumber as number,
      ...(localId !== undefined && { localId }),
      ...(remoteId !== undefined && { remoteId }),
    },
    deadPeerDetection: {
      intervalSeconds: dpdConfig?.intervalSecs as number,
      timeoutSeconds: dpdConfig?.timeoutSecs as number,
      action: dpdConfig?.operation as 'CLEAR' | 'HOLD' | 'RESTART',
    },
    ...(egressLimitMbps !== undefined && { egressLimitMbps }),
    ...(ingressLimitMbps !== undefined && { ingressLimitMbps }),
  }
}

function keyOf({ secrets }: StepContext, { extId, ipsecConfig }: ConnectionEntity): string {
  const given: unknown = ipsecConfig.preSharedKey
  const key =
    typeof given === 'string' ? given : secrets.open(VpnConnection.kind, extId, 'ipsecConfig/preSharedKey', given)
  return key as string
}

function routingOf(
  ctx: StepContext,
  { dynamicRoutePriority }: ConnectionEntity,
  { local, remote }: Ends,
): TunnelRouting {
  const own = speakerOf(ctx, local, 'localVpnService', localVpnOf(local))
  const other = speakerOf(ctx, remote, 'remoteVpnService', remoteVpnOf(remote))
  const bgp = own !== undefined && other !== undefined && { bgp: { local: own, remote: other } }
  return { priority: dynamicRoutePriority as number, ...bgp }
}

function speakerOf(
  ctx: StepContext,
  gateway: GatewayEntity,
  service: 'localVpnService' | 'remoteVpnService',
  { ebgpConfig: config, peerIgpConfig }: Speaking = {},
): TunnelSpeaker | undefined {
  if (config?.asn === undefined) return undefined
  const { asn, shouldRedistributeRoutes } = config
  const password = passwordOf(ctx, gateway, `services/${service}/ebgpConfig/password`, config.password)
  const interiorRouters = interiorRoutersOf(gateway)
  return {
    autonomousSystemNumber: asn,
    ...(password !== undefined && { password }),
    sitePrefixes: (peerIgpConfig?.localPrefixList ?? []).map((each) => formatPrefix(prefixOfSubnet(each))),
    ...(interiorRouters.length > 0 && { interiorRouters }),
    redistributesRoutes: shouldRedistributeRoutes === true,
  }
}
