/** The management of an external VM keeps the layers of its recovery points. Source: behaviour vmm.md 1.6, 1.7, 1.16. */

import { Category } from '@hyperplane/contract/platform/category'
import { VmRecoveryPoint } from '@hyperplane/contract/vmm/vm/recovery-point'
import { ApiError } from '../../../core/api-error.ts'
import { defined } from '../../../core/defined.ts'
import type { TaskStarted } from '../../../core/handlers.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import type { TakenSnapshot } from '../../../drivers/external-hypervisor.ts'
import type { Reader } from '../../../store/store.ts'
import { defineTask, type WriteContext } from '../../context.ts'
import { requireClusterReachable } from '../../registrations/reachability.ts'
import { idsOf } from '../../scheduling/policy-selection.ts'
import { requireShortQueue } from '../admission.ts'
import { type Point, requirePoint } from '../vm/recovery-points/captured.ts'
import {
  type Making,
  type NewPoint,
  pending,
  publish,
  requireFreezable,
  requireRoomForPoint,
  startMaking,
} from '../vm/recovery-points/new-point.ts'
import {
  affectedExternVm,
  connectedStates,
  type ExternVmEntity,
  nameOfExternVm,
  requireExternVm,
  requireStates,
  undoIfReached,
} from './admission.ts'

const operation = 'create-vm-recovery-point'

export async function createExternPoint(ctx: WriteContext, body: NewPoint): Promise<TaskStarted> {
  const vm = await requireExternVm(ctx.store, body.vmExtId)
  await requireClusterReachable(ctx, vm.cluster?.extId)
  requireStates(ctx, vm, operation, connectedStates)
  const machine = {
    extId: vm.extId,
    name: nameOfExternVm(vm),
    clusterExtId: vm.cluster?.extId as string,
    affected: affectedExternVm(vm),
  }
  await requireRoomForPoint(ctx, machine)
  if (requireShortQueue(ctx, vm.extId, nameOfExternVm(vm)) === 0) await requireTools(ctx, vm, body.recoveryPointType)
  return startMaking(ctx, body, machine, makeExternPoint)
}

/** @throws ApiError 409 when the guest of a running VM cannot be frozen */
const requireTools = (
  { drivers }: { readonly drivers: Drivers },
  vm: ExternVmEntity,
  type: Point['recoveryPointType'],
): Promise<void> =>
  requireFreezable(
    { ...vm, name: nameOfExternVm(vm) },
    type,
    vm.nutanixGuestTools,
    () => drivers.externalHypervisor.guestOf(vm.extId)?.areToolsReachable === true,
  )

export const makeExternPoint = defineTask<Making>({
  name: 'vmm.create-recovery-point-of-external-vm',
  cancelableUntil: 'snapshot',
  steps: [
    {
      name: 'check',
      progress: 5,
      record: async (ctx, input) => {
        const vm = await requireExternVm(ctx.store, input.vmExtId)
        requireStates(ctx, vm, operation, connectedStates)
        // Requests that were admitted before may have taken the last place.
        await requireRoomForPoint(ctx, { extId: vm.extId, name: nameOfExternVm(vm) })
        await requireTools(ctx, vm, (await pending(ctx.store, input)).recoveryPointType)
      },
      // No undo: the step only reads.
    },
    {
      name: 'snapshot',
      progress: 70,
      run: async (ctx, input) => {
        const { recoveryPointType, extId } = await pending(ctx.store, input)
        const isQuiesced = recoveryPointType === 'APPLICATION_CONSISTENT'
        return ctx.drivers.externalHypervisor.takeSnapshot(input.vmExtId, { extId, isQuiesced })
      },
      undo: (ctx, { vmExtId, pointExtId }) =>
        undoIfReached(() => ctx.drivers.externalHypervisor.removeSnapshot(vmExtId, pointExtId)),
    },
    {
      name: 'store',
      record: async (ctx, input) => {
        const vm = await requireExternVm(ctx.store, input.vmExtId)
        const taken = ctx.outputs['snapshot'] as TakenSnapshot
        await ctx.store.update(VmRecoveryPoint, input.pointExtId, await captureOf(ctx.store, vm, taken))
        await publish(ctx, input)
      },
    },
  ],
  onUndone: (ctx, { pointExtId }) => ctx.store.remove(VmRecoveryPoint, pointExtId),
})

async function captureOf(store: Reader, row: ExternVmEntity, { vm, layers }: TakenSnapshot): Promise<Partial<Point>> {
  const { categories, nutanixGuestTools } = row
  const existing = await store.getMany(Category, idsOf(categories))
  const containers = new Set((vm.disks ?? []).flatMap(({ backingInfo }) => backingInfo?.storageContainer?.extId ?? []))
  return {
    vm: shownVm({ ...row, ...vm }) as Point['vm'],
    externVm: { ...vm, ...defined({ nutanixGuestTools }) } as NonNullable<Point['externVm']>,
    diskRecoveryPoints: layers.map(({ diskExtId, layerExtId }) => ({ diskExtId, diskRecoveryPointExtId: layerExtId })),
    containerExtIds: [...containers],
    vmCategories: existing.map(({ key, value }) => `${key}/${value}`),
  }
}

function shownVm(vm: ExternVmEntity): object {
  const { extId, categories, cluster, description, memorySizeBytes, numCoresPerSocket, numCpus, powerState } = vm
  const numSockets = numCpus === undefined ? undefined : Math.max(1, Math.floor(numCpus / (numCoresPerSocket ?? 1)))
  return {
    extId,
    name: nameOfExternVm(vm),
    powerState: powerState === 'SUSPENDED' ? 'PAUSED' : powerState,
    ...defined({ categories, cluster, description, memorySizeBytes, numCoresPerSocket, numSockets }),
  }
}

export function isManagementConnected({ drivers }: { readonly drivers: Drivers }, point: Point): boolean {
  return point.externVm === undefined || drivers.externalHypervisor.isConnected(point.clusterExtId as string)
}

/** @throws ApiError 409 while the management is not connected */
export function requireManagement(ctx: { readonly drivers: Drivers }, point: Point, operation: string): void {
  if (isManagementConnected(ctx, point)) return
  const fault = `${operation}: the external management that keeps the recovery point "${point.name}" is not connected. Retry when it answers again.`
  throw new ApiError('CONFLICT', { fault })
}

export const removeExternPoint = defineTask<{ readonly pointExtId: string }>({
  name: 'vmm.delete-recovery-point-of-external-vm',
  steps: [
    {
      name: 'merge layers',
      progress: 90,
      run: async (ctx, { pointExtId }) => {
        const { vmExtId } = await requirePoint(ctx.store, pointExtId)
        await ctx.drivers.externalHypervisor.removeSnapshot(vmExtId, pointExtId)
      },
      isIrreversible: true,
    },
    { name: 'remove row', record: (ctx, { pointExtId }) => ctx.store.remove(VmRecoveryPoint, pointExtId) },
  ],
})
