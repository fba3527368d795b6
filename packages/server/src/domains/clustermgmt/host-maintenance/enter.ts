/** Failure, time-out and cancel bring the VMs back by default. Source: behaviour clustermgmt.md 1.4 (enterHostMaintenance). */
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { ExternVm } from '@hyperplane/contract/vmm/extern/vm'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError } from '../../../core/api-error.ts'
import {
  affected,
  defineTask,
  type RecordContext,
  type Step,
  type StepContext,
  type TaskEnd,
  throwIfCanceled,
} from '../../context.ts'
import { type Evacuating, evacuation, HostMaintenance, hostTasks } from '../../scheduling/host-maintenance.ts'
import { type Evacuation, isTooLate, maximumErrors, nameOfHost, planEvacuation, vmsOn } from './plan.ts'
import { setState } from './states.ts'
import { forEachVm, operations, returnMoved, startStopped, waitForStartedSubtasks } from './vms.ts'

type Ends = ReadonlyMap<string, TaskEnd>

export const unusedVcenterInfo = 'vcenterInfo was ignored: it is for ESX clusters only.'

const evacuationSteps: readonly Step<Evacuating>[] = [
  {
    name: 'mark unschedulable',
    progress: 5,
    record: async (ctx, { hostExtId, timeoutSeconds, hasUnusedVcenterInfo }) => {
      await setState(ctx.store, hostExtId, 'entering_maintenance')
      if (hasUnusedVcenterInfo) ctx.warn(unusedVcenterInfo)
      return { keep: { until: ctx.clock.now() + 1000 * timeoutSeconds } }
    },
    // Starts and returns VMs of an earlier maintenance, too, which this one continues.
    undo: async (ctx, input) => {
      await endEvacuation(ctx, input)
      if (!input.rollsBackOnFailure) return
      await startStopped(ctx, input.hostExtId)
      await returnMoved(ctx, input.hostExtId)
    },
  },
  {
    name: 'plan',
    progress: 10,
    record: async (ctx, input) => ({ keep: await planEvacuation(ctx, input, input.mayShutDownVms) }),
  },
  {
    name: 'move VMs',
    progress: 85,
    run: moveAll,
    undo: async (ctx, input) => {
      await endEvacuation(ctx, input)
      await waitForStartedSubtasks(ctx, operations.leave)
    },
  },
  {
    name: 'shut down VMs',
    progress: 90,
    run: async (ctx, input) => {
      const { shutDown, agents } = planned(ctx)
      const isOver = (): boolean => isCanceledOrTooLate(ctx)
      for (const [vmExtIds, operation, asksGuest] of [
        [shutDown, operations.stop, true],
        [agents, operations.stopAgent, false],
      ] as const) {
        const ends = await forEachVm(ctx, vmExtIds, {
          operation,
          task: evacuation.stop,
          input: (vmExtId) => ({ vmExtId, hostExtId: input.hostExtId, asksGuest }),
          isOver,
        })
        await requireAllLeft(ctx, input, ends)
      }
      await requireEmpty(ctx, input)
    },
    undo: async (ctx, input) => {
      await endEvacuation(ctx, input)
      await waitForStartedSubtasks(ctx, operations.stop, operations.stopAgent)
    },
  },
]

export async function onUndone(ctx: RecordContext, input: Evacuating): Promise<void> {
  const host = await ctx.store.get(Host, input.hostExtId)
  const maintenance = await maintenanceOf(ctx, input)
  if (host === undefined || maintenance === undefined) return
  // Without a rollback the host stays as it is; a task that was cancelled before its first step left it in operation.
  const stays = !input.rollsBackOnFailure && host.maintenanceState === 'entering_maintenance'
  await report(ctx, input)
  if (stays) {
    await ctx.store.update(HostMaintenance, host.extId, { isEvacuating: false, taskExtId: undefined })
    return
  }
  await setState(ctx.store, host.extId, 'normal')
  await ctx.store.remove(HostMaintenance, host.extId)
}

export const enterController: Step<Evacuating> = {
  name: 'controller VM into maintenance',
  progress: 95,
  seconds: [30, 60],
  run: (ctx, { clusterExtId, hostExtId }) => ctx.drivers.hardware.enterMaintenance(clusterExtId, hostExtId),
  undo: (ctx, { clusterExtId, hostExtId }) => ctx.drivers.hardware.leaveMaintenance(clusterExtId, hostExtId),
}

export const entered: Step<Evacuating> = {
  name: 'entered',
  record: async (ctx, input) => {
    await setState(ctx.store, input.hostExtId, 'in_maintenance')
    await ctx.store.update(HostMaintenance, input.hostExtId, { isEvacuating: false, taskExtId: undefined })
    await report(ctx, input)
  },
}

