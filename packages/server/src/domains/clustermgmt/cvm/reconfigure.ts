/**
 * One after another, so that the others serve the storage. A failure restores its own controller VM and ends the roll; earlier ones stay
 * resized. Source: behaviour clustermgmt.md 1.6.
 */
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Cvm } from '@hyperplane/contract/clustermgmt/cvm'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { ApiError } from '../../../core/api-error.ts'
import { inTurn } from '../../../core/tasks/in-turn.ts'
import type { World } from '../../../core/world.ts'
import type { ControllerVmSize } from '../../../drivers/controller-vms.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import type { Reader } from '../../../store/store.ts'
import { CancelAccepted, defineTask, type RecordContext, type StepContext, taskAbout } from '../../context.ts'
import { checkCluster } from '../../registrations/reachability.ts'
import type { HostOfCluster } from '../../scheduling/host-maintenance.ts'
import { loadsIn } from '../../scheduling/scheduler.ts'
import { isInService, storageHostsOf } from '../../storage-space/capacity.ts'
import { currentFaultTolerance } from '../../storage-space/fault-tolerance.ts'
import { controllerVmId, controllerVmName } from './controller-vms.ts'

interface Resize extends HostOfCluster {
  readonly size: ControllerVmSize
}

interface Roll {
  readonly clusterExtId: string
  readonly changes: readonly Omit<Resize, 'clusterExtId'>[]
}

const operation = 'Reconfigure CVM'
const checked = 'check'

/** @throws ApiError 409 when running VMs would lose their disks with one controller VM */
export async function requireSpare(
  ctx: Pick<World<Drivers>, 'clock' | 'drivers'> & { readonly store: Reader },
  clusterExtId: string,
): Promise<void> {
  const cluster = await ctx.store.get(Cluster, clusterExtId)
  if (cluster === undefined) return
  const refuse = (host: string, reason: string): never => {
    throw new ApiError('CLUSTER_CANNOT_TOLERATE', { name: cluster.name, host, reason })
  }
  const hosts = await storageHostsOf(ctx.store, clusterExtId)
  const lost = hosts.find((host) => !isInService(host, ctx.drivers.hardware))
  if (lost !== undefined) refuse(lost.hostName, 'it is in maintenance or down')
  if ((await loadsIn(ctx.store, clusterExtId)).size === 0) return
  const [first] = hosts
  if (hosts.length === 1) refuse(first?.hostName ?? '', 'it has no other host for the storage of its running VMs')
  if ((await currentFaultTolerance(ctx, cluster, hosts)) === 0)
    refuse(first?.hostName ?? '', 'some data of its running VMs has no second copy')
}

export const resizeControllerVm = defineTask<Resize>({
  name: 'clustermgmt.resize-controller-vm',
  steps: [
    {
      name: checked,
      progress: 5,
      run: async (ctx, { clusterExtId, hostExtId }): Promise<ControllerVmSize> => {
        await requireSpare(ctx, clusterExtId)
        const { numVcpus, memorySizeBytes } = ctx.drivers.hardware.controllerVm(hostExtId)
        return { numVcpus, memorySizeBytes }
      },
    },
    {
      name: 'stop',
      progress: 15,
      seconds: [30, 60],
      run: (ctx, { clusterExtId, hostExtId }) => ctx.drivers.hardware.stopControllerVm(clusterExtId, hostExtId),
      undo: (ctx, { clusterExtId, hostExtId }) => ctx.drivers.hardware.startControllerVm(clusterExtId, hostExtId),
    },
    {
      name: 'resize',
      progress: 20,
      seconds: [10, 20],
      run: (ctx, { clusterExtId, hostExtId, size }) =>
        ctx.drivers.hardware.resizeControllerVm(clusterExtId, hostExtId, size),
      undo: (ctx, { clusterExtId, hostExtId }) =>
        ctx.drivers.hardware.resizeControllerVm(clusterExtId, hostExtId, ctx.outputs[checked] as ControllerVmSize),
    },
    {
      name: 'start',
      seconds: [260, 400],
      run: (ctx, { clusterExtId, hostExtId }) => ctx.drivers.hardware.startControllerVm(clusterExtId, hostExtId),
      undo: (ctx, { clusterExtId, hostExtId }) => ctx.drivers.hardware.stopControllerVm(clusterExtId, hostExtId),
      record: (ctx, { hostExtId, size }) => settle(ctx, hostExtId, size.memorySizeBytes),
    },
  ],
})

export const reconfigureControllerVms = defineTask<Roll>({
  name: 'clustermgmt.reconfigure-controller-vms',
  cancelableUntil: 'roll',
  steps: [
    checkCluster(({ clusterExtId }) => clusterExtId),
    {
      name: 'roll',
      run: roll,
      // No undo: each controller VM was resized or restored by its own subtask.
    },
  ],
  onUndone: async (ctx, { changes }) => {
    const resized: string[] = []
    for (const { hostExtId } of changes) {
      const host = await ctx.store.get(Host, hostExtId)
      if (host === undefined) continue
      if (host.nextControllerVmMemoryBytes === undefined) resized.push(controllerVmName(host))
      else await ctx.store.observe(Host, hostExtId, { nextControllerVmMemoryBytes: undefined })
    }
    if (resized.length > 0) ctx.warn(`These controller VMs keep their new size: ${resized.join(', ')}.`)
  },
})

/** After a cancel the present controller VM is finished. @throws ApiError when one could not be resized */
async function roll(ctx: StepContext, { clusterExtId, changes }: Roll): Promise<void> {
  const sizes = new Map(changes.map(({ hostExtId, size }) => [controllerVmId(hostExtId), { hostExtId, size }]))
  for (const [index, extId] of [...sizes.keys()].entries()) {
    if (ctx.cancelRequested()) throw new CancelAccepted()
    const share = 95 / sizes.size
    const ends = await inTurn(ctx, [extId], {
      atOnce: 1,
      operation,
      progress: [5 + share * index, 5 + share * (index + 1)],
      start: (record) => startResize(record, { clusterExtId, ...(sizes.get(extId) as Roll['changes'][number]) }),
    })
    const end = ends.get(extId)
    if (end?.status === 'SUCCEEDED') continue
    const name = await nameOf(ctx.store, sizes.get(extId)?.hostExtId as string)
    throw new ApiError(
      'CONFLICT',
      {
        fault: `The controller VM ${name} could not be resized and has its former size. Those after it were not touched.`,
      },
      { further: end?.errorMessages ?? [] },
    )
  }
}

async function startResize(ctx: RecordContext, change: Resize): Promise<{ readonly extId: string }> {
  const { hostExtId, clusterExtId } = change
  const controllerVm = { extId: controllerVmId(hostExtId), name: await nameOf(ctx.store, hostExtId) }
  const options = { ...taskAbout(operation, Cvm, controllerVm, clusterExtId), parent: ctx.taskExtId }
  return ctx.startTask(resizeControllerVm, change, options)
}

async function nameOf(store: Reader, hostExtId: string): Promise<string> {
  const host = await store.get(Host, hostExtId)
  return host === undefined ? hostExtId : controllerVmName(host)
}

/** The memory that VMs may not have is that of the new size. */
async function settle({ store }: RecordContext, hostExtId: string, controllerVmMemoryBytes: number) {
  await store.observe(Host, hostExtId, { controllerVmMemoryBytes, nextControllerVmMemoryBytes: undefined })
}
