/** Subtasks that move, stop and start VMs, a few at a time. Source: behaviour clustermgmt.md 1.4; vmm.md 3.2, 3.5. */
import { Task } from '@hyperplane/contract/platform/task'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { inTurn, startedSubtasks } from '../../../core/tasks/in-turn.ts'
import { affected, type RecordContext, type StepContext, type TaskDefinition, type TaskEnd } from '../../context.ts'
import { evacuation, HostMaintenance, type VmOfHost } from '../../scheduling/host-maintenance.ts'
import type { VmEntity } from '../../virtual-machines/entity.ts'

export const operations = {
  leave: 'VmLiveMigrate',
  return: 'MigrateVmToHost',
  stop: 'ShutdownVm',
  stopAgent: 'PowerOffVm',
  start: 'PowerOnVm',
} as const

type Ends = ReadonlyMap<string, TaskEnd>

interface Limits {
  readonly progress?: readonly [from: number, to: number]
  readonly isOver?: (ends: Ends) => boolean
}

interface VmSubtasks<I extends VmOfHost> extends Limits {
  readonly operation: (typeof operations)[keyof typeof operations]
  readonly task: TaskDefinition<I>
  readonly input: (vmExtId: string) => I
}

/** As many as migrate out of a host at once. */
const atOnce = 2

export const forEachVm = <I extends VmOfHost>(
  ctx: StepContext,
  vmExtIds: readonly string[],
  { operation, task, input, ...rest }: VmSubtasks<I>,
): Promise<Ends> =>
  inTurn(ctx, vmExtIds, {
    ...rest,
    atOnce,
    operation,
    start: async (record, vmExtId) => {
      const vm = await record.store.get(Vm, vmExtId)
      return record.startTask(task, input(vmExtId), {
        operation,
        description: descriptions[operation],
        affected: [affected(Vm, vm ?? { extId: vmExtId })],
        ...(vm?.cluster?.extId === undefined ? {} : { clusterExtIds: [vm.cluster.extId] }),
        parent: ctx.taskExtId,
      })
    },
  })

const descriptions: Readonly<Record<VmSubtasks<VmOfHost>['operation'], string>> = {
  VmLiveMigrate: 'VM Live Migrate',
  MigrateVmToHost: 'Migrate VM to host',
  ShutdownVm: 'Shutdown VM',
  PowerOffVm: 'Power off VM',
  PowerOnVm: 'Power on VM',
}

/** Brings the VMs back that were moved, and that run elsewhere. */
export async function returnMoved(ctx: StepContext, hostExtId: string, limits: Limits = {}): Promise<Ends> {
  const { movedVmExtIds = [] } = (await ctx.store.get(HostMaintenance, hostExtId)) ?? {}
  const away = (await ctx.store.getMany(Vm, movedVmExtIds)).filter(
    ({ host }) => host !== undefined && host.extId !== hostExtId,
  )
  return forEachVm(ctx, idsOf(away), {
    operation: operations.return,
    task: evacuation.return,
    input: (vmExtId) => ({ vmExtId, hostExtId }),
    ...limits,
  })
}

/** Only VMs that were shut down and have not been started since. */
export async function startStopped(
  ctx: StepContext,
  hostExtId: string,
  isWanted: (vm: VmEntity) => boolean = () => true,
  limits: Limits = {},
): Promise<Ends> {
  const { stoppedVmExtIds = [] } = (await ctx.store.get(HostMaintenance, hostExtId)) ?? {}
  const off = (await ctx.store.getMany(Vm, stoppedVmExtIds)).filter((vm) => vm.powerState === 'OFF' && isWanted(vm))
  return forEachVm(ctx, idsOf(off), {
    operation: operations.start,
    task: evacuation.start,
    input: (vmExtId) => ({ vmExtId, hostExtId }),
    ...limits,
  })
}

const idsOf = (vms: readonly VmEntity[]): readonly string[] => vms.map(({ extId }) => extId)

/** Waits for subtasks that have started; subtasks that wait for their VM do nothing after the end of the evacuation. */
export async function waitForStartedSubtasks(
  ctx: StepContext,
  ...of: readonly VmSubtasks<VmOfHost>['operation'][]
): Promise<void> {
  for (const operation of of) {
    const running: string[] = []
    for (const [vmExtId, task] of await startedSubtasks(ctx, operation))
      if (await hasStarted(ctx, vmExtId, task)) running.push(task)
    await ctx.untilEnded(running)
  }
}

/** A migration is marked on its VM together with its reservation, before its task shows that it runs. */
async function hasStarted({ store }: StepContext, vmExtId: string, taskExtId: string): Promise<boolean> {
  if ((await store.get(Vm, vmExtId))?.migrationTaskExtId === taskExtId) return true
  return (await store.get(Task, taskExtId))?.status !== 'QUEUED'
}

export async function warnOfFailed(
  ctx: Pick<RecordContext, 'store' | 'warn'>,
  ends: Ends,
  what: string,
): Promise<void> {
  for (const [vmExtId, { status, errorMessages }] of ends) {
    const vm = status === 'SUCCEEDED' ? undefined : await ctx.store.get(Vm, vmExtId)
    if (vm !== undefined) ctx.warn(`The VM "${vm.name}" ${what}: ${errorMessages[0]?.message ?? status}`)
  }
}
