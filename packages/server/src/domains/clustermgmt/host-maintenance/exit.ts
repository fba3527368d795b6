/**
 * The host takes VMs again, and its former ones return where there is room; the task only goes forward.
 * Source: behaviour clustermgmt.md 1.4 (exitHostMaintenance); vmm.md 3.2.
 */
import { defineTask, type Step, type StepContext, type TaskEnd } from '../../context.ts'
import { HostMaintenance, hostTasks, type Repopulating } from '../../scheduling/host-maintenance.ts'
import type { VmEntity } from '../../virtual-machines/entity.ts'
import { unusedVcenterInfo } from './enter.ts'
import { isTooLate } from './plan.ts'
import { setState } from './states.ts'
import { returnMoved, startStopped, warnOfFailed } from './vms.ts'

type Failed = readonly (readonly [vmExtId: string, end: TaskEnd])[]

const repopulationSteps: readonly Step<Repopulating>[] = [
  {
    name: 'schedulable',
    progress: 60,
    record: async (ctx, { hostExtId, timeoutSeconds, hasUnusedVcenterInfo }) => {
      await setState(ctx.store, hostExtId, 'normal')
      if (hasUnusedVcenterInfo) ctx.warn(unusedVcenterInfo)
      return { keep: { until: ctx.clock.now() + 1000 * timeoutSeconds } }
    },
  },
  {
    name: 'start agent VMs',
    progress: 65,
    run: async (ctx, input) => start(ctx, input, true),
    record: (ctx, _, failed: Failed) => warnOfFailed(ctx, new Map(failed), 'could not be started again'),
  },
  {
    name: 'return VMs',
    progress: 90,
    run: async (ctx, { hostExtId }) =>
      failedOf(await returnMoved(ctx, hostExtId, { progress: [65, 90], isOver: () => isTooLate(ctx, 'schedulable') })),
    record: (ctx, _, failed: Failed) => warnOfFailed(ctx, new Map(failed), 'stays on its present host'),
  },
  {
    name: 'start VMs',
    run: async (ctx, input) => start(ctx, input, false),
    record: async (ctx, { hostExtId, timeoutSeconds }, failed: Failed) => {
      await warnOfFailed(ctx, new Map(failed), 'could not be started again')
      if (isTooLate(ctx, 'schedulable'))
        ctx.warn(`Not all VMs were back after ${timeoutSeconds} s; the others stay where they are.`)
      await ctx.store.remove(HostMaintenance, hostExtId)
    },
  },
]

export const startController: Step<Repopulating> = {
  name: 'start controller VM',
  progress: 40,
  seconds: [30, 60],
  run: (ctx, { clusterExtId, hostExtId }) => ctx.drivers.hardware.leaveMaintenance(clusterExtId, hostExtId),
}

export const exitMaintenance = defineTask<Repopulating>({
  name: 'clustermgmt.exit-host-maintenance',
  pointOfNoReturn: startController.name,
  steps: [startController, ...repopulationSteps],
})

export const repopulateHost = defineTask<Repopulating>({
  name: hostTasks.repopulate.name,
  pointOfNoReturn: 'schedulable',
  steps: repopulationSteps,
})

const failedOf = (ends: ReadonlyMap<string, TaskEnd>): Failed =>
  [...ends].filter(([, { status }]) => status !== 'SUCCEEDED')

async function start(ctx: StepContext, { hostExtId }: Repopulating, areAgents: boolean): Promise<Failed> {
  const isWanted = ({ isAgentVm = false }: VmEntity): boolean => isAgentVm === areAgents
  return failedOf(await startStopped(ctx, hostExtId, isWanted, { isOver: () => isTooLate(ctx, 'schedulable') }))
}
