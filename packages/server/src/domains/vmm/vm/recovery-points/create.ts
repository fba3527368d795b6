/** createVmRecoveryPoint. Source: behaviour vmm.md 1.6, 3.4. */
import { VmRecoveryPoint } from '@hyperplane/contract/vmm/vm/recovery-point'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import type { ApiError } from '../../../../core/api-error.ts'
import type { RuleContext, TaskStarted } from '../../../../core/handlers.ts'
import { parseTime } from '../../../../core/time/clock.ts'
import type { Drivers } from '../../../../drivers/drivers.ts'
import { claimsOn } from '../../../block-volumes/attachments.ts'
import { defineTask, type WriteContext } from '../../../context.ts'
import { requireClusterReachable } from '../../../registrations/reachability.ts'
import type { VmEntity } from '../../../virtual-machines/entity.ts'
import { fault } from '../../../virtual-machines/fault.ts'
import { requireShortQueue } from '../../admission.ts'
import { createExternPoint } from '../../extern/recovery-points.ts'
import { affectedVm, requireNoMigration, requireVm } from '../admission.ts'
import { captureOf, type Point, snapshotsOf } from './captured.ts'
import {
  type Making,
  type NewPoint,
  pending,
  publish,
  requireFreezable,
  requireRoomForPoint,
  startMaking,
} from './new-point.ts'

export function pointFaults(body: NewPoint, { clock }: Pick<RuleContext, 'clock'>): ApiError[] {
  const { applicationConsistentProperties: properties, expirationTime, recoveryPointType } = body
  const isPast = expirationTime !== undefined && (parseTime(expirationTime) ?? 0) <= clock.now()
  return [
    ...(isPast ? [fault('expirationTime', 'a time in the future', expirationTime)] : []),
    ...(properties !== undefined && recoveryPointType !== 'APPLICATION_CONSISTENT'
      ? [fault('applicationConsistentProperties', 'none without recoveryPointType APPLICATION_CONSISTENT', properties)]
      : []),
  ]
}

export async function createPoint(ctx: WriteContext, body: NewPoint): Promise<TaskStarted> {
  const vm = await ctx.store.get(Vm, body.vmExtId)
  if (vm === undefined) return createExternPoint(ctx, body)
  await requireClusterReachable(ctx, vm.cluster?.extId)
  await requireRoomForPoint(ctx, vm)
  if (requireShortQueue(ctx, vm.extId, vm.name) === 0) await requireTools(ctx, vm, body.recoveryPointType)
  else requireNoMigration(vm)
  const { extId, name, cluster } = vm
  const machine = { extId, name, clusterExtId: cluster?.extId as string, affected: affectedVm(vm) }
  return startMaking(ctx, body, machine, makePoint)
}

/** @throws ApiError 409 when the guest of a running VM cannot be frozen */
const requireTools = (
  { drivers }: { readonly drivers: Drivers },
  vm: VmEntity,
  type: Point['recoveryPointType'],
): Promise<void> =>
  requireFreezable(
    vm,
    type,
    vm.guestTools,
    async () => (await drivers.hypervisor.observeGuests([vm.extId])).get(vm.extId)?.areToolsReachable === true,
  )

export const makePoint = defineTask<Making>({
  name: 'vmm.create-vm-recovery-point',
  cancelableUntil: 'snapshot',
  steps: [
    {
      name: 'capture',
      progress: 5,
      record: async (ctx, input) => {
        const vm = await requireVm(ctx.store, input.vmExtId)
        // Requests that were admitted before may have taken the last place.
        await requireRoomForPoint(ctx, vm)
        await requireTools(ctx, vm, (await pending(ctx.store, input)).recoveryPointType)
        await ctx.store.update(VmRecoveryPoint, input.pointExtId, await captureOf(ctx.store, vm, () => ctx.ids.uuid()))
        for (const { volumeGroupExtId } of await claimsOn(ctx.store, 'Vm', vm.extId))
          ctx.warn(`The volume group ${volumeGroupExtId} is attached to the VM and is not part of the recovery point.`)
      },
      // No undo: `onUndone` removes the pending row.
    },
    {
      name: 'quiesce',
      progress: 20,
      seconds: [1, 4],
      acts: async (ctx, input) =>
        (await pending(ctx.store, input)).recoveryPointType === 'APPLICATION_CONSISTENT' &&
        (await requireVm(ctx.store, input.vmExtId)).powerState === 'ON',
      run: (ctx, { vmExtId }) => ctx.drivers.hypervisor.freezeGuest(vmExtId),
      undo: (ctx, { vmExtId }) => ctx.drivers.hypervisor.thawGuest(vmExtId),
    },
    {
      name: 'snapshot',
      progress: 70,
      seconds: [0.1, 0.3],
      run: async (ctx, input) => ctx.drivers.hypervisor.snapshotDisks(snapshotsOf(await pending(ctx.store, input))),
      undo: async (ctx, input) => {
        for (const { layerExtId } of snapshotsOf(await pending(ctx.store, input)))
          await ctx.drivers.hypervisor.deleteDisk(layerExtId)
      },
    },
    {
      name: 'thaw',
      progress: 80,
      acts: async (ctx, input) => (await pending(ctx.store, input)).recoveryPointType === 'APPLICATION_CONSISTENT',
      run: (ctx, { vmExtId }) => ctx.drivers.hypervisor.thawGuest(vmExtId),
      // No undo: the guest goes on writing.
    },
    { name: 'store', record: publish },
  ],
  onUndone: (ctx, { pointExtId }) => ctx.store.remove(VmRecoveryPoint, pointExtId),
})
