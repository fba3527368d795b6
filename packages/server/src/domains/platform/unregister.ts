/** Unregisters: removes the entities here, revokes the trust; a cluster keeps running. Source: behaviour platform.md 4. */
import type { ValueOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { DomainManager, registeredRel } from '@hyperplane/contract/platform/domain-manager'
import { Registration } from '@hyperplane/contract/platform/registration'
import type { ClusterReference } from '@hyperplane/contract/platform/remote-cluster'
import { ApiError, invalid } from '../../core/api-error.ts'
import type { TaskStarted } from '../../core/handlers.ts'
import { notFound } from '../../core/standard.ts'
import { type InventoryRow, RemoteFault } from '../../drivers/remote-managers.ts'
import { accountIdOf, removeAccount } from '../accounts/manager-accounts.ts'
import { defineTask, type Plan, type StepContext, type WriteContext } from '../context.ts'
import { removeInventory, rowsOfCluster } from '../registrations/cluster-inventory.ts'
import { requireReachable } from '../registrations/reachability.ts'
import { type RegistrationRow, registrationIdOf, registrationOf } from '../registrations/registrations.ts'
import { type Manager, ownManager, requireOwn } from './own-manager.ts'
import { notNotifiedWarning } from './registration-rules.ts'
import { reasonsAgainstLosingManager, reasonsAgainstUnregistering } from './unregister-rules.ts'

interface Input {
  readonly remoteExtId: string
  readonly name: string
  readonly isCluster: boolean
  readonly isRequestedByRemote: boolean
}

export const unregisterRemote = defineTask<Input>({
  name: 'platform.unregister-remote',
  pointOfNoReturn: 'trust revoked',
  steps: [
    { name: 'started', progress: 5, record: async () => undefined },
    {
      name: 'precheck',
      progress: 20,
      seconds: [2, 4],
      record: async (ctx, input) => {
        await requireRegistered(ctx.store, input.remoteExtId)
        await requireFree(ctx, input, ctx.taskExtId)
      },
    },
    {
      name: 'entities unconfigured',
      progress: 60,
      record: async (ctx, input) => {
        // Something may have changed since the previous step.
        await requireFree(ctx, input, ctx.taskExtId)
        if (!input.isCluster) {
          await ctx.store.remove(DomainManager, input.remoteExtId)
          return { keep: [] }
        }
        return { keep: await removeInventory(ctx.store, input.remoteExtId) }
      },
    },
    {
      name: 'trust revoked',
      progress: 80,
      seconds: [2, 4],
      run: revoke,
      record: async (ctx, { remoteExtId }, warning: string | null) => {
        await ctx.store.remove(Registration, registrationIdOf(remoteExtId))
        await removeAccount(ctx.store, remoteExtId)
        if (warning !== null) ctx.warn(warning)
      },
    },
    {
      name: 'completed',
      run: async (ctx, { remoteExtId }) => {
        ctx.services.authenticator.forget(accountIdOf(remoteExtId))
        ctx.services.access.changed()
      },
    },
  ],
  plan: planDeparture,
})

export async function unregister(
  ctx: WriteContext<Manager>,
  { extId, name: givenName }: ValueOf<typeof ClusterReference>,
): Promise<TaskStarted> {
  const manager = ctx.target
  requireOwn(manager, 'extId')
  await refuseOthers(ctx, extId)
  const registration = await requireRegistered(ctx.store, extId)
  const { remoteClusterDetails: details } = registration
  const name = details?.name ?? extId
  if (givenName !== undefined && givenName !== name) throw invalid('name', `expected "${name}", the name of ${extId}`)
  const input: Input = {
    remoteExtId: extId,
    name,
    isCluster: details?.clusterType === 'AOS',
    isRequestedByRemote: ctx.caller.extId === accountIdOf(extId),
  }
  if (!ctx.dryRun) {
    await requireFree(ctx, input)
    // The cluster must answer to take over its inventory.
    if (input.isCluster) requireReachable(ctx, { extId, name })
  }
  await ctx.store.touch(DomainManager, manager.extId)
  return ctx.startTask(unregisterRemote, input, {
    operation: input.isCluster ? 'UnregisterAOS' : 'UnregisterPC',
    description: `Unregister ${name}`,
    affected: [
      { extId, name, rel: registeredRel },
      { extId: manager.extId, name: manager.config.name, rel: registeredRel },
    ],
    ...(input.isCluster ? { clusterExtIds: [extId] } : {}),
    locks: [extId],
  })
}

/** A registered manager may unregister itself, but no other. */
async function refuseOthers(ctx: WriteContext, extId: string): Promise<void> {
  const registrations = await ctx.store.find(Registration)
  const asking = registrations.find((row) => accountIdOf(row.remoteClusterExtId as string) === ctx.caller.extId)
  if (asking === undefined || asking.remoteClusterExtId === extId) return
  const operation = ctx.operation.iamOperation
  throw new ApiError('ACCESS_DENIED', { operation, reason: ': a registered manager may unregister itself only' })
}

async function requireRegistered(store: StepContext['store'], extId: string): Promise<RegistrationRow> {
  const registration = await registrationOf(store, extId)
  if (registration === undefined) throw notFound(Registration, extId, 'extId')
  return registration
}

async function requireFree(ctx: Pick<StepContext, 'store'>, input: Input, ownTask?: string): Promise<void> {
  const reasons = await reasonsAgainst(ctx, input, ownTask)
  if (reasons.length > 0) throw inUse(input, reasons)
}

const reasonsAgainst = (
  { store }: Pick<StepContext, 'store'>,
  { isCluster, remoteExtId }: Input,
  ownTask: string | undefined,
): Promise<string[]> =>
  isCluster ? reasonsAgainstUnregistering(store, remoteExtId, ownTask) : reasonsAgainstLosingManager(store, remoteExtId)

const inUse = ({ name }: Input, reasons: readonly string[]): ApiError =>
  new ApiError('DOMAIN_MANAGER_IN_USE', { name, reasons: reasons.join('; ') })

async function revoke(ctx: StepContext, input: Input): Promise<string | null> {
  const registration = await registrationOf(ctx.store, input.remoteExtId)
  const { remoteManagers } = ctx.drivers
  const rows = ctx.outputs['entities unconfigured'] as readonly InventoryRow[]
  if (input.isCluster) await remoteManagers.keepInventory(input.remoteExtId, rows)
  if (registration === undefined || input.isRequestedByRemote) return null
  const place = { address: registration.address as string, certificate: registration.certificate as string }
  const key = ctx.secrets.open(Registration.kind, registration.extId, 'trustKey', registration.trustKey)
  try {
    await remoteManagers.revokeTrust(place, { key }, await ownManager(ctx.store))
    return null
  } catch (error) {
    if (!(error instanceof RemoteFault) || input.isCluster) throw error
    // The manager learns it from its own probes.
    return notNotifiedWarning(input.name, error)
  }
}

async function planDeparture(ctx: StepContext, input: Input): Promise<Plan> {
  const reasons = await reasonsAgainst(ctx, input, ctx.taskExtId)
  const problems = reasons.length === 0 ? [] : [inUse(input, reasons).appMessage]
  if (!input.isCluster)
    return { changes: [{ attribute: `registration of ${input.name}`, from: 'present', to: 'absent' }], problems }
  const counts = new Map<string, number>()
  for (const { part } of await rowsOfCluster(ctx.store, input.remoteExtId))
    counts.set(part.resource.kind, (counts.get(part.resource.kind) ?? 0) + 1)
  const cluster = await ctx.store.get(Cluster, input.remoteExtId)
  return {
    changes: [...counts].map(([kind, count]) => ({ attribute: kind, from: String(count), to: '0' })),
    warnings: associationsOf(cluster),
    problems,
  }
}

const associationsOf = (cluster: Cluster | undefined): string[] =>
  (cluster?.categories?.length ?? 0) === 0
    ? []
    : ['The cluster carries categories: associations of what leaves are not kept.']
