/** One change of the SNMP settings of a cluster, and its task. Source: behaviour clustermgmt.md 1.1 (task shape), 1.12. */
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { SnmpSettings } from '@hyperplane/contract/clustermgmt/snmp-config'
import { SnmpTrap } from '@hyperplane/contract/clustermgmt/snmp-trap'
import { SnmpUser } from '@hyperplane/contract/clustermgmt/snmp-user'
import { type ApiError, refuseAll } from '../../../core/api-error.ts'
import type { TaskStarted } from '../../../core/handlers.ts'
import type { SecretReader } from '../../../core/world.ts'
import type { ClusterSettings } from '../../../drivers/hardware.ts'
import type { Reader } from '../../../store/store.ts'
import {
  type AffectedEntity,
  affected,
  defineTask,
  parentOf,
  type RecordContext,
  type TaskDefinition,
  type WriteContext,
} from '../../context.ts'
import { requireReachable } from '../../registrations/reachability.ts'
import { type OfCluster, settingsSteps } from '../settings-task.ts'
import { followSnmp, snmpConfigId } from './follow.ts'
import { type Section, sectionIn, type User } from './section.ts'

interface Change<I> {
  readonly operation: string
  /** As of the stored rows at the run of the task. Default: as accepted. */
  readonly current?: (store: Reader, input: I) => Promise<I>
  /** Refusals that depend on what is set now. */
  readonly faults: (present: Section, input: I) => readonly ApiError[]
  /** Idempotent, because it runs again after a crash. Secrets in the result are plain. */
  readonly next: (present: Section, input: I, secrets: SecretReader) => Section
  /** Users with the keys that `next` has set. */
  readonly given?: (input: I) => readonly User[]
  /** Writes the row that the request names. Its settings are on the cluster already. */
  readonly record?: (ctx: RecordContext, input: I) => Promise<unknown>
  readonly onUndone?: (ctx: RecordContext, input: I) => Promise<void>
}

export interface SnmpChange<I> extends Change<I> {
  readonly task: TaskDefinition<I & OfCluster>
}

export function snmpChange<I>(change: Change<I>): SnmpChange<I> {
  type Input = I & OfCluster
  const { onUndone, current = async (_store, input) => input } = change
  const task = defineTask<Input>({
    name: `clustermgmt.${change.operation.toLowerCase().replaceAll(' ', '-')}`,
    steps: settingsSteps<Input>({
      check: async (ctx, input, present) =>
        refuseAll(change.faults(sectionIn(present), await current(ctx.store, input))),
      change: async (ctx, input, present) => {
        const next = change.next(sectionIn(present), await current(ctx.store, input), ctx.secrets)
        return { SNMP_SERVER_CONFIG: next as ClusterSettings['SNMP_SERVER_CONFIG'] & object }
      },
      record: async (ctx, input, settings) => {
        await change.record?.(ctx, input)
        await followSnmp(ctx, input.clusterExtId, settings, change.given?.(input))
      },
    }),
    ...(onUndone && { onUndone }),
  })
  return { ...change, task }
}

/** @param entity default: the SNMP configuration @throws ApiError 503, and the faults of the change */
export async function startSnmpChange<I extends object>(
  ctx: WriteContext,
  cluster: Cluster,
  { operation, faults, task }: SnmpChange<I>,
  input: I,
  entity: AffectedEntity = affected(SnmpSettings, { extId: snmpConfigId(cluster.extId) }),
): Promise<TaskStarted> {
  requireReachable(ctx, cluster)
  // Earlier tasks may change the basis of this check: then the task checks.
  if (ctx.services.runner.queueAhead(cluster.extId) === 0)
    refuseAll(faults(await storedSection(ctx.store, cluster.extId), input))
  return ctx.startTask(
    task,
    { ...input, clusterExtId: cluster.extId },
    {
      operation,
      affected: [entity],
      clusterExtIds: [cluster.extId],
      locks: [cluster.extId, entity.extId],
    },
  )
}

export const clusterInPath = (ctx: WriteContext<unknown, 'clusterExtId'>): Cluster =>
  parentOf(ctx, 'clusterExtId', Cluster)

export async function storedSection(store: Reader, clusterExtId: string): Promise<Section> {
  const { isEnabled, transports } = { ...sectionIn({}), ...(await store.findOne(SnmpSettings, { clusterExtId })) }
  const users = await store.findWhere(SnmpUser, { clusterExtId })
  const traps = await store.findWhere(SnmpTrap, { clusterExtId })
  return { isEnabled, transports, users, traps }
}
