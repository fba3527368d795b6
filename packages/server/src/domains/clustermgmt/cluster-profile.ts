/** Settings that are applied to clusters and checked for drift. Source: specification 2.4, 4.5; clustermgmt.md 1.10. */
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { ClusterProfile, clusterProfileOperations } from '@hyperplane/contract/clustermgmt/cluster-profile'
import { ApiError, invalid, refuseAll } from '../../core/api-error.ts'
import { created, sparselyUpdated } from '../../core/updates.ts'
import type { Reader } from '../../store/store.ts'
import { affected, defineTask, implement, type ReadContext, type WriteContext } from '../context.ts'
import { changedSections, complianceMonitors, membersOf, withMembers } from './compliance.ts'
import { derivedList } from './derived-list.ts'
import { type Application, applicationPlanOf, applicationSteps, applySection } from './profile-apply.ts'
import { namedClusters, namelessFaults, requireApplicable } from './profile-members.ts'
import { keepSecrets, missingParts, settingsFaults, withSettingDefaults } from './settings-rules.ts'

const taskOf = (
  operation: string,
  description: string,
  profile: ClusterProfile,
  clusters: readonly Cluster[] = [],
) => ({
  operation,
  description,
  affected: [affected(ClusterProfile, profile), ...clusters.map((cluster) => affected(Cluster, cluster))],
  clusterExtIds: clusters.map(({ extId }) => extId),
})

/** Updates of the profile and of these clusters need new tags from now on. */
async function touched(ctx: WriteContext<ClusterProfile>, clusters: readonly Cluster[]): Promise<Application> {
  const profileExtId = ctx.target.extId
  await ctx.store.touch(ClusterProfile, profileExtId)
  for (const { extId } of clusters) await ctx.store.touch(Cluster, extId)
  return { profileExtId, clusterExtIds: clusters.map(({ extId }) => extId) }
}

const createProfile = defineTask<{ readonly extId: string }>({
  name: 'clustermgmt.create-cluster-profile',
  cancelableUntil: 'record',
  steps: [{ name: 'record', record: (ctx, { extId }) => ctx.store.publish(ClusterProfile, extId) }],
  onUndone: (ctx, { extId }) => ctx.store.remove(ClusterProfile, extId),
})

const deleteProfile = defineTask<{ readonly extId: string; readonly name: string }>({
  name: 'clustermgmt.delete-cluster-profile',
  steps: [
    {
      name: 'record',
      record: async (ctx, { extId, name }) => {
        // A cluster may have been associated while the task was queued.
        await requireUnused(ctx.store, extId, name)
        await ctx.store.remove(ClusterProfile, extId)
      },
    },
  ],
})

const applyProfile = defineTask<Application>({
  name: 'clustermgmt.apply-cluster-profile',
  steps: applicationSteps,
  plan: async (ctx, input) =>
    applicationPlanOf(ctx, (await ctx.store.get(ClusterProfile, input.profileExtId)) as ClusterProfile, input),
})

const updateProfile = defineTask<Application & { readonly profile: ClusterProfile }>({
  name: 'clustermgmt.update-cluster-profile',
  steps: [
    {
      name: 'store',
      progress: 5,
      record: async (ctx, { profile }) => {
        await ctx.store.replace(ClusterProfile, profile)
      },
      // No unrecord: the profile is the user's desired state, even if a cluster cannot be brought to it.
    },
    ...applicationSteps,
  ],
  plan: (ctx, input) => applicationPlanOf(ctx, input.profile, input),
})

const leaveProfile = defineTask<Application>({
  name: 'clustermgmt.disassociate-cluster-profile',
  steps: [
    {
      name: 'record',
      record: async (ctx, { profileExtId, clusterExtIds }) => {
        for (const extId of clusterExtIds) {
          const cluster = await ctx.store.get(Cluster, extId)
          if (cluster?.clusterProfileExtId !== profileExtId) continue
          await ctx.store.update(Cluster, extId, { clusterProfileExtId: undefined, compliance: undefined })
        }
      },
    },
  ],
})

