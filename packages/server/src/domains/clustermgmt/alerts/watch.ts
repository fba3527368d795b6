/** Opens and closes alerts, and delivers their notices. */

import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import type { Transaction } from '../../../store/store.ts'
import { type Schedule, type ScheduleContext, together } from '../../context.ts'
import { retentionSeconds } from '../../statistics/grid.ts'
import {
  type Alert,
  AlertNotice,
  type AlertReceiver,
  type AlertTypeName,
  ClosedAlert,
  type Notice,
  OpenAlert,
} from './alert.ts'
import { type Condition, failuresIn, shortagesIn } from './conditions.ts'
import { alertReceivers } from './receivers.ts'

const failureTypes: readonly AlertTypeName[] = ['DISK_FAILED', 'HOST_FAILED', 'HOST_DEGRADED', 'PROFILE_DRIFT']
const shortageTypes: readonly AlertTypeName[] = ['STORAGE_POOL_LOW', 'STORAGE_CONTAINER_LOW']

const deliveryTo = ([receiver, deliver]: [string, AlertReceiver]): Schedule => ({
  name: `clustermgmt.deliver-alerts-to-${receiver}`,
  everySeconds: 1,
  watch: ({ store }, changed) => store.watch([AlertNotice], changed),
  async run(ctx) {
    const notices = await ctx.store.findWhere(AlertNotice, { receiver })
    if (notices.length === 0) return
    await deliver(ctx, notices)
    await ctx.store.transaction(async (transaction) => {
      for (const { extId } of notices) await transaction.remove(AlertNotice, extId)
    })
  },
})

export const alertSchedules: readonly Schedule[] = [
  {
    name: 'clustermgmt.watch-failures',
    everySeconds: 10,
    watch: ({ drivers, store }, changed) =>
      together(drivers.hardware.watch(changed), store.watch([Cluster, Host], changed)),
    async run(ctx) {
      const { clusters, ignored } = await judgedClusters(ctx)
      await update(ctx, failureTypes, await failuresIn(ctx.store, ctx.drivers.hardware, clusters), ignored)
    },
  },
  {
    name: 'clustermgmt.watch-space',
    everySeconds: 5 * 60,
    onlyLastCounts: true,
    async run(ctx) {
      const { clusters, ignored } = await judgedClusters(ctx)
      const open = new Set((await ctx.store.find(OpenAlert)).map(keyOf))
      const isOpen = (type: AlertTypeName, entityExtId: string): boolean => open.has(keyOf({ type, entityExtId }))
      const found: Condition[] = []
      for (const cluster of clusters) {
        found.push(...(await shortagesIn(ctx, cluster, isOpen)))
        // Lets requests in between: the usage of a cluster is summed over all its disks.
        await new Promise(setImmediate)
      }
      await update(ctx, shortageTypes, found, ignored)
    },
  },
  ...Object.entries(alertReceivers).map(deliveryTo),
]

interface Judged {
  readonly clusters: readonly Cluster[]
  /** Alerts of unreachable clusters stay as they are. */
  readonly ignored: ReadonlySet<string>
}

async function judgedClusters({ drivers, store }: ScheduleContext): Promise<Judged> {
  const all = await store.find(Cluster)
  const clusters = all.filter(({ extId }) => drivers.hardware.isReachable(extId))
  const reachable = new Set(clusters)
  return { clusters, ignored: new Set(all.filter((one) => !reachable.has(one)).map(({ extId }) => extId)) }
}

const keyOf = ({ type, entityExtId }: Pick<Alert, 'type' | 'entityExtId'>): string => `${type}/${entityExtId}`

/** Only this schedule changes alerts of these types, so that none is opened or closed twice. */
async function update(
  ctx: ScheduleContext,
  types: readonly AlertTypeName[],
  found: readonly Condition[],
  ignored: ReadonlySet<string>,
): Promise<void> {
  const stored = (await ctx.store.find(OpenAlert)).filter(({ type }) => types.includes(type))
  const present = new Set(found.map(keyOf))
  const past = stored.filter((alert) => !present.has(keyOf(alert)) && !ignored.has(alert.clusterExtId))
  const open = new Set(stored.map(keyOf))
  const fresh = found.filter((condition) => !open.has(keyOf(condition)))
  if (past.length === 0 && fresh.length === 0) return
  const now = ctx.clock.iso()
  await ctx.store.transaction(async (transaction) => {
    for (const alert of past) {
      await transaction.remove(OpenAlert, alert.extId)
      await keep(transaction, alert, now)
      await notify(ctx, transaction, alert, 'CLOSED')
    }
    for (const condition of fresh) {
      const alert = { openedAt: now, ...condition, extId: ctx.ids.uuid() }
      await notify(ctx, transaction, await transaction.insert(OpenAlert, alert), 'OPENED')
    }
  })
}

async function keep(store: Transaction, alert: Alert, closedAt: string): Promise<void> {
  const { clusterExtId } = alert
  if (!(await store.has(Cluster, clusterExtId))) return
  await store.insert(ClosedAlert, { ...alert, closedAt })
  const oldest = Date.parse(closedAt) - 1000 * retentionSeconds
  for (const closed of await store.findWhere(ClosedAlert, { clusterExtId }))
    if (Date.parse(closed.closedAt) < oldest) await store.remove(ClosedAlert, closed.extId)
}

async function notify(
  { clock, ids }: ScheduleContext,
  store: Transaction,
  { extId: alertExtId, ...alert }: Alert,
  change: Notice['change'],
): Promise<void> {
  // A removed cluster has no receivers.
  if (!(await store.has(Cluster, alert.clusterExtId))) return
  for (const receiver of Object.keys(alertReceivers))
    await store.insert(AlertNotice, { ...alert, extId: ids.uuid(), receiver, alertExtId, change, time: clock.iso() })
}
