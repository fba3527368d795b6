/** Traffic of a tunnel. Source: catalogue networking.json; behaviour networking.md 1.11, 3.3. */
import { names } from '../names.ts'
import { baseFields, perSecond, read } from '../operation.ts'
import * as s from '../schema.ts'
import { gatewayReaders } from './roles.ts'
import { sampledQuery, samples, statType } from './sampled.ts'
import { VpnConnection } from './vpn-connection.ts'

export const VpnConnectionStats = s.object('networking.v4.stats.VpnConnectionStats', {
  ...baseFields,
  statType: s.optional(statType),
  throughputRxKbps: samples(),
  throughputTxKbps: samples(),
})

export const vpnConnectionStatsOperations = {
  getVpnConnectionStats: read('/stats/vpn-connections/{extId}', VpnConnectionStats, {
    of: VpnConnection,
    iam: 'View_VPN_Connection_Stats',
    roles: gatewayReaders,
    rateLimit: perSecond(2, 2, 4),
    query: sampledQuery,
    // Pages slice the samples.
    paged: true,
    select: names('extId, links, statType, tenantId, throughputRxKbps, throughputTxKbps'),
  }),
}
