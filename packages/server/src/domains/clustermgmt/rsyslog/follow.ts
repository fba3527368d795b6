/**
 * The rows follow the rsyslog servers of the cluster's settings, whoever changed those: this API, a profile, or somebody at
 * the cluster. Source: behaviour clustermgmt.md 1.10, 1.11.
 */
import type { EntityOf } from '@hyperplane/contract'
import { RsyslogServer } from '@hyperplane/contract/clustermgmt/rsyslog-server'
import type { Ids } from '../../../core/caller.ts'
import { canonicalJson } from '../../../core/idempotency.ts'
import type { ClusterSettings } from '../../../drivers/hardware.ts'
import type { Reader, Transaction } from '../../../store/store.ts'
import { insertUnlessReserved } from '../reserved-names.ts'

export type ServerRow = EntityOf<typeof RsyslogServer>
/** As the settings of a cluster hold it: without an id. */
export type Server = NonNullable<ClusterSettings['RSYSLOG_SERVER_CONFIG']>[number]

interface Following {
  readonly store: Reader
  readonly ids: Pick<Ids, 'uuid'>
  /** Ids of new rows; default: new ones. */
  readonly idOf?: (serverName: string) => string
  readonly tenantId: string
}

export function serverIn(row: Server): Server {
  const { serverName, ipAddress, port, networkProtocol, modules } = row
  return { serverName, ipAddress, port, networkProtocol, ...(modules && { modules }) }
}

export const endpointKey = ({ ipAddress: { ipv4, ipv6 }, port, networkProtocol }: Omit<Server, 'serverName'>): string =>
  [ipv4?.value ?? '', ipv6?.value ?? '', port, networkProtocol].join(' ')

/** Receives the lines. */
export const addressOf = ({ ipAddress: { ipv4, ipv6 } }: Pick<Server, 'ipAddress'>): string =>
  ipv4?.value ?? ipv6?.value ?? ''

type Write = (store: Transaction) => Promise<unknown>

/** The writes after which the rows agree with the settings. */
export async function rsyslogWrites(
  { store, ids, tenantId, idOf = () => ids.uuid() }: Following,
  clusterExtId: string,
  { RSYSLOG_SERVER_CONFIG: servers = [] }: ClusterSettings,
): Promise<readonly Write[]> {
  const rows = new Map(
    (await store.findWhere(RsyslogServer, { clusterExtId })).map((row) => [row.serverName, row] as const),
  )
  const present = new Set(servers.map(({ serverName }) => serverName))
  const moved = servers.flatMap((server) => {
    const row = rows.get(server.serverName)
    return row === undefined || row.receiver === endpointKey(server) ? [] : [row.extId]
  })
  const removals = [...rows.values()].filter(({ serverName }) => !present.has(serverName))
  const puts = servers.flatMap((server): Write[] => {
    const row = rows.get(server.serverName)
    if (row !== undefined && canonicalJson(serverIn(row)) === canonicalJson(serverIn(server))) return []
    const extId = row?.extId ?? idOf(server.serverName)
    const next: ServerRow = { ...serverIn(server), extId, tenantId, clusterExtId, receiver: endpointKey(server) }
    return [
      (transaction) =>
        row === undefined
          ? insertUnlessReserved(transaction, RsyslogServer, next)
          : transaction.replace(RsyslogServer, next),
    ]
  })
  return [
    ...removals.map(
      ({ extId }): Write =>
        (transaction) =>
          transaction.remove(RsyslogServer, extId),
    ),
    // Two servers may have exchanged their receivers, and no two rows may have the same one meanwhile.
    ...moved.map(
      (extId): Write =>
        (transaction) =>
          transaction.observe(RsyslogServer, extId, { receiver: extId }),
    ),
    ...puts,
  ]
}

export async function followRsyslog(
  ctx: Following & { readonly store: Transaction },
  clusterExtId: string,
  actual: ClusterSettings,
): Promise<void> {
  for (const write of await rsyslogWrites(ctx, clusterExtId, actual)) await write(ctx.store)
}
