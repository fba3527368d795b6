/** Admission to enter and to leave maintenance. Source: behaviour clustermgmt.md 1.4. */
import type { EntityOf, ValueOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import {
  type EnterHostMaintenanceSpec,
  type HostMaintenanceCommonSpec,
  hostMaintenanceOperations,
} from '@hyperplane/contract/clustermgmt/host-maintenance'
import { ApiError, invalid } from '../../../core/api-error.ts'
import type { TaskStarted } from '../../../core/handlers.ts'
import { implement, parentOf, taskAbout, type WriteContext } from '../../context.ts'
import { requireReachable } from '../../registrations/reachability.ts'
import { requireVcenter } from '../../registrations/vcenter.ts'
import { beginMaintenance, HostMaintenance } from '../../scheduling/host-maintenance.ts'
import { requireIdleTopology } from '../../scheduling/topology.ts'
import { isInService, storageHostsOf, storesData } from '../../storage-space/capacity.ts'
import { currentFaultTolerance } from '../../storage-space/fault-tolerance.ts'
import { clusterLosesHost, isLeaving } from '../../storage-space/leaving-hosts.ts'
import { TopologyLock } from '../../storage-space/topology-lock.ts'
import { enterMaintenance, evacuateHost } from './enter.ts'
import { enterEsxMaintenance, exitEsxMaintenance, isEsx, requireSignIn, type SignIn, signIn } from './esx.ts'
import { exitMaintenance, repopulateHost } from './exit.ts'
import { maintenanceRules } from './rules.ts'
import { setState } from './states.ts'

type Entering = ValueOf<typeof EnterHostMaintenanceSpec>
type Leaving = ValueOf<typeof HostMaintenanceCommonSpec>
type Context = WriteContext<Host, 'clusterExtId'>

export const hostMaintenance = implement(
  hostMaintenanceOperations,
  {
    enterHostMaintenance: (ctx, { body, prepared }) => enter(ctx, body, prepared as SignIn | undefined),
    exitHostMaintenance: (ctx, { body, prepared }) => exit(ctx, body, prepared as SignIn | undefined),
  },
  {
    rules: {
      enterHostMaintenance: ({ body }) => vcenterFaults(body),
      exitHostMaintenance: ({ body }) => vcenterFaults(body),
    },
    prepare: {
      enterHostMaintenance: (ctx, { path, body }) => signIn(ctx, path.clusterExtId, body.vcenterInfo),
      exitHostMaintenance: (ctx, { path, body }) => signIn(ctx, path.clusterExtId, body.vcenterInfo),
    },
    tasks: [enterMaintenance, exitMaintenance, enterEsxMaintenance, exitEsxMaintenance, evacuateHost, repopulateHost],
    records: [HostMaintenance, TopologyLock],
    invariants: maintenanceRules,
  },
)

const vcenterFaults = ({ vcenterInfo }: Leaving): ApiError[] =>
  vcenterInfo !== undefined && vcenterInfo.credentials.password === undefined
    ? [invalid('vcenterInfo/credentials/password', 'is required')]
    : []

async function enter(ctx: Context, body: Entering, signedIn: SignIn | undefined): Promise<TaskStarted> {
  const host = ctx.target
  await requireVcenter(ctx.store, host.cluster.uuid)
  const cluster = clusterOf(ctx, body, signedIn)
  await requireIdle(ctx, cluster)
  if (host.maintenanceState === 'in_maintenance')
    throw new ApiError('HOST_ALREADY_IN_MAINTENANCE', { name: host.hostName })
  await requireIdleTopology(ctx.store, cluster, { besideMaintenance: true })
  await requireTolerance(ctx, cluster)
  const task = await ctx.startTask(
    isEsx(cluster) ? enterEsxMaintenance : enterMaintenance,
    {
      hostExtId: host.extId,
      clusterExtId: cluster.extId,
      timeoutSeconds: body.timeoutSeconds ?? 7200,
      rollsBackOnFailure: body.shouldRollbackOnFailure !== false,
      mayShutDownVms: body.shouldShutdownNonMigratableUvms === true,
      hasUnusedVcenterInfo: !isEsx(cluster) && body.vcenterInfo !== undefined,
    },
    taskOf('Enter Host Maintenance', host),
  )
  await beginMaintenance(ctx.store, { hostExtId: host.extId, clusterExtId: cluster.extId }, task.extId)
  return task
}

async function exit(ctx: Context, body: Leaving, signedIn: SignIn | undefined): Promise<TaskStarted> {
  const host = ctx.target
  await requireVcenter(ctx.store, host.cluster.uuid)
  const cluster = clusterOf(ctx, body, signedIn)
  const maintenance = await requireIdle(ctx, cluster)
  if (maintenance === undefined) throw new ApiError('HOST_NOT_IN_MAINTENANCE', { name: host.hostName })
  const input = {
    hostExtId: host.extId,
    clusterExtId: cluster.extId,
    timeoutSeconds: body.timeoutSeconds ?? 7200,
    hasUnusedVcenterInfo: !isEsx(cluster) && body.vcenterInfo !== undefined,
  }
  const task = await ctx.startTask(
    isEsx(cluster) ? exitEsxMaintenance : exitMaintenance,
    input,
    taskOf('Exit Host Maintenance', host),
  )
  await ctx.store.update(HostMaintenance, host.extId, { taskExtId: task.extId, isEvacuating: false })
  await setState(ctx.store, host.extId, 'exiting_maintenance')
  return task
}

const taskOf = (operation: string, { extId, hostName: name, cluster }: Host) =>
  taskAbout(operation, Host, { extId, name }, cluster.uuid)

function clusterOf(ctx: Context, { vcenterInfo }: Leaving, signedIn: SignIn | undefined): Cluster {
  const cluster = parentOf(ctx, 'clusterExtId', Cluster)
  if (isEsx(cluster)) requireSignIn(vcenterInfo, signedIn)
  requireReachable(ctx, cluster)
  return cluster
}

/** @throws ApiError 409 when a task changes the host, or the host does not answer */
async function requireIdle(
  { store, target: host, drivers }: Context,
  cluster: Cluster,
): Promise<EntityOf<typeof HostMaintenance> | undefined> {
  const maintenance = await store.get(HostMaintenance, host.extId)
  if (maintenance?.taskExtId !== undefined)
    throw new ApiError('CLUSTER_BUSY', { name: cluster.name, taskExtId: maintenance.taskExtId })
  if (isLeaving(host)) throw await clusterLosesHost(store, cluster)
  if (!drivers.hardware.isHostUp(host.extId)) throw new ApiError('HOST_UNREACHABLE', { name: host.hostName })
  return maintenance
}

/** @throws ApiError 409 when the cluster is to keep all of its other hosts */
async function requireTolerance(ctx: Context, cluster: Cluster): Promise<void> {
  const host = ctx.target
  if (!storesData(host)) return
  const refuse = (reason: string): never => {
    throw new ApiError('CLUSTER_CANNOT_TOLERATE', { name: cluster.name, host: host.hostName, reason })
  }
  const entering = await ctx.store.findWhere(HostMaintenance, { clusterExtId: cluster.extId })
  const away = new Set(entering.map(({ extId }) => extId))
  const hosts = (await storageHostsOf(ctx.store, cluster.extId)).map((each): Host => {
    if (each.extId === host.extId) return { ...each, maintenanceState: 'normal' }
    return away.has(each.extId) ? { ...each, maintenanceState: 'entering_maintenance' } : each
  })
  if (hosts.length === 1) refuse('it has no other host')
  const others = hosts.filter(({ extId }) => extId !== host.extId)
  const lost = others.filter((each) => !isInService(each, ctx.drivers.hardware))
  if (lost.length === 0 || (await currentFaultTolerance(ctx, cluster, hosts)) > 0) return
  refuse(`${lost.map(({ hostName }) => hostName).join(', ')} is in maintenance or down`)
}