export const clusterProfile = implement(
  clusterProfileOperations,
  {
    listClusterProfiles: (ctx, request) =>
      derivedList(ctx, request, ClusterProfile, (profiles) => present(ctx, profiles)),

    async createClusterProfile(ctx, { body }) {
      const now = ctx.clock.iso()
      const by = ctx.caller.extId
      const profile = created(ctx, ClusterProfile, withSettingDefaults(body), {
        createTime: now,
        lastUpdateTime: now,
        createdBy: by,
        lastUpdatedBy: by,
      })
      await ctx.store.insert(ClusterProfile, profile, { pending: true })
      const options = taskOf('createClusterProfile', 'Create Cluster Profile', profile)
      return ctx.startTask(createProfile, { extId: profile.extId }, options)
    },

    async updateClusterProfileById(ctx, { body }) {
      const stored = ctx.target
      const given = withSettingDefaults(keepSecrets(body, stored))
      const next = {
        ...sparselyUpdated(stored, given),
        lastUpdateTime: ctx.clock.iso(),
        lastUpdatedBy: ctx.caller.extId,
      }
      refuseAll(missingParts(given))
      if (next.name !== stored.name) await requireFreeName(ctx.store, next)
      const members = await membersOf(ctx.store, stored.extId)
      const sections = changedSections(ctx.secrets, stored, next)
      const input = { ...(await touched(ctx, members)), profile: next, sections }
      const options = taskOf('updateClusterProfile', 'Update Cluster Profile', next, members)
      return ctx.startTask(updateProfile, input, options)
    },

    async deleteClusterProfileById(ctx) {
      const { extId, name } = ctx.target
      await requireUnused(ctx.store, extId, name)
      const options = taskOf('deleteClusterProfile', 'Delete Cluster Profile', ctx.target)
      return ctx.startTask(deleteProfile, { extId, name }, options)
    },

    async applyClusterProfile(ctx, { body }) {
      const profile = ctx.target
      const clusters = await namedClusters(ctx.store, body.clusters)
      await requireApplicable(ctx, profile.extId, clusters)
      const options = taskOf('applyClusterProfile', 'Apply Cluster Profile', profile, clusters)
      return ctx.startTask(applyProfile, await touched(ctx, clusters), options)
    },

    async disassociateClusterFromClusterProfile(ctx, { body }) {
      const profile = ctx.target
      const clusters = await namedClusters(ctx.store, body.clusters)
      refuseAll(
        clusters
          .filter(({ clusterProfileExtId }) => clusterProfileExtId !== profile.extId)
          .map(({ name }) => invalid('clusters', `expected clusters that follow this profile; "${name}" does not`)),
      )
      const title = 'Disassociate Cluster Profile Cluster'
      const options = taskOf('disassociateClusterFromClusterProfile', title, profile, clusters)
      return ctx.startTask(leaveProfile, await touched(ctx, clusters), options)
    },
  },
  {
    rules: {
      createClusterProfile: ({ body }) => [...settingsFaults(body), ...missingParts(body)],
      updateClusterProfileById: ({ body }) => settingsFaults(body),
      applyClusterProfile: ({ body }) => namelessFaults(body.clusters),
      disassociateClusterFromClusterProfile: ({ body }) => namelessFaults(body.clusters),
    },
    tasks: [applyProfile, applySection, createProfile, deleteProfile, leaveProfile, updateProfile],
    present: [[ClusterProfile, present]],
    schedules: complianceMonitors,
  },
)

async function present(ctx: ReadContext, profiles: readonly ClusterProfile[]): Promise<readonly ClusterProfile[]> {
  return Promise.all(
    profiles.map((profile) => (profile.extId === undefined ? profile : withMembers(ctx.store, profile))),
  )
}

async function requireUnused(store: Reader, extId: string, name: string): Promise<void> {
  const members = await membersOf(store, extId)
  if (members.length === 0) return
  const users = members.map((cluster) => `"${cluster.name}"`).join(', ')
  throw new ApiError('CLUSTER_PROFILE_IN_USE', { name, users }, { extra: { clusterCount: members.length } })
}

async function requireFreeName(store: Reader, profile: ClusterProfile): Promise<void> {
  const others = await store.find(ClusterProfile)
  if (others.some(({ extId, name }) => extId !== profile.extId && name.toLowerCase() === profile.name.toLowerCase())) {
    throw new ApiError('CLUSTER_PROFILE_NAME_EXISTS', { fields: 'name' })
  }
}
