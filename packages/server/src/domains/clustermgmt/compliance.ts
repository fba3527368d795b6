/** Drift from a profile is reported, never corrected. Source: behaviour clustermgmt.md 1.10. */

import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { ClusterProfile } from '@hyperplane/contract/clustermgmt/cluster-profile'
import type { Clock } from '../../core/time/clock.ts'
import type { SecretReader } from '../../core/world.ts'
import { type ClusterSettings, type SettingsSection, withDigests } from '../../drivers/hardware.ts'
import type { Reader, Transaction } from '../../store/store.ts'
import type { Schedule, ScheduleContext } from '../context.ts'
import { followRsyslog, rsyslogWrites } from './rsyslog/follow.ts'
import { differingSections, inClusterRow, openSecrets, sectionsOf } from './settings-sections.ts'
import { followSnmp, snmpWrites } from './snmp/follow.ts'

const monitorEverySeconds = 30 * 60

export const prescribed = (secrets: SecretReader, profile: ClusterProfile): ClusterSettings =>
  sectionsOf(openSecrets(secrets, 'ClusterProfile', profile.extId, profile))

export function changedSections(
  secrets: SecretReader,
  stored: ClusterProfile,
  next: ClusterProfile,
): SettingsSection[] {
  return differingSections(
    stored.extId,
    prescribed(secrets, next),
    withDigests(stored.extId, prescribed(secrets, stored)),
  )
}

/** Sections that differ from the profile, without those that may be overridden. */
function driftsOf(
  secrets: SecretReader,
  profile: ClusterProfile,
  clusterExtId: string,
  actual: ClusterSettings,
): SettingsSection[] {
  const allowed = new Set(profile.allowedOverrides)
  return differingSections(clusterExtId, prescribed(secrets, profile), actual).filter(
    (section) => !allowed.has(section),
  )
}

interface Recording {
  readonly store: Transaction
  readonly secrets: SecretReader
  readonly clock: Clock
}

export async function recordCompliance(ctx: Recording, clusterExtId: string, actual: ClusterSettings): Promise<void> {
  const cluster = await ctx.store.get(Cluster, clusterExtId)
  const profileExtId = cluster?.clusterProfileExtId
  const profile = profileExtId === undefined ? undefined : await ctx.store.get(ClusterProfile, profileExtId)
  if (profile === undefined) return
  const configDrifts = driftsOf(ctx.secrets, profile, clusterExtId, actual)
  await ctx.store.observe(Cluster, clusterExtId, {
    compliance: { isCompliant: configDrifts.length === 0, lastSyncedTime: ctx.clock.iso(), configDrifts },
  })
}

/** In the order in which the clusters were created. */
export async function membersOf(store: Reader, profileExtId: string): Promise<Cluster[]> {
  return store.findWhere(Cluster, { clusterProfileExtId: profileExtId })
}

export async function withMembers(store: Reader, profile: ClusterProfile): Promise<ClusterProfile> {
  const clusters = (await membersOf(store, profile.extId)).map(({ extId, compliance }) => ({
    extId,
    isCompliant: compliance?.isCompliant,
    lastSyncedTime: compliance?.lastSyncedTime,
    ...(compliance?.isCompliant === false ? { configDrifts: compliance.configDrifts } : {}),
  }))
  return {
    ...profile,
    clusterCount: clusters.length,
    driftedClusterCount: clusters.filter(({ isCompliant }) => isCompliant === false).length,
    ...(clusters.length === 0 ? {} : { clusters }),
  }
}

/** Settings changed outside this API. An unreachable cluster keeps its last known state. */
export const complianceMonitors: readonly Schedule[] = [
  {
    name: 'clustermgmt.monitor-settings',
    everySeconds: monitorEverySeconds,
    onlyLastCounts: true,
    run: monitorSettings,
  },
  {
    // A clock that is moved far finds a change at the same time as one that runs: an alert states that time.
    name: 'clustermgmt.monitor-changed-settings',
    everySeconds: monitorEverySeconds,
    watch: ({ drivers }, changed) => drivers.hardware.watch(changed),
    run: monitorSettings,
  },
]

async function monitorSettings(ctx: ScheduleContext): Promise<void> {
  const observed: { readonly extId: string; readonly actual: ClusterSettings }[] = []
  for (const cluster of await ctx.store.find(Cluster)) {
    const { extId, clusterProfileExtId } = cluster
    if (!ctx.drivers.hardware.isReachable(extId)) continue
    const actual = await ctx.drivers.hardware.readSettings(extId)
    // A cluster without a profile needs a write only if its settings differ from its rows.
    const writes = [await rsyslogWrites(ctx, extId, actual), await snmpWrites(ctx, extId, actual)].flat()
    const differs = changesFrom(cluster, actual) !== undefined || writes.length > 0
    if (clusterProfileExtId !== undefined || differs) observed.push({ extId, actual })
  }
  if (observed.length === 0) return
  await ctx.store.transaction(async (transaction) => {
    for (const { extId, actual } of observed) {
      // The running task records the compliance of this cluster.
      if (ctx.runner.queueLength(extId) > 0) continue
      await followSettings(transaction, extId, actual)
      await followRsyslog({ ...ctx, store: transaction }, extId, actual)
      await followSnmp({ ...ctx, store: transaction }, extId, actual)
      await recordCompliance({ ...ctx, store: transaction }, extId, actual)
    }
  })
}

const followedFields = [
  'nameServerIpList',
  'nfsSubnetWhitelist',
  'ntpServerConfigList',
  'ntpServerIpList',
  'smtpServer',
]

async function followSettings(store: Transaction, clusterExtId: string, actual: ClusterSettings): Promise<void> {
  const cluster = await store.get(Cluster, clusterExtId)
  const found = cluster === undefined ? undefined : changesFrom(cluster, actual)
  if (found !== undefined) await store.observe(Cluster, clusterExtId, found)
}

function changesFrom(cluster: Cluster, actual: ClusterSettings): Partial<Cluster> | undefined {
  const found = inClusterRow(actual)
  const network: Record<string, unknown> = { ...cluster.network }
  for (const name of followedFields) {
    if (found.network[name] === undefined) delete network[name]
    else network[name] = withStoredSecrets(found.network[name], network[name])
  }
  const config = { ...cluster.config, ...found.config }
  const isSame = JSON.stringify([network, config]) === JSON.stringify([cluster.network ?? {}, cluster.config ?? {}])
  return isSame ? undefined : ({ network, config } as Partial<Cluster>)
}

/** A cluster does not return secrets, so the stored ones are kept; NTP keys are matched by their id. */
function withStoredSecrets(actual: unknown, stored: unknown): unknown {
  if (Array.isArray(actual)) {
    const list: readonly unknown[] = Array.isArray(stored) ? stored : []
    const of = (item: unknown) => {
      const id = fieldOf(item, 'encryptionKeyId')
      return id === undefined ? undefined : list.find((other) => fieldOf(other, 'encryptionKeyId') === id)
    }
    return actual.map((item) => withStoredSecrets(item, of(item)))
  }
  if (typeof actual !== 'object' || actual === null) return actual
  const next: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(actual)) {
    const isSecret = typeof value === 'object' && value !== null && 'digest' in value
    const completed = isSecret ? fieldOf(stored, name) : withStoredSecrets(value, fieldOf(stored, name))
    if (completed !== undefined) next[name] = completed
  }
  return next
}

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
