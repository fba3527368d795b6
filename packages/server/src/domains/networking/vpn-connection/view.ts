/** The fabric holds the state of the tunnel. Source: behaviour networking.md 1.11. */
import { parsePrefix } from '../../../core/ip-address.ts'
import type { TunnelView } from '../../../drivers/vpn-tunnels.ts'
import type { ReadContext } from '../../context.ts'
import { writeSubnet } from '../ip-subnet.ts'
import type { ConnectionEntity } from './rules.ts'

export const presentConnections = (
  ctx: ReadContext,
  shown: readonly ConnectionEntity[],
): Promise<readonly ConnectionEntity[]> =>
  Promise.all(
    shown.map(async (connection) => {
      const view = await ctx.drivers.networkFabric.tunnel(connection.extId)
      if (view === undefined)
        return { ...connection, ipsecTunnelStatus: { state: 'DOWN', message: 'the tunnel is not configured' } }
      const { bgp, learned, advertised } = view
      return {
        ...connection,
        ipsecTunnelStatus: statusOf(view),
        ...(bgp !== undefined && {
          ebgpStatus: bgp.isUp
            ? { state: 'UP', message: `Established, ${learned.length} prefixes received` }
            : statusOf(bgp),
        }),
        learnedPrefixes: learned.map(subnetOf),
        advertisedPrefixes: advertised.map(subnetOf),
      }
    }),
  )

export const isUp = async ({ drivers }: Pick<ReadContext, 'drivers'>, connectionExtId: string): Promise<boolean> =>
  (await drivers.networkFabric.tunnel(connectionExtId))?.isUp === true

const statusOf = ({ isUp: isIt, reason }: Pick<TunnelView, 'isUp' | 'reason'>) =>
  isIt ? ({ state: 'UP' } as const) : ({ state: 'DOWN', message: reason ?? 'DOWN' } as const)

const subnetOf = (text: string) => writeSubnet(parsePrefix(text)!)
