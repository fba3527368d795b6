/** Alerts of a cluster, as traps and informs to the receivers that it is set up for. Source: behaviour clustermgmt.md 1.12. */

import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { SnmpUser } from '@hyperplane/contract/clustermgmt/snmp-user'
import { secretDigest } from '../../../drivers/hardware.ts'
import type { Notification, TrapReceiver, UserSecurity } from '../../../drivers/traps.ts'
import { DriverError, type ScheduleContext } from '../../context.ts'
import { type AlertReceiver, alertTypes, type Notice } from '../alerts/alert.ts'
import { openKeys } from './follow.ts'
import { type AlertObject, engineIdOf, notifications, objectIds, severities } from './mib.ts'
import { type Section, sectionIn, type Trap } from './section.ts'

export const sendTraps: AlertReceiver = async (ctx, notices) => {
  for (const [clusterExtId, own] of Map.groupBy(notices, (notice) => notice.clusterExtId)) {
    const cluster = await ctx.store.get(Cluster, clusterExtId)
    if (cluster === undefined) continue
    const receivers = await receiversOf(ctx, clusterExtId)
    for (const notice of own)
      for (const receiver of receivers) {
        // An unreachable receiver does not delay others. The driver logs lost traps.
        ctx.drivers.traps.send(receiver, notificationOf(ctx, cluster, notice)).catch(() => undefined)
      }
  }
}

/** None while SNMP is disabled, or the cluster is cut off. */
async function receiversOf(ctx: ScheduleContext, clusterExtId: string): Promise<readonly TrapReceiver[]> {
  try {
    const section = sectionIn(await ctx.drivers.hardware.readSettings(clusterExtId))
    if (!section.isEnabled) return []
    const found = await Promise.all(section.traps.map((trap) => trapReceiver(ctx, clusterExtId, section, trap)))
    return found.filter((one) => one !== undefined)
  } catch (error) {
    if (error instanceof DriverError) return []
    throw error
  }
}

async function trapReceiver(
  ctx: ScheduleContext,
  clusterExtId: string,
  section: Section,
  trap: Trap,
): Promise<TrapReceiver | undefined> {
  const { protocol = 'UDP', port = 162, shouldInform: isInform = false, communityString: community = 'public' } = trap
  const address = receiverAddressOf(trap, protocol)
  const security =
    trap.version === 'V2'
      ? ({ version: 'V2', community } as const)
      : await userSecurity(ctx, clusterExtId, section, trap)
  return address === undefined || security === undefined ? undefined : { address, port, protocol, isInform, security }
}

/** Address of the protocol's family, else the only one. */
export function receiverAddressOf(
  { address: { ipv4, ipv6 } }: Pick<Trap, 'address'>,
  protocol = 'UDP',
): string | undefined {
  const [first, second] = protocol.endsWith('6') ? [ipv6, ipv4] : [ipv4, ipv6]
  return first?.value ?? second?.value
}

/** Undefined: the manager lacks the keys, because they were changed at the cluster. */
async function userSecurity(
  ctx: ScheduleContext,
  clusterExtId: string,
  { users }: Section,
  { username, engineId }: Trap,
): Promise<UserSecurity | undefined> {
  const user = users.find((one) => one.username === username)
  const row = await ctx.store.findOne(SnmpUser, { clusterExtId, username: username ?? '' })
  if (user === undefined || row === undefined) return undefined
  const keys = openKeys(ctx.secrets, row)
  const agree = (plain: string | undefined, actual: unknown): boolean =>
    plain !== undefined && secretDigest(clusterExtId, plain) === (actual as { readonly digest?: string })?.digest
  if (keys.authKey === undefined || !agree(keys.authKey, user.authKey)) return undefined
  if (user.privType !== undefined && !agree(keys.privKey, user.privKey)) return undefined
  return {
    version: 'V3',
    ...{ username: user.username, authType: user.authType, authKey: keys.authKey },
    ...(user.privType && { privType: user.privType, privKey: keys.privKey }),
    engineId: engineId?.replace(/^0[xX]/, '') ?? engineIdOf(clusterExtId),
  }
}

const millisPerTick = 10

function notificationOf({ clock }: ScheduleContext, cluster: Cluster, notice: Notice): Notification {
  const { number, severity } = alertTypes[notice.type]
  const objects: Readonly<Record<AlertObject, number | string>> = {
    alertId: notice.alertExtId,
    alertNumber: number,
    alertName: notice.type,
    alertSeverity: severities[severity],
    alertText: notice.text,
    alertClusterId: cluster.extId,
    alertClusterName: cluster.name,
    alertEntityKind: notice.entityKind,
    alertEntityId: notice.entityExtId,
    alertEntityName: notice.entityName,
    alertOpenedAt: notice.openedAt,
    alertChangedAt: notice.time,
  }
  return {
    oid: notice.change === 'OPENED' ? notifications.alertOpened : notifications.alertClosed,
    upTime: clock.now() / millisPerTick,
    values: Object.entries(objects).map(([name, value]) => ({ oid: objectIds[name as AlertObject], value })),
  }
}
