/** Rows follow the cluster's rsyslog settings, changed by API, profile or at the cluster. Source: behaviour clustermgmt.md 1.10, 1.11. */
import type { EntityOf } from '@hyperplane/contract'
import { RsyslogServer } from '@hyperplane/contract/clustermgmt/rsyslog-server'
import { canonicalJson } from '../../../core/idempotency.ts'
import { writableValue } from '../../../core/updates.ts'
import type { ClusterSettings } from '../../../drivers/hardware.ts'
import type { Transaction } from '../../../store/store.ts'
import { type Following, type Write, writesOf } from '../followed-rows.ts'

export type ServerRow = EntityOf<typeof RsyslogServer>
/** Without an id, as in the settings of a cluster. */
export type Server = NonNullable<ClusterSettings['RSYSLOG_SERVER_CONFIG']>[number]

export const serverIn = (row: Server): Server => writableValue(RsyslogServer.schema, row) as Server

export const endpointKey = ({ ipAddress: { ipv4, ipv6 }, port, networkProtocol }: Omit<Server, 'serverName'>): string =>
  [ipv4?.value ?? '', ipv6?.value ?? '', port, networkProtocol].join(' ')

export const addressOfServer = ({ ipAddress: { ipv4, ipv6 } }: Pick<Server, 'ipAddress'>): string =>
  ipv4?.value ?? ipv6?.value ?? ''

export async function rsyslogWrites(
  ctx: Following,
  clusterExtId: string,
  { RSYSLOG_SERVER_CONFIG: actual = [] }: ClusterSettings,
): Promise<readonly Write[]> {
  const rows = await ctx.store.findWhere(RsyslogServer, { clusterExtId })
  const receivers = new Map(actual.map((server) => [server.serverName, endpointKey(server)]))
  const moved = rows.filter(({ serverName, receiver }) => (receivers.get(serverName) ?? receiver) !== receiver)
  return [
    // Two servers may have exchanged their receivers, and no two rows may have the same receiver at any time.
    ...moved.map(
      ({ extId }): Write =>
        (store) =>
          store.observe(RsyslogServer, extId, { receiver: extId }),
    ),
    ...writesOf<typeof RsyslogServer, Server>(RsyslogServer, ctx, clusterExtId, {
      rows,
      actual,
      keyOf: ({ serverName }) => serverName,
      next: (server, row) =>
        row !== undefined && canonicalJson(serverIn(row)) === canonicalJson(serverIn(server))
          ? undefined
          : ({ ...serverIn(server), receiver: endpointKey(server) } as ServerRow),
    }),
  ]
}

export async function followRsyslog(
  ctx: Following & { readonly store: Transaction },
  clusterExtId: string,
  actual: ClusterSettings,
): Promise<void> {
  for (const write of await rsyslogWrites(ctx, clusterExtId, actual)) await write(ctx.store)
}
