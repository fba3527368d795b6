/** Rows and tasks of new recovery points, of native and external VMs. Source: behaviour vmm.md 1.6. */
import type { ValueOf } from '@hyperplane/contract'
import { type NewVmRecoveryPoint, VmRecoveryPoint } from '@hyperplane/contract/vmm/vm/recovery-point'
import { ApiError } from '../../../../core/api-error.ts'
import type { TaskStarted } from '../../../../core/handlers.ts'
import { pathOf } from '../../../../core/standard.ts'
import { created } from '../../../../core/updates.ts'
import { equals } from '../../../../odata/index.ts'
import type { Reader } from '../../../../store/store.ts'
import type { AffectedEntity, RecordContext, TaskDefinition, WriteContext } from '../../../context.ts'
import { limit, limitOf } from '../../../limits.ts'
import { describedOperation } from '../../admission.ts'
import type { Point } from './captured.ts'

export const maximumPoints = limit('recoveryPointsOfVm', 128)

export type NewPoint = ValueOf<typeof NewVmRecoveryPoint>

export interface Making {
  readonly vmExtId: string
  readonly pointExtId: string
}

/** The native or external VM that a recovery point is made of. */
interface Machine {
  readonly extId: string
  readonly name: string
  readonly clusterExtId: string
  readonly affected: AffectedEntity
}

export const affectedPoint = ({ extId, name }: Pick<Point, 'extId' | 'name'>): AffectedEntity => ({
  extId,
  ...(name === undefined ? {} : { name }),
  rel: VmRecoveryPoint.rel,
})

/** @throws ApiError 422 */
export async function requireRoomForPoint(
  ctx: { readonly store: Reader; readonly services: WriteContext['services'] },
  vm: Pick<Machine, 'extId' | 'name'>,
): Promise<void> {
  const filter = equals(pathOf(VmRecoveryPoint, 'vmExtId'), vm.extId)
  const found = (await ctx.store.count(VmRecoveryPoint, { filter })) + 1
  const maximum = limitOf(ctx, maximumPoints)
  if (found > maximum)
    throw new ApiError('VMM_LIMIT_EXCEEDED', { limit: `recovery points of VM ${vm.name}`, maximum, found })
}

/** Stores the pending row; the recovery point becomes visible when the task has succeeded. */
export async function startMaking(
  ctx: WriteContext,
  body: NewPoint,
  vm: Machine,
  task: TaskDefinition<Making>,
): Promise<TaskStarted> {
  const now = ctx.clock.iso()
  const asked = { name: `${vm.name}-${now.slice(0, 19)}Z`, ...body }
  const point = created(ctx, VmRecoveryPoint, asked, {
    extId: ctx.ids.uuid(),
    status: 'COMPLETE',
    creationTime: now,
    locationAgnosticId: ctx.ids.uuid(),
    consistencyGroupExtId: ctx.ids.uuid(),
    clusterExtId: vm.clusterExtId,
  })
  await ctx.store.insert(VmRecoveryPoint, point, { pending: true })
  const operation = 'CreateVmRecoveryPoint'
  const options = {
    operation,
    description: describedOperation(operation),
    affected: [affectedPoint(point), vm.affected],
    clusterExtIds: [vm.clusterExtId],
  }
  const started = await ctx.startTask(task, { pointExtId: point.extId, vmExtId: vm.extId }, options)
  return { ...started, created: point.extId }
}

interface FreezingTools {
  readonly isInstalled?: boolean | undefined
  readonly isEnabled?: boolean | undefined
  readonly capabilities?: readonly string[] | undefined
}

/** @throws ApiError 409 when the tools cannot freeze the guest */
export async function requireFreezable(
  { name, powerState }: { readonly name: string; readonly powerState?: string | undefined },
  type: Point['recoveryPointType'],
  tools: FreezingTools | undefined,
  isReachable: () => boolean | Promise<boolean>,
): Promise<void> {
  if (type !== 'APPLICATION_CONSISTENT' || powerState === 'OFF') return
  const refuse = (reason: string): never => {
    const operation = 'an application-consistent recovery point'
    throw new ApiError('GUEST_TOOLS_NOT_READY', { name, operation, reason })
  }
  if (tools?.isInstalled !== true || tools.isEnabled === false) refuse('they are not installed and enabled')
  if (tools?.capabilities?.includes('VSS_SNAPSHOT') !== true) refuse('the capability VSS_SNAPSHOT is off')
  if (!(await isReachable())) refuse('they cannot be reached')
}

export const pending = async (store: Reader, { pointExtId }: Making): Promise<Point> =>
  (await store.pending(VmRecoveryPoint, pointExtId)) as Point

export async function publish(ctx: RecordContext, { pointExtId }: Making): Promise<void> {
  await ctx.store.update(VmRecoveryPoint, pointExtId, { creationTime: ctx.clock.iso() })
  await ctx.store.publish(VmRecoveryPoint, pointExtId)
  ctx.complete([{ name: 'recoveryPointExtId', value: pointExtId }])
}
