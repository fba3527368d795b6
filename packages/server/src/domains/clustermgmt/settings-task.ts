/** Steps of a task that changes a section of a cluster's settings. Source: behaviour clustermgmt.md 1.1 (task shape). */
import type { ClusterSettings, SettingsChange } from '../../drivers/hardware.ts'
import type { RecordContext, Step, StepContext } from '../context.ts'
import { checkCluster } from '../registrations/reachability.ts'
import { recordCompliance } from './compliance.ts'

export interface OfCluster {
  readonly clusterExtId: string
}

interface Section<I> {
  /** @throws ApiError for a change that the present settings do not allow */
  readonly check: (ctx: StepContext, input: I, present: ClusterSettings) => Promise<void>
  /** Idempotent, because it runs again after a crash. */
  readonly change: (ctx: StepContext, input: I, present: ClusterSettings) => Promise<SettingsChange>
  readonly record: (ctx: RecordContext, input: I, settings: ClusterSettings) => Promise<void>
}

export const settingsSteps = <I extends OfCluster>({ check, change, record }: Section<I>): readonly Step<I>[] => [
  checkCluster(({ clusterExtId }) => clusterExtId),
  {
    // A step of its own: a change that a crash interrupted must not be refused because of its own result.
    name: 'check settings',
    progress: 10,
    run: async (ctx, input) => check(ctx, input, await ctx.drivers.hardware.readSettings(input.clusterExtId)),
  },
  {
    name: 'apply to the cluster',
    progress: 90,
    seconds: [1, 3],
    run: async (ctx, input) => {
      const { hardware } = ctx.drivers
      const next = await change(ctx, input, await hardware.readSettings(input.clusterExtId))
      return hardware.writeSettings(input.clusterExtId, next, ctx.callKey)
    },
    undo: (ctx, { clusterExtId }) => ctx.drivers.hardware.takeBackSettings(clusterExtId, ctx.callKey),
  },
  {
    name: 'record',
    record: async (ctx, input) => {
      const settings = ctx.outputs['apply to the cluster'] as ClusterSettings
      await record(ctx, input, settings)
      await recordCompliance(ctx, input.clusterExtId, settings)
    },
  },
]
