/** The management of an ESX cluster moves the VMs of a host. Source: behaviour clustermgmt.md 1.4. */
import type { ValueOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import type { HostMaintenanceCommonSpec } from '@hyperplane/contract/clustermgmt/host-maintenance'
import { ApiError, invalid } from '../../../core/api-error.ts'
import { CancelAccepted, DriverError, defineTask, type ReadContext, type StepContext } from '../../context.ts'
import {
  type Evacuating,
  HostMaintenance,
  type HostOfCluster,
  type Repopulating,
  recordDeparture,
} from '../../scheduling/host-maintenance.ts'
import { memoryOf, usableMemoryBytes } from '../../scheduling/placement.ts'
import { hostsOf } from '../../storage-space/capacity.ts'
import { endEvacuation, enterController, entered, onUndone } from './enter.ts'
import { startController } from './exit.ts'
import { isTooLate, nameOfHost } from './plan.ts'
import { setState } from './states.ts'

type Vcenter = ValueOf<typeof HostMaintenanceCommonSpec>['vcenterInfo']

export type SignIn = 'accepted' | 'refused' | 'silent'

export const isEsx = (
  cluster: { readonly config?: { readonly hypervisorTypes?: readonly string[] } } | undefined,
): boolean => cluster?.config?.hypervisorTypes?.includes('ESX') === true

/** Before the transaction: the password is not kept. Undefined: the request needs no management. */
export async function signIn(ctx: ReadContext, clusterExtId: string, vcenter: Vcenter): Promise<SignIn | undefined> {
  if (vcenter === undefined || !isEsx(await ctx.store.get(Cluster, clusterExtId))) return undefined
  const { address, credentials } = vcenter
  const { username, password = '', port = 443 } = credentials
  const host = address.ipv4?.value ?? address.ipv6?.value ?? address.fqdn?.value ?? ''
  return ctx.drivers.externalHypervisor.signIn(clusterExtId, { address: host, port, username, password })
}

/** @throws ApiError 400, 409 unless the management accepted the credentials */
export function requireSignIn(vcenter: Vcenter, found: SignIn | undefined): void {
  if (vcenter === undefined) throw invalid('vcenterInfo', 'is required for hosts of ESX clusters')
  if (found === 'refused')
    throw invalid('vcenterInfo/credentials', 'expected those of the vCenter, which refuses these')
  if (found === 'accepted') return
  throw new ApiError('CONFLICT', {
    fault:
      'The vCenter of the cluster does not answer at vcenterInfo/address. Check the address, and that it is connected.',
  })
}

interface Move {
  readonly vmExtId: string
  readonly to: string
}

/** Smallest VMs first, each to the host with the most free memory. @throws ApiError VMM-40001 */
async function planMoves(ctx: StepContext, { hostExtId, clusterExtId }: Evacuating): Promise<readonly Move[]> {
  const room = await freeMemoryBytes(ctx, clusterExtId)
  room.delete(hostExtId)
  const moves: Move[] = []
  for (const vm of (await runningOn(ctx, clusterExtId)).filter(({ host }) => host?.extId === hostExtId)) {
    const size = vm.memorySizeBytes ?? 0
    const [to, free = 0] = [...room].sort(([, a], [, b]) => b - a)[0] ?? []
    if (to === undefined || free < size) {
      const reasons = `no host has room: ${size} bytes needed, ${Math.max(0, free)} free on the emptiest one`
      throw new ApiError('NO_HOST_FOR_VM', { name: vm.name ?? vm.extId, reasons })
    }
    room.set(to, free - size)
    moves.push({ vmExtId: vm.extId, to })
  }
  return moves
}

async function freeMemoryBytes({ drivers, store }: Pick<StepContext, 'drivers' | 'store'>, clusterExtId: string) {
  const open = (await hostsOf(store, clusterExtId)).filter(
    ({ extId, maintenanceState = 'normal' }) => maintenanceState === 'normal' && drivers.hardware.isHostUp(extId),
  )
  const room = new Map(open.map((host) => [host.extId, usableMemoryBytes(memoryOf(host))]))
  for (const { host, memorySizeBytes = 0 } of await runningOn({ drivers }, clusterExtId)) {
    const free = room.get(host?.extId ?? '')
    if (free !== undefined) room.set(host?.extId ?? '', free - memorySizeBytes)
  }
  return room
}

/** From the management: rows follow a moment later. @throws DriverError, final, when it is not connected */
async function runningOn({ drivers }: Pick<StepContext, 'drivers'>, clusterExtId: string) {
  const inventories = await drivers.externalHypervisor.inventory()
  const inventory = inventories.find((one) => one.clusterExtId === clusterExtId)
  if (inventory?.isConnected !== true) throw DriverError.final('the vCenter does not answer')
  return inventory.vms
    .filter(({ powerState }) => powerState === 'ON')
    .sort((a, b) => (a.memorySizeBytes ?? 0) - (b.memorySizeBytes ?? 0) || (a.extId < b.extId ? -1 : 1))
}

async function moveAll(ctx: StepContext, input: Evacuating): Promise<void> {
  const moves = ctx.outputs['plan'] as readonly Move[]
  for (const [index, { vmExtId, to }] of moves.entries()) {
    if (ctx.cancelRequested()) throw new CancelAccepted()
    if (isTooLate(ctx, 'mark unschedulable')) {
      const name = await nameOfHost(ctx.store, input.hostExtId)
      throw new ApiError('CONFLICT', { fault: `The host "${name}" was not empty after ${input.timeoutSeconds} s.` })
    }
    const vm = (await runningOn(ctx, input.clusterExtId)).find(({ extId }) => extId === vmExtId)
    // Its owner may have stopped or moved it; a crash may have interrupted this step after the move.
    if (vm === undefined || ![input.hostExtId, to].includes(vm.host?.extId ?? '')) continue
    await ctx.drivers.externalHypervisor.moveVm(vmExtId, to)
    await ctx.checkpoint(10 + (75 * (index + 1)) / moves.length, ({ store }) =>
      recordDeparture(store, { vmExtId, hostExtId: input.hostExtId }, 'movedVmExtIds'),
    )
  }
  // A VM may have been powered on, or moved to the host, since the plan was made.
  const left = (await runningOn(ctx, input.clusterExtId)).filter(({ host }) => host?.extId === input.hostExtId)
  if (left.length === 0) return
  const names = left.map(({ name, extId }) => `"${name ?? extId}"`).join(', ')
  throw new ApiError('CONFLICT', {
    fault: `These VMs are still on "${await nameOfHost(ctx.store, input.hostExtId)}": ${names}.`,
  })
}

async function rollBack(ctx: StepContext, input: Evacuating): Promise<void> {
  await endEvacuation(ctx, input)
  if (input.rollsBackOnFailure) await returnAll(ctx, input)
}

export const enterEsxMaintenance = defineTask<Evacuating>({
  name: 'clustermgmt.enter-esx-host-maintenance',
  cancelableUntil: 'move VMs',
  steps: [
    {
      name: 'mark unschedulable',
      progress: 5,
      record: async (ctx, { hostExtId, timeoutSeconds, mayShutDownVms }) => {
        await setState(ctx.store, hostExtId, 'entering_maintenance')
        if (mayShutDownVms) ctx.warn('shouldShutdownNonMigratableUvms was ignored: it is for native clusters only.')
        return { keep: { until: ctx.clock.now() + 1000 * timeoutSeconds } }
      },
      // Returns VMs of an earlier attempt, too, which this one continues.
      undo: rollBack,
    },
    {
      name: 'plan',
      progress: 10,
      run: planMoves,
    },
    { name: 'move VMs', progress: 85, run: moveAll },
    enterController,
    entered,
  ],
  onUndone,
})

export const exitEsxMaintenance = defineTask<Repopulating>({
  name: 'clustermgmt.exit-esx-host-maintenance',
  pointOfNoReturn: startController.name,
  steps: [
    startController,
    {
      name: 'schedulable',
      progress: 60,
      record: async (ctx, { hostExtId, timeoutSeconds }) => {
        await setState(ctx.store, hostExtId, 'normal')
        return { keep: { until: ctx.clock.now() + 1000 * timeoutSeconds } }
      },
    },
    {
      name: 'return VMs',
      run: (ctx, input) => returnAll(ctx, input, () => isTooLate(ctx, 'schedulable')),
      record: async (ctx, { hostExtId }, warnings: readonly string[]) => {
        for (const warning of warnings) ctx.warn(warning)
        await ctx.store.remove(HostMaintenance, hostExtId)
      },
    },
  ],
})

/** @returns a warning for each VM that stays elsewhere */
async function returnAll(ctx: StepContext, host: HostOfCluster, isOver = () => false): Promise<readonly string[]> {
  try {
    return await returnMoved(ctx, host, isOver)
  } catch (error) {
    if (!(error instanceof DriverError)) throw error
    return [`The VMs that were moved stay where they are: ${error.message}.`]
  }
}

async function returnMoved(ctx: StepContext, { hostExtId, clusterExtId }: HostOfCluster, isOver: () => boolean) {
  const { movedVmExtIds = [] } = (await ctx.store.get(HostMaintenance, hostExtId)) ?? {}
  const targets = new Map(((ctx.outputs['plan'] ?? []) as readonly Move[]).map(({ vmExtId, to }) => [vmExtId, to]))
  const movedVms = async () =>
    (await runningOn(ctx, clusterExtId)).filter(({ extId, host }) => {
      if (host === undefined || host.extId === hostExtId) return false
      // A rollback leaves VMs where their owners have migrated them.
      return targets.has(extId) ? host.extId === targets.get(extId) : movedVmExtIds.includes(extId)
    })
  const warnings: string[] = []
  for (const { extId } of await movedVms()) {
    // Owners may have changed VMs, or filled the host, while the others returned.
    const vm = (await movedVms()).find((other) => other.extId === extId)
    if (vm === undefined) continue
    const why = isOver() ? 'the time of the request is over' : await moveBack(ctx, vm, { hostExtId, clusterExtId })
    if (why !== undefined) warnings.push(`The VM "${vm.name ?? extId}" stays on its present host: ${why}.`)
  }
  return warnings
}

/** Moves the VM to the host. @returns why it could not */
async function moveBack(
  { drivers, store }: StepContext,
  { extId, memorySizeBytes = 0 }: { readonly extId: string; readonly memorySizeBytes?: number },
  { hostExtId, clusterExtId }: HostOfCluster,
): Promise<string | undefined> {
  const free = (await freeMemoryBytes({ drivers, store }, clusterExtId)).get(hostExtId) ?? 0
  if (free < memorySizeBytes) return 'its host has no room any more'
  try {
    await drivers.externalHypervisor.moveVm(extId, hostExtId)
    return undefined
  } catch (error) {
    if (!(error instanceof DriverError)) throw error
    return error.message
  }
}
