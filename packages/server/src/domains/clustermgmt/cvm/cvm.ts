/** Reads of controller VMs, and admission to change their size. Source: behaviour clustermgmt.md 1.6. */
import type { ValueOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Cvm, type CvmReconfigurationSpec, cvmOperations } from '@hyperplane/contract/clustermgmt/cvm'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { ApiError, invalid } from '../../../core/api-error.ts'
import { itemWithId, listOf } from '../../../core/standard.ts'
import type { ControllerVmSize } from '../../../drivers/controller-vms.ts'
import { refuseManager } from '../../containers/storage-containers.ts'
import { affected, implement, parentOf, type ReadContext, type WriteContext } from '../../context.ts'
import { requireReachable } from '../../registrations/reachability.ts'
import { usableMemoryBytes } from '../../scheduling/placement.ts'
import { loadsIn } from '../../scheduling/scheduler.ts'
import { lockTopology, requireIdleTopology } from '../../scheduling/topology.ts'
import { storageHostsOf } from '../../storage-space/capacity.ts'
import { smallestForDeduplication } from '../../storage-space/controller-vm-memory.ts'
import { controllerVmId, controllerVmName, controllerVmOf, type HostEntity } from './controller-vms.ts'
import { reconfigureControllerVms, requireSpare, resizeControllerVm } from './reconfigure.ts'

type Context = WriteContext<Cluster>

const GiB = 1024 ** 3

export const cvm = implement(
  cvmOperations,
  {
    listCvmsbyClusterId: async (ctx, request) => listOf(await all(ctx), request),
    getCvmById: async (ctx, { path }) => itemWithId(await all(ctx), Cvm, path.extId),
    reconfigureCvms: (ctx, { body }) => reconfigure(ctx, body),
  },
  {
    rules: { reconfigureCvms: ({ body }) => sizeFaults(body) },
    tasks: [reconfigureControllerVms, resizeControllerVm],
  },
)

async function all(ctx: ReadContext<unknown, 'clusterExtId'>) {
  const hosts = await storageHostsOf(ctx.store, parentOf(ctx, 'clusterExtId', Cluster).extId)
  return hosts.map((host) => controllerVmOf(ctx.drivers, host))
}

type Spec = ValueOf<typeof CvmReconfigurationSpec>

function sizeFaults({ numVcpus, memorySizeBytes }: Spec): ApiError[] {
  if (numVcpus === undefined && memorySizeBytes === undefined)
    return [invalid('$', 'expected numVcpus, memorySizeBytes or both; found neither')]
  if (memorySizeBytes === undefined || memorySizeBytes % GiB === 0) return []
  return [invalid('memorySizeBytes', `expected a multiple of ${GiB} (1 GiB), found ${memorySizeBytes}`)]
}

async function reconfigure(ctx: Context, spec: Spec) {
  const cluster = ctx.target
  refuseManager(cluster, 'reconfiguring controller VMs')
  requireReachable(ctx, cluster)
  await requireIdleTopology(ctx.store, cluster)
  const changing = (await storageHostsOf(ctx.store, cluster.extId)).flatMap((host) => {
    const before = ctx.drivers.hardware.controllerVm(host.extId)
    const size = {
      numVcpus: spec.numVcpus ?? before.numVcpus,
      memorySizeBytes: spec.memorySizeBytes ?? before.memorySizeBytes,
    }
    const isSame = size.numVcpus === before.numVcpus && size.memorySizeBytes === before.memorySizeBytes
    return isSame ? [] : [{ host, size }]
  })
  const hosts = changing.map(({ host }) => host)
  requireThreads(hosts, spec.numVcpus)
  await requireDeduplication(ctx, cluster.extId, spec.memorySizeBytes)
  await requireRoom(ctx, cluster.extId, changing)
  if (hosts.length > 0) await requireSpare(ctx, cluster.extId)
  // From now on no VM takes the memory that a controller VM is to get.
  for (const { host, size } of changing)
    await ctx.store.observe(Host, host.extId, { nextControllerVmMemoryBytes: size.memorySizeBytes })
  const changes = changing.map(({ host, size }) => ({ hostExtId: host.extId, size }))
  const task = await ctx.startTask(
    reconfigureControllerVms,
    { clusterExtId: cluster.extId, changes },
    {
      operation: 'Reconfigure CVMs',
      affected: hosts.map((host) => affected(Cvm, { extId: controllerVmId(host.extId), name: controllerVmName(host) })),
      clusterExtIds: [cluster.extId],
    },
  )
  await lockTopology(ctx.store, cluster.extId, task.extId)
  return task
}

/** @throws ApiError 400 naming the hosts with too few threads */
function requireThreads(hosts: readonly HostEntity[], numVcpus = 0): void {
  const small = hosts.filter(({ numberOfCpuThreads = 0 }) => numVcpus > numberOfCpuThreads / 2)
  if (small.length === 0) return
  const found = small.map(({ hostName, numberOfCpuThreads = 0 }) => `${hostName} (${numberOfCpuThreads})`).join(', ')
  throw invalid('numVcpus', `expected at most half the threads of each host, found ${numVcpus} for ${found}`)
}

/** @throws ApiError 409 naming the containers */
async function requireDeduplication({ store }: Context, clusterExtId: string, memorySizeBytes: number | undefined) {
  if (memorySizeBytes === undefined || memorySizeBytes >= smallestForDeduplication) return
  const containers = await store.findWhere(StorageContainer, { clusterExtId })
  const users = containers.filter(({ onDiskDedup }) => onDiskDedup === 'POST_PROCESS').map(({ name }) => `"${name}"`)
  if (users.length === 0) return
  throw new ApiError('CONFLICT', {
    fault: `Deduplication needs controller VMs of ${smallestForDeduplication} bytes. Switch it off in ${users.join(', ')} first.`,
  })
}

/** @throws ApiError 409 naming the hosts whose VMs have the memory */
async function requireRoom(
  { store }: Context,
  clusterExtId: string,
  changing: readonly { readonly host: HostEntity; readonly size: ControllerVmSize }[],
): Promise<void> {
  const loads = await loadsIn(store, clusterExtId)
  const full = changing.filter(({ host, size }) => {
    const { memorySizeBytes = 0 } = host
    const left = usableMemoryBytes({ memorySizeBytes, controllerVmMemoryBytes: size.memorySizeBytes })
    return left === 0 || left < (loads.get(host.extId)?.memoryBytes ?? 0)
  })
  if (full.length === 0) return
  throw new ApiError('NOT_ENOUGH_HOST_MEMORY', { hosts: full.map(({ host }) => host.hostName).join(', ') })
}
