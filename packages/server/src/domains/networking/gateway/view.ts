/** The fabric knows whether a gateway is up. Source: behaviour networking.md 1.9. */
import { BgpSession } from '@hyperplane/contract/networking/bgp-session'
import { Gateway } from '@hyperplane/contract/networking/gateway'
import { Layer2Stretch } from '@hyperplane/contract/networking/layer2-stretch'
import { textOf, writeAddress } from '../../../core/ip-address.ts'
import { addressOfLease, leasesOf, textOfLease } from '../../addressing/leases.ts'
import type { ReadContext } from '../../context.ts'
import { viewOf } from '../bgp-view.ts'
import { shownPeer } from '../layer2-stretch/peers.ts'
import { connectionsOf } from '../vpn-connection/program.ts'
import { isUp } from '../vpn-connection/view.ts'
import { vmNameOf } from './appliance.ts'
import { type GatewayEntity, localOf } from './entity.ts'

type Status = NonNullable<GatewayEntity['status']>

export const presentGateways = (
  ctx: ReadContext,
  gateways: readonly GatewayEntity[],
  { expand }: { readonly expand: ReadonlySet<string> },
): Promise<readonly GatewayEntity[]> =>
  Promise.all(
    gateways.map(async (gateway) => {
      const status = await statusOf(ctx, gateway)
      if (localOf(gateway) === undefined) return { ...gateway, status }
      return {
        ...(await withInterfaces(ctx, gateway)),
        ...(await peersOf(ctx, gateway)),
        ...(expand.has('vm') && { vm: { name: vmNameOf(gateway) } }),
        status,
        isActive: status.state === 'UP',
      }
    }),
  )

export async function statusOf(ctx: Pick<ReadContext, 'drivers' | 'store'>, gateway: GatewayEntity): Promise<Status> {
  const { change, extId, recovery } = gateway
  if (localOf(gateway) === undefined) return statusOfRemote(ctx, gateway)
  if (change?.verb === 'create') return { state: 'DOWN', message: 'deploying' }
  if (change?.verb === 'upgrade') return { state: 'DOWN', message: 'upgrading' }
  if (recovery !== undefined) return { state: recovery, message: 'the appliance restarts' }
  const view = await ctx.drivers.networkFabric.gateway(extId)
  if (view?.isUp === true) return { state: 'UP' }
  return { state: 'DOWN', message: view?.reason ?? 'the gateway is not configured' }
}

async function statusOfRemote(ctx: Pick<ReadContext, 'drivers' | 'store'>, { extId }: GatewayEntity): Promise<Status> {
  for (const session of await ctx.store.find(BgpSession, { refersTo: { kind: Gateway.kind, extId } }))
    if ((await viewOf(ctx, session)).status.state === 'UP') return { state: 'UP' }
  for (const stretch of await ctx.store.find(Layer2Stretch, { refersTo: { kind: Gateway.kind, extId } }))
    if ((await ctx.drivers.networkFabric.stretch(stretch.extId))?.isTunnelUp === true) return { state: 'UP' }
  for (const connection of await connectionsOf(ctx.store, extId))
    if (await isUp(ctx, connection.extId)) return { state: 'UP' }
  return { state: 'DOWN', message: 'no session or tunnel to it is up' }
}

/** Gateways that serve a stretch together are peers. */
async function peersOf(
  { drivers }: ReadContext,
  { extId, highAvailabilityGroup }: GatewayEntity,
): Promise<Pick<GatewayEntity, 'highAvailabilityGroup'>> {
  if (highAvailabilityGroup?.isHaEnabled !== true) return {}
  const peers = await drivers.networkFabric.peersOfGateway(extId)
  if (peers.length === 0) return {}
  return { highAvailabilityGroup: { ...highAvailabilityGroup, peeredGateways: peers.map(shownPeer) } }
}

/** Also the addresses that its BGP sessions have leased on other subnets, or beside its own. */
async function withInterfaces({ store }: ReadContext, gateway: GatewayEntity): Promise<GatewayEntity> {
  const own = gateway.deployment?.interfaces ?? []
  const others = new Set([...own.map(({ ipAddress }) => textOf(ipAddress)), ...(gateway.change?.addresses ?? [])])
  const leased = (await leasesOf(store, gateway.extId)).filter((lease) => !others.has(textOfLease(lease)))
  const further = leased.map((lease) => ({
    subnetReference: lease.subnetExtId as string,
    ipAddress: writeAddress(addressOfLease(lease)),
    ...(own[0]?.macAddress !== undefined && { macAddress: own[0].macAddress }),
    mtu: own[0]?.mtu ?? 1500,
  }))
  return { ...gateway, deployment: { ...gateway.deployment, interfaces: [...own, ...further] } }
}
