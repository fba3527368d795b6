/** Source: specification 4.5; behaviour clustermgmt.md 1.1, 1.2. */
import type { BodyOf } from '@hyperplane/contract'
import { Cluster, clusterOperations } from '@hyperplane/contract/clustermgmt/cluster'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { ApiError, refuseAll } from '../../core/api-error.ts'
import { sparselyUpdated } from '../../core/updates.ts'
import { isManager } from '../containers/storage-containers.ts'
import { implement, type ScheduleContext, type WriteContext } from '../context.ts'
import { requireReachable } from '../registrations/reachability.ts'
import { requireNotDestroyed } from '../scheduling/topology.ts'
import { inefficientVms } from '../statistics/vm-efficiency.ts'
import { storageHostsOf } from '../storage-space/capacity.ts'
import { AlertNotice, ClosedAlert, OpenAlert } from './alerts/alert.ts'
import { alertSchedules } from './alerts/watch.ts'
import { clusterAddressFaults, requireFreeAddresses } from './cluster-addresses.ts'
import { startAssociation, updateAssociations } from './cluster-categories.ts'
import { createCluster, startCreation } from './cluster-life/create.ts'
import { destroyCluster, startDestruction } from './cluster-life/destroy.ts'
import { newClusterFaults } from './cluster-life/new-cluster.ts'
import { configBodyFaults, configFaults, copiesFor, requireFreeName } from './cluster-rules.ts'
import { clusterTask } from './cluster-task.ts'
import { copyData, settingsChangeOf, updateCluster } from './cluster-update.ts'
import { withState } from './cluster-view.ts'
import { derivedList } from './derived-list.ts'
import { keepSecrets, missingParts, settingsFaults, withSettingDefaults } from './settings-rules.ts'

type Body = BodyOf<typeof Cluster>

export const cluster = implement(
  clusterOperations,
  {
    listClusters: (ctx, request) => derivedList(ctx, request, Cluster, (clusters) => withState(ctx, clusters)),

    createCluster: (ctx, { body }) => startCreation(ctx, body),

    deleteClusterById: (ctx) => startDestruction(ctx, ctx.target),

    async updateClusterById(ctx, { body: { nodes: _, ...body } }) {
      const stored = ctx.target
      await requireNotDestroyed(ctx.store, stored)
      const given = withKeptSecrets(body, stored)
      const next = sparselyUpdated(stored, given, ['config', 'network'])
      const hosts = await storageHostsOf(ctx.store, stored.extId)
      refuseAll([
        ...(isManager(stored) ? managerFaults(given, stored) : []),
        ...missingParts(given.network ?? {}, 'network/'),
        ...(given.config === undefined || isManager(stored)
          ? []
          : configFaults(given.config, next.config ?? {}, hosts, ctx.drivers.hardware)),
      ])
      await requireFreeAddresses(ctx.store, stored, given)
      if (given.name !== undefined) await requireFreeName(ctx.store, stored, given.name)
      await requireContainersFit(ctx, stored, next)
      requireReachable(ctx, stored)
      // A second update with the same ETag gets 412 even before this task ends.
      await ctx.store.touch(Cluster, stored.extId)
      const input = {
        clusterExtId: stored.extId,
        body: given,
        change: settingsChangeOf(ctx.secrets, stored.extId, given),
      }
      return ctx.startTask(updateCluster, input, clusterTask('Update Cluster', next))
    },

    associateCategoriesToCluster: (ctx, { body }) => startAssociation(ctx, ctx.target, 'attach', body.categories),

    disassociateCategoriesFromCluster: (ctx, { body }) => startAssociation(ctx, ctx.target, 'detach', body.categories),
  },
  {
    rules: {
      createCluster: ({ body }) => [
        ...newClusterFaults(body),
        ...missingParts(body.network ?? {}, 'network/'),
        ...bodyFaults(body),
      ],
      updateClusterById: ({ body }) => bodyFaults(body),
    },
    tasks: [copyData, createCluster, destroyCluster, updateAssociations, updateCluster],
    present: [[Cluster, withState]],
    schedules: [
      { name: 'clustermgmt.judge-vms', everySeconds: 60 * 60, onlyLastCounts: true, run: countInefficientVms },
      ...alertSchedules,
    ],
    records: [AlertNotice, ClosedAlert, OpenAlert],
  },
)

function withKeptSecrets(body: Body, stored: Cluster): Body {
  const config = body.config === undefined ? undefined : { ...body.config }
  const tolerance = config?.faultToleranceState?.desiredClusterFaultTolerance
  if (config !== undefined && tolerance !== undefined) config.redundancyFactor ??= copiesFor(tolerance)
  // A new redundancy factor drops the stored fault tolerance level, which is then derived.
  else if (config?.redundancyFactor !== undefined) {
    const { desiredClusterFaultTolerance: _, ...state } = {
      ...stored.config?.faultToleranceState,
      ...config.faultToleranceState,
    }
    config.faultToleranceState = state
  }
  return {
    ...body,
    ...(config && { config }),
    ...(body.network && { network: withSettingDefaults(keepSecrets(body.network, stored.network)) }),
  }
}

const bodyFaults = ({ network = {}, config = {} }: Body): ApiError[] => [
  ...settingsFaults(network, 'network/'),
  ...clusterAddressFaults(network),
  ...configBodyFaults(config),
]

async function countInefficientVms(ctx: ScheduleContext): Promise<void> {
  for (const { extId, inefficientVmCount } of (await ctx.store.find(Cluster)).filter((one) => !isManager(one))) {
    const found = await inefficientVms(ctx, extId)
    if (found === inefficientVmCount) continue
    await ctx.store.transaction(async (transaction) => {
      if (!(await transaction.has(Cluster, extId))) return
      await transaction.observe(Cluster, extId, { inefficientVmCount: found })
    })
  }
}

/** On the cluster of the manager itself clients can change only name and network. */
function managerFaults(given: Body, stored: Cluster): ApiError[] {
  const { name, config = {} } = stored
  const changed = Object.entries(given.config ?? {}).find(
    ([field, value]) => JSON.stringify(value) !== JSON.stringify(config[field as keyof typeof config]),
  )
  if (changed === undefined) return []
  return [new ApiError('NOT_SUPPORTED_ON_MANAGER', { name, action: `changing config/${changed[0]}` })]
}

async function requireContainersFit(ctx: WriteContext, stored: Cluster, next: Cluster): Promise<void> {
  const copies = next.config?.redundancyFactor ?? 2
  if (copies >= (stored.config?.redundancyFactor ?? 2)) return
  const containers = await ctx.store.findWhere(StorageContainer, { clusterExtId: stored.extId })
  const above = containers.filter(({ replicationFactor }) => (replicationFactor ?? 2) > copies)
  if (above.length === 0) return
  const names = above.map(({ name }) => `"${name}"`).join(', ')
  throw new ApiError('CONFLICT', {
    fault: `The storage containers ${names} keep more than ${copies} copies. Lower those first.`,
  })
}
