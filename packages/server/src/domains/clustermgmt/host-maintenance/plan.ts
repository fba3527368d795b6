/** Which VMs leave a host, and how. Source: behaviour clustermgmt.md 1.4 (plan); vmm.md 3.2 (Maintenance). */

import { Host } from '@hyperplane/contract/clustermgmt/host'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError } from '../../../core/api-error.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import type { Reader } from '../../../store/store.ts'
import type { StepContext } from '../../context.ts'
import { HostAllocation } from '../../scheduling/host-allocation.ts'
import { admits, Choices, type HostCandidate } from '../../scheduling/placement.ts'
import { hostAffinityOf } from '../../scheduling/policy-selection.ts'
import { candidatesOf, demandOf, loadsIn } from '../../scheduling/scheduler.ts'
import { filesOf, hasPassthrough, isMovable, type VmEntity } from '../../virtual-machines/entity.ts'
import { hasVirtualFunction } from '../../virtual-machines/virtual-functions.ts'

interface Planning {
  readonly store: Reader
  readonly drivers: Pick<Drivers, 'hardware' | 'networkFabric'>
}

interface OfHost {
  readonly hostExtId: string
  readonly clusterExtId: string
}

/** Ids of VMs, in the order in which they leave. */
export interface Evacuation {
  readonly moved: readonly string[]
  readonly shutDown: readonly string[]
  readonly agents: readonly string[]
}

/** VMs that run on the host, or that start or arrive there. */
export async function vmsOn(store: Reader, hostExtId: string): Promise<VmEntity[]> {
  const held = await store.findWhere(HostAllocation, { hostExtId })
  return store.getMany(
    Vm,
    held.map(({ vmExtId }) => vmExtId),
  )
}

/** @throws ApiError naming the VMs that can neither move nor, without `mayShutDownVms`, be shut down */
export async function planEvacuation(ctx: Planning, at: OfHost, mayShutDownVms: boolean): Promise<Evacuation> {
  const vms = (await vmsOn(ctx.store, at.hostExtId)).sort(
    (a, b) => (a.memorySizeBytes ?? 0) - (b.memorySizeBytes ?? 0) || (a.extId < b.extId ? -1 : 1),
  )
  const agents = vms.filter(({ isAgentVm }) => isAgentVm === true)
  const others = (await candidatesOf(ctx, at.clusterExtId)).filter(({ extId }) => extId !== at.hostExtId)
  const immovable = new Map<VmEntity, string>()
  for (const vm of vms) {
    const why = vm.isAgentVm === true ? undefined : await reasonNotToMigrate(ctx, vm, at, others)
    if (why !== undefined) immovable.set(vm, why)
  }
  if (immovable.size > 0 && !mayShutDownVms) {
    const reasons = [...immovable].map(([{ name }, why]) => `"${name}" (${why})`).join(', ')
    throw new ApiError('CONFLICT', {
      fault: `These VMs cannot leave the host while they run: ${reasons}. Power them off, or send shouldShutdownNonMigratableUvms.`,
    })
  }
  const moved = vms.filter((vm) => !immovable.has(vm) && vm.isAgentVm !== true)
  await requireRoom(ctx, moved, at, others)
  const ids = (of: Iterable<VmEntity>): string[] => [...of].map(({ extId }) => extId)
  return { moved: ids(moved), shutDown: ids(immovable.keys()), agents: ids(agents) }
}

/** Why the VM cannot be migrated, however much room other hosts have. */
async function reasonNotToMigrate(
  ctx: Planning,
  vm: VmEntity,
  at: OfHost,
  others: readonly HostCandidate[],
): Promise<string | undefined> {
  if (hasPassthrough(vm)) return 'it has a GPU or PCIe device of the host'
  if (vm.nics?.some(hasVirtualFunction)) return 'it has a virtual function of a NIC of the host'
  if (!isMovable(vm)) return 'it is bound to the CPUs of the host'
  if (vm.powerState === 'PAUSED' || vm.powerState === 'UNDETERMINED') return `it is ${vm.powerState}`
  if (vm.pinnedHostExtId === at.hostExtId) return 'it is pinned to the host'
  const affinity = await hostAffinityOf(ctx.store, vm)
  if (affinity !== undefined && !others.some((host) => admits(host, affinity)))
    return `the host affinity policy "${affinity.policyName}" allows no other host`
  for (const { storageContainer } of filesOf(vm)) {
    const container = await ctx.store.get(StorageContainer, storageContainer?.extId ?? '')
    if (container?.affinityHostExtId === at.hostExtId)
      return `a disk is in the storage container "${container.name}", which is bound to the host`
  }
  return undefined
}

/** @throws ApiError VMM-40001 for each VM that no other host has room for */
async function requireRoom(
  ctx: Planning,
  vms: readonly VmEntity[],
  at: OfHost,
  others: readonly HostCandidate[],
): Promise<void> {
  const choices = new Choices(others, await loadsIn(ctx.store, at.clusterExtId))
  const errors: ApiError[] = []
  for (const vm of vms) {
    // The VM is on its way to another host already.
    if (vm.host !== undefined && vm.host.extId !== at.hostExtId) continue
    const demand = await demandOf(ctx.store, vm)
    const choice = choices.choose(demand)
    if ('hostExtId' in choice) choices.take(demand, choice.hostExtId)
    else
      errors.push(
        new ApiError('NO_HOST_FOR_VM', { name: vm.name, reasons: `no host has room: ${choice.reasons.join('; ')}` }),
      )
  }
  const [first, ...rest] = errors
  if (first === undefined) return
  const further = rest.slice(0, maximumErrors - 1).map(({ appMessage }) => appMessage)
  const { name, reasons } = first.appMessage.argumentsMap as { name: string; reasons: string }
  throw new ApiError('NO_HOST_FOR_VM', { name, reasons }, { further })
}

/** The most messages that a task may have. */
export const maximumErrors = 100

export const nameOfHost = async (store: Reader, hostExtId: string): Promise<string> =>
  (await store.get(Host, hostExtId))?.hostName ?? hostExtId

/** Whether the time of the request is over. @param step its output has the end of that time */
export const isTooLate = (
  { clock, outputs }: Pick<StepContext, 'clock' | 'outputs'>,
  step: 'mark unschedulable' | 'schedulable',
): boolean => clock.now() >= (outputs[step] as { readonly until: number }).until