export const enterMaintenance = defineTask<Evacuating>({
  name: 'clustermgmt.enter-host-maintenance',
  cancelableUntil: 'shut down VMs',
  steps: [...evacuationSteps, enterController, entered],
  onUndone,
})

/** For a task that changes the host's network: the maintenance lasts until `repopulateHost` has ended. */
export const evacuateHost = defineTask<Evacuating>({
  name: hostTasks.evacuate.name,
  steps: [
    ...evacuationSteps,
    {
      name: 'evacuated',
      record: async (ctx, input) => {
        await ctx.store.update(HostMaintenance, input.hostExtId, { isEvacuating: false })
        await report(ctx, input)
      },
    },
  ],
  onUndone,
})

const planned = (ctx: StepContext): Evacuation => ctx.outputs['plan'] as Evacuation
const maintenanceOf = (ctx: Pick<StepContext, 'store'>, { hostExtId }: Evacuating) =>
  ctx.store.get(HostMaintenance, hostExtId)

const isCanceledOrTooLate = (ctx: StepContext): boolean => ctx.cancelRequested() || isTooLate(ctx, 'mark unschedulable')
const hasFailed = (ends: Ends): boolean => [...ends.values()].some(({ status }) => status === 'FAILED')

/** Fails if a VM cannot leave; deleted and stopped ones are skipped. @throws as `requireAllLeft` */
async function moveAll(ctx: StepContext, input: Evacuating): Promise<void> {
  let staying = planned(ctx).moved
  while (staying.length > 0) {
    const ends = await forEachVm(ctx, staying, {
      operation: operations.leave,
      task: evacuation.leave,
      input: (vmExtId) => ({ vmExtId, hostExtId: input.hostExtId }),
      progress: [10, 85],
      isOver: (ended) => hasFailed(ended) || isCanceledOrTooLate(ctx),
    })
    await requireAllLeft(ctx, input, ends)
    staying = staying.filter((vmExtId) => !ends.has(vmExtId))
  }
}

/** @throws CancelAccepted; ApiError when the time is over, or a VM that could not leave is still there */
async function requireAllLeft(ctx: StepContext, { hostExtId, timeoutSeconds }: Evacuating, ends: Ends): Promise<void> {
  throwIfCanceled(ctx)
  const name = await nameOfHost(ctx.store, hostExtId)
  if (isTooLate(ctx, 'mark unschedulable'))
    throw new ApiError('CONFLICT', { fault: `The host "${name}" was not empty after ${timeoutSeconds} s.` })
  const staying: string[] = []
  const further: TaskEnd['errorMessages'][number][] = []
  for (const [vmExtId, { status, errorMessages }] of ends) {
    const vm = status === 'SUCCEEDED' ? undefined : await ctx.store.get(Vm, vmExtId)
    if (vm?.host?.extId !== hostExtId) continue
    staying.push(`"${vm.name}"`)
    further.push(...errorMessages)
  }
  if (staying.length === 0) return
  const fault = `These VMs could not leave "${name}": ${staying.join(', ')}.`
  throw new ApiError('CONFLICT', { fault }, { further: further.slice(0, maximumErrors - 1) })
}

/** @throws ApiError naming the remaining VMs */
async function requireEmpty(ctx: StepContext, { hostExtId }: Evacuating): Promise<void> {
  const left = await vmsOn(ctx.store, hostExtId)
  if (left.length === 0) return
  const names = left.map(({ name }) => `"${name}"`).join(', ')
  throw new ApiError('CONFLICT', {
    fault: `These VMs are still on "${await nameOfHost(ctx.store, hostExtId)}": ${names}.`,
  })
}

/** Subtasks that have not started do nothing from now on; after a rollback the host accepts VMs again. */
export async function endEvacuation(ctx: StepContext, input: Evacuating): Promise<void> {
  await ctx.checkpoint(undefined, async ({ store }) => {
    if ((await maintenanceOf({ store }, input)) === undefined) return
    await store.update(HostMaintenance, input.hostExtId, { isEvacuating: false })
    if (input.rollsBackOnFailure) await setState(store, input.hostExtId, 'normal')
  })
}

async function report(ctx: RecordContext, input: Evacuating): Promise<void> {
  const { movedVmExtIds = [], stoppedVmExtIds = [] } = (await maintenanceOf(ctx, input)) ?? {}
  for (const kind of [Vm, ExternVm])
    for (const vm of await ctx.store.getMany(kind, movedVmExtIds)) ctx.affect(affected(kind, vm))
  ctx.complete([
    { name: 'vmExtIds', value: movedVmExtIds },
    { name: 'shutdownVmExtIds', value: stoppedVmExtIds },
  ])
}
