/** migrateVmToHost. Source: behaviour vmm.md 1.1 (migrate-to-host), 3.5. */
import type { EntityOf, ValueOf } from '@hyperplane/contract'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import type { VmMigrateToHostParams } from '@hyperplane/contract/vmm/vm/actions'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError } from '../../../core/api-error.ts'
import type { TaskStarted } from '../../../core/handlers.ts'
import { rowWithId } from '../../../core/standard.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import type { Reader } from '../../../store/store.ts'
import { defineTask, type WriteContext } from '../../context.ts'
import { closedBecause } from '../../scheduling/host-state.ts'
import { releaseOtherReservations, reserveOn } from '../../scheduling/scheduler.ts'
import type { VmEntity } from '../../virtual-machines/entity.ts'
import { fault } from '../../virtual-machines/fault.ts'
import { admitVm, endUnchanged, type OfVm, requireVm, taskOf } from './admission.ts'
import { movedTo, moveStep, type OnHost, recordMove } from './migration.ts'

type Body = ValueOf<typeof VmMigrateToHostParams>

interface ToHost extends OfVm, OnHost {}

export const targetHostFaults = ({ host }: Body): ApiError[] =>
  host.extId === undefined ? [fault('host/extId', 'the id of a host', undefined)] : []

export async function migrateVmToHost(ctx: WriteContext<VmEntity>, { host }: Body): Promise<TaskStarted> {
  const vm = await admitVm(ctx, ctx.target, 'migrate-to-host')
  const input = { vmExtId: vm.extId, hostExtId: host.extId as string }
  if (ctx.services.runner.queueAhead(vm.extId) === 0) await requireMove(ctx, vm, input.hostExtId)
  return ctx.startTask(migrateToHost, input, taskOf('MigrateVmToHost', vm))
}

/** @throws ApiError 404; 409 when the VM cannot move, or not to this host */
async function requireMove(
  ctx: { readonly store: Reader; readonly drivers: Drivers },
  vm: VmEntity,
  hostExtId: string,
): Promise<EntityOf<typeof Host>> {
  const host = await rowWithId(ctx.store, Host, hostExtId, 'host/extId')
  const refuse = (why: string): never => {
    throw new ApiError('CONFLICT', {
      // Without its name: some roles migrate VMs but do not see hosts.
      fault: `The VM "${vm.name}" cannot be migrated to the host ${hostExtId}: ${why}.`,
    })
  }
  if (vm.isLiveMigrateCapable !== true) refuse('it is bound to its host (isLiveMigrateCapable)')
  if (host.cluster.uuid !== vm.cluster?.extId) refuse('the host belongs to another cluster; use migrate')
  if (hostExtId === vm.host?.extId) refuse('it runs there already')
  const closed = closedBecause(host, ctx.drivers.hardware.isHostUp(hostExtId))
  if (closed !== undefined) refuse(closed)
  return host
}

export const migrateToHost = defineTask<ToHost>({
  name: 'vmm.migrate-vm-to-host',
  cancelableUntil: 'move',
  steps: [
    {
      name: 'reserve',
      progress: 10,
      record: async (ctx, { vmExtId, hostExtId }): Promise<{ keep: OnHost }> => {
        const vm = await requireVm(ctx.store, vmExtId, 'migrate-to-host')
        await requireMove(ctx, vm, hostExtId)
        await reserveOn(ctx, vm, hostExtId)
        await ctx.store.observe(Vm, vmExtId, { migrationTaskExtId: ctx.taskExtId })
        return { keep: { hostExtId } }
      },
      unrecord: async (ctx, { vmExtId }) => {
        const vm = await ctx.store.get(Vm, vmExtId)
        if (vm !== undefined) await releaseOtherReservations(ctx.store, vm)
      },
    },
    moveStep('reserve', 95, 10),
    {
      name: 'store',
      record: async (ctx, input) => {
        const hostExtId = movedTo(ctx)
        if (hostExtId !== undefined) await recordMove(ctx, input.vmExtId, hostExtId)
        else await releaseOtherReservations(ctx.store, await requireVm(ctx.store, input.vmExtId))
        await unlock(ctx, input)
      },
    },
  ],
  onUndone: unlock,
})

async function unlock(ctx: Parameters<typeof endUnchanged>[0], input: OfVm): Promise<void> {
  if (!(await ctx.store.has(Vm, input.vmExtId))) return
  await ctx.store.observe(Vm, input.vmExtId, { migrationTaskExtId: undefined })
  await endUnchanged(ctx, input)
}
