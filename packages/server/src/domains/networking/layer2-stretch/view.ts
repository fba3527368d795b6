/** The gateways know the status of a stretch. Source: behaviour networking.md 1.12. */
import { VpnConnection } from '@hyperplane/contract/networking/vpn-connection'
import { parseHost, writeAddress } from '../../../core/ip-address.ts'
import type { StretchView } from '../../../drivers/stretching.ts'
import type { Reader } from '../../../store/store.ts'
import type { ReadContext } from '../../context.ts'
import type { StretchEntity } from './entity.ts'
import { shownPeer } from './peers.ts'
import { stretchProgram } from './program.ts'

type Status = NonNullable<StretchEntity['stretchStatus']>
type HighAvailability = NonNullable<StretchEntity['highAvailabilityStatus']>

export const presentStretches = (
  ctx: ReadContext,
  stretches: readonly StretchEntity[],
): Promise<readonly StretchEntity[]> => Promise.all(stretches.map((stretch) => presentStretch(ctx, stretch)))

async function presentStretch(ctx: ReadContext, stretch: StretchEntity): Promise<StretchEntity> {
  const view = await ctx.drivers.networkFabric.stretch(stretch.extId)
  const { tunnel } = await stretchProgram(ctx.store, stretch)
  const status = statusOf(view)
  const highAvailabilityStatus = availabilityOf(view)
  return {
    ...stretch,
    ...(await sitesOf(ctx.store, stretch, view?.peers ?? [])),
    stretchStatus: status,
    ...(tunnel.type === 'VXLAN' && {
      remoteStretchStatus: tunnel.vteps.map((vtep) => ({
        address: writeAddress(parseHost(vtep)!),
        status,
        highAvailabilityStatus,
      })),
    }),
    highAvailabilityStatus,
  }
}

/** With interfaces of the VPN connection, or peers of the local gateway. */
async function sitesOf(
  store: Reader,
  { localSiteParams: local, remoteSiteParams: remote, vpnConnectionExtId }: StretchEntity,
  peers: StretchView['peers'],
): Promise<Pick<StretchEntity, 'localSiteParams' | 'remoteSiteParams'>> {
  const { localVtiIp, remoteVtiIp } = (await store.get(VpnConnection, vpnConnectionExtId ?? ''))?.ipsecConfig ?? {}
  const algorithm = 'ACTIVE_BACKUP' as const
  const group = { isHaEnabled: true, algorithm, ...local.highAvailabilityGroup, peeredGateways: peers.map(shownPeer) }
  return {
    localSiteParams: {
      ...local,
      ...(localVtiIp && { vpnInterfaceIPAddress: localVtiIp }),
      ...(peers.length > 0 && { highAvailabilityGroup: group }),
    },
    remoteSiteParams: { ...remote, ...(remoteVtiIp && { vpnInterfaceIPAddress: remoteVtiIp }) },
  }
}

function statusOf(view: StretchView | undefined): Status {
  const { isInterfaceUp = false, isTunnelUp = false, roundTripMillis, reason } = view ?? {}
  return {
    interfaceState: isInterfaceUp ? 'UP' : 'DOWN',
    tunnelState: isTunnelUp ? 'UP' : 'DOWN',
    ...(roundTripMillis !== undefined && { roundTripTimeMillis: roundTripMillis }),
    ...(!isTunnelUp && { detail: reason ?? 'the gateway does not have the stretch yet' }),
  }
}

function availabilityOf({ failover, peers = [], reason = '' }: Partial<StretchView> = {}): HighAvailability {
  if (failover === undefined) return { state: 'NORMAL' }
  if (failover === 'IN_PROGRESS') return { state: 'FAILOVER_IN_PROGRESS' }
  const why = peers.length === 0 ? 'there is no peered gateway' : 'no peered gateway is up'
  return { state: 'FAILOVER_FAILED', errorDetails: `${reason}; ${why}` }
}
