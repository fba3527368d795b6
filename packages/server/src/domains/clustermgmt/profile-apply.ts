/**
 * A subtask per cluster and section, all concurrent. A cluster gets all sections or none; if one fails, so does the task, the others stay.
 * Source: behaviour clustermgmt.md 1.1 (what stays after a failed task), 1.10.
 */
import type { ValueOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { ClusterProfile } from '@hyperplane/contract/clustermgmt/cluster-profile'
import type { NonCompatibleClusterReference } from '@hyperplane/contract/clustermgmt/task-response'
import { ApiError, type AppMessage } from '../../core/api-error.ts'
import { notFound } from '../../core/standard.ts'
import { sparselyUpdated } from '../../core/updates.ts'
import type { ClusterSettings, SettingsSection } from '../../drivers/hardware.ts'
import type { Transaction } from '../../store/store.ts'
import { DriverError, defineTask, type Plan, type Step, type StepContext, type TaskEnd } from '../context.ts'
import { unreachable } from '../registrations/reachability.ts'
import { clusterTask } from './cluster-task.ts'
import { prescribed, recordCompliance } from './compliance.ts'
import { otherProfileError } from './profile-members.ts'
import { followRsyslog } from './rsyslog/follow.ts'
import { differingSections, inClusterRow, sections } from './settings-sections.ts'
import { followSnmp } from './snmp/follow.ts'
import { keepResult } from './topology/task-results.ts'

export interface Application {
  readonly profileExtId: string
  readonly clusterExtIds: readonly string[]
  /** Absent: all sections that the profile prescribes. */
  readonly sections?: readonly SettingsSection[]
}

interface SectionOfCluster {
  readonly clusterExtId: string
  readonly section: SettingsSection
  readonly value: unknown
}

const stepOfSection = 'apply section'

export const applySection = defineTask<SectionOfCluster>({
  name: 'clustermgmt.apply-profile-section',
  steps: [
    {
      name: stepOfSection,
      seconds: [1, 3],
      run: async (ctx, { clusterExtId, section, value }) => {
        await ctx.drivers.hardware.writeSettings(clusterExtId, { [section]: value }, ctx.callKey)
      },
      undo: (ctx, { clusterExtId }) => ctx.drivers.hardware.takeBackSettings(clusterExtId, ctx.callKey),
    },
  ],
})

interface Started {
  readonly clusterExtId: string
  readonly tasks: readonly string[]
}
interface Result {
  readonly clusterExtId: string
  /** Read back from the cluster; absent if it failed. */
  readonly settings?: ClusterSettings
  readonly messages: readonly AppMessage[]
}

export const applicationSteps: readonly Step<Application>[] = [
  {
    name: 'start sections',
    progress: 10,
    record: async (ctx, input) => {
      const profile = (await ctx.store.get(ClusterProfile, input.profileExtId)) as ClusterProfile
      const settings = only(prescribed(ctx.secrets, profile), input.sections)
      const started: Started[] = []
      for (const clusterExtId of input.clusterExtIds) {
        const cluster = await ctx.store.get(Cluster, clusterExtId)
        const tasks: string[] = []
        if (cluster !== undefined && (await otherProfileError(ctx.store, input.profileExtId, cluster)) === undefined) {
          for (const section of sections) {
            if (settings[section] === undefined) continue
            const options = { ...clusterTask('applyClusterProfileSection', cluster), parent: ctx.taskExtId }
            const { extId } = await ctx.startTask(
              applySection,
              { clusterExtId, section, value: settings[section] },
              { ...options, description: `Apply ${section}` },
            )
            tasks.push(extId)
          }
        }
        started.push({ clusterExtId, tasks })
      }
      return { keep: started }
    },
    // No undo: later steps fail only after every subtask has ended.
  },
  {
    name: 'apply to the clusters',
    progress: 95,
    run: async (ctx, input) => {
      const started = ctx.outputs['start sections'] as readonly Started[]
      return Promise.all(started.map((one) => settleOrReport(ctx, input.profileExtId, one)))
    },
    record: async (ctx, input, results: readonly Result[]) => {
      const profile = (await ctx.store.get(ClusterProfile, input.profileExtId)) as ClusterProfile
      const desired = only(prescribed(ctx.secrets, profile), input.sections)
      const applied = inClusterRow(desired)
      for (const { clusterExtId, settings } of results) {
        const cluster = await ctx.store.get(Cluster, clusterExtId)
        if (cluster === undefined) continue
        if (settings !== undefined) {
          const next = sparselyUpdated(cluster, applied, ['config', 'network'])
          await ctx.store.replace(Cluster, { ...next, clusterProfileExtId: profile.extId })
          await followRsyslog(ctx, clusterExtId, settings)
          await followSnmp(ctx, clusterExtId, settings, desired.SNMP_SERVER_CONFIG?.users)
          await recordCompliance(ctx, clusterExtId, settings)
        } else if (cluster.clusterProfileExtId === profile.extId) {
          // The profile was changed, but this member failed to follow: report drift.
          await recordFailedMember(ctx, profile, cluster, input.sections)
        }
      }
    },
    // No unrecord: clusters that succeeded stay members, an exception that behaviour clustermgmt.md 1.1 makes.
  },
  {
    name: 'report',
    run: async (ctx) => {
      const results = ctx.outputs['apply to the clusters'] as readonly Result[]
      const [first, ...rest] = results.flatMap(({ messages }) => messages)
      if (first === undefined) return
      const names = await Promise.all(
        results
          .filter(({ settings }) => settings === undefined)
          .map(async ({ clusterExtId }) => (await ctx.store.get(Cluster, clusterExtId))?.name ?? clusterExtId),
      )
      const fault = `The profile could not be applied to ${names.map((name) => `"${name}"`).join(', ')}; the others follow it.`
      throw new ApiError('CONFLICT', { fault }, { further: [first, ...rest] })
    },
  },
]

const only = (settings: ClusterSettings, sectionNames: readonly SettingsSection[] | undefined): ClusterSettings =>
  sectionNames === undefined
    ? settings
    : Object.fromEntries(Object.entries(settings).filter(([name]) => sectionNames.includes(name as SettingsSection)))

/** A driver error is the result of its cluster, so that the other clusters are still recorded. */
async function settleOrReport(ctx: StepContext, profileExtId: string, started: Started): Promise<Result> {
  try {
    return await settle(ctx, profileExtId, started)
  } catch (error) {
    if (!(error instanceof DriverError)) throw error
    const { clusterExtId } = started
    return { clusterExtId, messages: [new ApiError('BACKEND_TIMEOUT', { fault: error.message }).appMessage] }
  }
}

/** Rolls back successful sections if another section of the cluster failed. */
async function settle(ctx: StepContext, profileExtId: string, { clusterExtId, tasks }: Started): Promise<Result> {
  const cluster = await ctx.store.get(Cluster, clusterExtId)
  if (cluster === undefined) return { clusterExtId, messages: [notFound(Cluster, clusterExtId, 'clusters').appMessage] }
  const refusal = await otherProfileError(ctx.store, profileExtId, cluster)
  if (refusal !== undefined) return { clusterExtId, messages: [refusal.appMessage] }
  const ends = await ctx.untilEnded(tasks)
  const failed = ends.filter(({ status }) => status !== 'SUCCEEDED')
  if (failed.length === 0) {
    if (!ctx.drivers.hardware.isReachable(clusterExtId))
      return { clusterExtId, messages: [unreachable(cluster.name).appMessage] }
    return { clusterExtId, settings: await ctx.drivers.hardware.readSettings(clusterExtId), messages: [] }
  }
  for (const end of ends) {
    if (end.status === 'SUCCEEDED')
      await ctx.drivers.hardware.takeBackSettings(clusterExtId, `${end.extId}/${stepOfSection}`)
  }
  return { clusterExtId, messages: messagesOf(failed) }
}

const messagesOf = (ends: readonly TaskEnd[]): AppMessage[] => ends.flatMap(({ errorMessages }) => errorMessages)

async function recordFailedMember(
  ctx: Parameters<typeof recordCompliance>[0],
  profile: ClusterProfile,
  cluster: Cluster,
  changed: readonly SettingsSection[] | undefined,
): Promise<void> {
  const allowed = new Set(profile.allowedOverrides)
  const previousDrifts = cluster.compliance?.configDrifts ?? []
  const configDrifts = sections.filter(
    (section) => !allowed.has(section) && (previousDrifts.includes(section) || changed?.includes(section) !== false),
  )
  await ctx.store.observe(Cluster, cluster.extId, {
    compliance: {
      isCompliant: configDrifts.length === 0,
      lastSyncedTime: cluster.compliance?.lastSyncedTime ?? ctx.clock.iso(),
      configDrifts,
    },
  })
}

/** For each cluster and section that differ, without secrets. */
export async function applicationPlanOf(
  ctx: StepContext,
  profile: ClusterProfile,
  { clusterExtIds, sections: changed }: Application,
): Promise<Plan> {
  const settings = only(prescribed(ctx.secrets, profile), changed)
  const changes: Plan['changes'][number][] = []
  const problems: AppMessage[] = []
  const nonCompatible: ValueOf<typeof NonCompatibleClusterReference>[] = []
  for (const clusterExtId of clusterExtIds) {
    const cluster = await ctx.store.get(Cluster, clusterExtId)
    const blocked =
      cluster === undefined
        ? notFound(Cluster, clusterExtId, 'clusters')
        : ((await otherProfileError(ctx.store, profile.extId, cluster)) ??
          (ctx.drivers.hardware.isReachable(clusterExtId) ? undefined : unreachable(cluster.name)))
    if (blocked !== undefined) {
      problems.push(blocked.appMessage)
      continue
    }
    const actual = await ctx.drivers.hardware.readSettings(clusterExtId)
    const configDrifts = differingSections(clusterExtId, settings, actual)
    if (configDrifts.length > 0) nonCompatible.push({ clusterExtId, configDrifts: [...configDrifts] })
    for (const section of configDrifts) {
      changes.push({
        attribute: `clusters/${clusterExtId}/${section}`,
        from: textOfSetting(actual[section]),
        to: textOfSetting(settings[section]),
      })
    }
  }
  const keep = (store: Transaction): Promise<void> =>
    keepResult({ ...ctx, store }, 'NON_COMPATIBLE_CLUSTERS', nonCompatible)
  return { changes, problems, keep }
}

const secretNames = new Set(['authKey', 'encryptionKey', 'password', 'privKey'])

const textOfSetting = (section: unknown): string =>
  section === undefined
    ? 'unset'
    : JSON.stringify(section, (name, value) => (secretNames.has(name) ? 'changed' : value))
