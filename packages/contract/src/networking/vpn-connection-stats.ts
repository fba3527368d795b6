import { baseFields, read } from '../operation.ts'
import * as s from '../schema.ts'
import { gatewayReaders } from './roles.ts'
import { sampledRead, samples, statType } from './sampled.ts'
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
    roles: gatewayReaders,
    ...sampledRead(VpnConnectionStats),
    // Pages slice the samples.
    paged: true,
  }),
}
