/** createVmRecoveryPoint. Source: behaviour vmm.md 1.6, 3.4. */
import type { ValueOf } from '@hyperplane/contract'
import { type NewVmRecoveryPoint, VmRecoveryPoint } from '@hyperplane/contract/vmm/vm/recovery-point'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError } from '../../../../core/api-error.ts'
import type { RuleContext, TaskStarted } from '../../../../core/handlers.ts'
import { pathOf } from '../../../../core/standard.ts'
import type { AffectedEntity } from '../../../../core/tasks/define-task.ts'
import { parseTime } from '../../../../core/time/clock.ts'
import type { Drivers } from '../../../../drivers/drivers.ts'
import { equals } from '../../../../odata/index.ts'
import type { Reader } from '../../../../store/store.ts'
import { claimsOn } from '../../../block-volumes/attachments.ts'
import { defineTask, type WriteContext } from '../../../context.ts'
import { limit, limitOf } from '../../../limits.ts'
import { requireClusterReachable } from '../../../registrations/reachability.ts'
import type { VmEntity } from '../../../virtual-machines/entity.ts'
import { fault } from '../../../virtual-machines/fault.ts'
import { requireShortQueue } from '../../admission.ts'
import { affectedVm, type OfVm, present, requireNoMigration, taskOf } from '../admission.ts'
import { captureOf, type Point, snapshotsOf } from './captured.ts'

export const maximumPoints = limit('recoveryPointsOfVm', 128)

type Body = ValueOf<typeof NewVmRecoveryPoint>

interface Making extends OfVm {
  readonly pointExtId: string
}

export const affectedPoint = ({ extId, name }: Pick<Point, 'extId' | 'name'>): AffectedEntity => ({
  extId,
  ...(name === undefined ? {} : { name }),
  rel: VmRecoveryPoint.rel as string,
})

export function pointFaults(body: Body, { clock }: Pick<RuleContext, 'clock'>): ApiError[] {
  const { applicationConsistentProperties: properties, expirationTime, recoveryPointType } = body
  const isPast = expirationTime !== undefined && (parseTime(expirationTime) ?? 0) <= clock.now()
  return [
    ...(isPast ? [fault('expirationTime', 'a time in the future', expirationTime)] : []),
    ...(properties !== undefined && recoveryPointType !== 'APPLICATION_CONSISTENT'
      ? [fault('applicationConsistentProperties', 'none without recoveryPointType APPLICATION_CONSISTENT', properties)]
      : []),
  ]
}

/** Stores the pending row; the recovery point becomes visible when the task has succeeded. */
export async function createPoint(ctx: WriteContext, body: Body): Promise<TaskStarted> {
  const vm = (await ctx.store.get(Vm, body.vmExtId)) as VmEntity
  await requireClusterReachable(ctx, vm.cluster?.extId)
  await requirePlace(ctx, vm)
  if (requireShortQueue(ctx, vm.extId, vm.name) === 0) await requireTools(ctx, vm, body.recoveryPointType)
  else requireNoMigration(vm)
  const now = ctx.clock.iso()
  const { $objectType: _, ...requested } = body
  const point = {
    name: `${vm.name}-${now.slice(0, 19)}Z`,
    ...requested,
    extId: ctx.ids.uuid(),
    tenantId: ctx.tenantId,
    status: 'COMPLETE',
    creationTime: now,
    locationAgnosticId: ctx.ids.uuid(),
    consistencyGroupExtId: ctx.ids.uuid(),
    clusterExtId: vm.cluster?.extId as string,
  } as const
  await ctx.store.insert(VmRecoveryPoint, point, { pending: true })
  const affected = [affectedPoint(point), affectedVm(vm)]
  const options = { ...taskOf('CreateVmRecoveryPoint', vm), affected }
  const task = await ctx.startTask(makePoint, { pointExtId: point.extId, vmExtId: vm.extId }, options)
  return { ...task, created: point.extId }
}

async function requirePlace(
  ctx: { readonly store: Reader; readonly services: WriteContext['services'] },
  vm: VmEntity,
): Promise<void> {
  const filter = equals(pathOf(VmRecoveryPoint, 'vmExtId'), vm.extId)
  const found = (await ctx.store.count(VmRecoveryPoint, { filter })) + 1
  const maximum = limitOf(ctx, maximumPoints)
  if (found > maximum)
    throw new ApiError('VMM_LIMIT_EXCEEDED', { limit: `recovery points of VM ${vm.name}`, maximum, found })
}

/** @throws ApiError 409 when the guest of a running VM cannot be frozen */
async function requireTools(
  { drivers }: { readonly drivers: Drivers },
  vm: VmEntity,
  type: Point['recoveryPointType'],
): Promise<void> {
  if (type !== 'APPLICATION_CONSISTENT' || vm.powerState === 'OFF') return
  const { guestTools: tools } = vm
  const refuse = (reason: string): never => {
    throw new ApiError('GUEST_TOOLS_NOT_READY', {
      name: vm.name,
      operation: 'an application-consistent recovery point',
      reason,
    })
  }
  if (tools?.isInstalled !== true || tools.isEnabled === false) refuse('they are not installed and enabled')
  if (tools?.capabilities?.includes('VSS_SNAPSHOT') !== true) refuse('the capability VSS_SNAPSHOT is off')
  const view = (await drivers.hypervisor.observeGuests([vm.extId])).get(vm.extId)
  if (view?.areToolsReachable !== true) refuse('they cannot be reached')
}

const pending = async (store: Reader, { pointExtId }: Making): Promise<Point> =>
  (await store.pending(VmRecoveryPoint, pointExtId)) as Point

export const makePoint = defineTask<Making>({
  name: 'vmm.create-vm-recovery-point',
  cancelableUntil: 'snapshot',
  steps: [
    {
      name: 'capture',
      progress: 5,
      record: async (ctx, input) => {
        const vm = await present(ctx.store, input.vmExtId)
        // Requests that were admitted before may have taken the last place.
        await requirePlace(ctx, vm)
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
        (await present(ctx.store, input.vmExtId)).powerState === 'ON',
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
    {
      name: 'store',
      progress: 100,
      record: async (ctx, { pointExtId }) => {
        await ctx.store.update(VmRecoveryPoint, pointExtId, { creationTime: ctx.clock.iso() })
        await ctx.store.publish(VmRecoveryPoint, pointExtId)
        ctx.complete([{ name: 'recoveryPointExtId', value: pointExtId }])
      },
    },
  ],
  onUndone: (ctx, { pointExtId }) => ctx.store.remove(VmRecoveryPoint, pointExtId),
})
