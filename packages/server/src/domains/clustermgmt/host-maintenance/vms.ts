/** Subtasks that move, stop and start VMs, a few at a time. Source: behaviour clustermgmt.md 1.4; vmm.md 3.2, 3.5. */
import { Task } from '@hyperplane/contract/platform/task'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import type { RecordContext, StepContext, TaskDefinition, TaskEnd } from '../../../core/tasks/define-task.ts'
import { begunSubtasks, inTurn } from '../../../core/tasks/in-turn.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import type { VmOfHost } from '../../scheduling/host-maintenance.ts'

export const operations = {
  leave: 'VmLiveMigrate',
  return: 'MigrateVmToHost',
  stop: 'ShutdownVm',
  stopAgent: 'PowerOffVm',
  start: 'PowerOnVm',
} as const

type Running = StepContext<Drivers>

interface Turn<I extends VmOfHost> {
  readonly operation: (typeof operations)[keyof typeof operations]
  readonly task: TaskDefinition<Drivers, I>
  readonly input: (vmExtId: string) => I
  readonly progress?: readonly [from: number, to: number]
  readonly isOver?: (ends: ReadonlyMap<string, TaskEnd>) => boolean
}

/** As many as migrate out of a host at once. */
const atOnce = 2

export const forEachVm = <I extends VmOfHost>(
  ctx: Running,
  vmExtIds: readonly string[],
  { operation, task, input, ...rest }: Turn<I>,
): Promise<ReadonlyMap<string, TaskEnd>> =>
  inTurn(ctx, vmExtIds, {
    ...rest,
    atOnce,
    operation,
    start: async (record, vmExtId) => {
      const vm = await record.store.get(Vm, vmExtId)
      return record.startTask(task, input(vmExtId), {
        operation,
        description: descriptions[operation],
        affected: [{ extId: vmExtId, rel: Vm.rel as string, ...(vm === undefined ? {} : { name: vm.name }) }],
        ...(vm?.cluster?.extId === undefined ? {} : { clusterExtIds: [vm.cluster.extId] }),
        parent: ctx.taskExtId,
        appName: 'vmm',
      })
    },
  })

const descriptions: Readonly<Record<Turn<VmOfHost>['operation'], string>> = {
  VmLiveMigrate: 'VM Live Migrate',
  MigrateVmToHost: 'Migrate VM to host',
  ShutdownVm: 'Shutdown VM',
  PowerOffVm: 'Power off VM',
  PowerOnVm: 'Power on VM',
}

/** Waits for subtasks that have begun; those that still wait for their VM do nothing once the evacuation has ended. */
export async function underWay(ctx: Running, ...of: readonly Turn<VmOfHost>['operation'][]): Promise<void> {
  for (const operation of of) {
    const running: string[] = []
    for (const extId of (await begunSubtasks(ctx, operation)).values())
      if (await hasBegun(ctx, extId)) running.push(extId)
    await ctx.untilEnded(running)
  }
}

async function hasBegun({ store }: Running, taskExtId: string): Promise<boolean> {
  return (await store.get(Task, taskExtId))?.status !== 'QUEUED'
}

/** Warns of VMs whose subtask did not succeed. */
export async function warnOfFailed(
  ctx: Pick<RecordContext<Drivers>, 'store' | 'warn'>,
  ends: ReadonlyMap<string, TaskEnd>,
  what: string,
): Promise<void> {
  for (const [vmExtId, { status, errorMessages }] of ends) {
    const vm = status === 'SUCCEEDED' ? undefined : await ctx.store.get(Vm, vmExtId)
    if (vm !== undefined) ctx.warn(`The VM "${vm.name}" ${what}: ${errorMessages[0]?.message ?? status}`)
  }
}
