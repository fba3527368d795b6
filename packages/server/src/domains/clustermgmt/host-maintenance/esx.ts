/**
 * Maintenance of a host of an ESX cluster: its management moves the VMs that run there. Source: behaviour clustermgmt.md 1.4.
 */
import type { ValueOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import type { HostMaintenanceCommonSpec } from '@hyperplane/contract/clustermgmt/host-maintenance'
import { ApiError, invalid } from '../../../core/api-error.ts'
import { CancelAccepted, DriverError, type StepContext } from '../../../core/tasks/define-task.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import { defineTask, type ReadContext } from '../../context.ts'
import { type Evacuating, HostMaintenance, noteLeft, type Repopulating } from '../../scheduling/host-maintenance.ts'
import { memoryOf, usableMemoryBytes } from '../../scheduling/placement.ts'
import { hostsOf } from '../../storage-space/capacity.ts'
import { enterController, entered, onUndone } from './enter.ts'
import { startController } from './exit.ts'
import { isTooLate, nameOf } from './plan.ts'
import { setState } from './states.ts'

type Running = StepContext<Drivers>
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

/** The smallest VMs leave first, each to the host with the most free memory. @throws ApiError VMM-40001 */
async function planMoves(ctx: Running, { hostExtId, clusterExtId }: Evacuating): Promise<readonly Move[]> {
  const room = await freeBytes(ctx, clusterExtId)
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

/** By host that takes VMs. */
async function freeBytes({ drivers, store }: Pick<Running, 'drivers' | 'store'>, clusterExtId: string) {
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

/** Asks the management: rows follow it a moment later. @throws DriverError, final, when it is not connected */
async function runningOn({ drivers }: Pick<Running, 'drivers'>, clusterExtId: string) {
  const inventories = await drivers.externalHypervisor.inventory()
  const inventory = inventories.find((one) => one.clusterExtId === clusterExtId)
  if (inventory?.isConnected !== true) throw new DriverError('the vCenter does not answer', { retryable: false })
  return inventory.vms
    .filter(({ powerState }) => powerState === 'ON')
    .sort((a, b) => (a.memorySizeBytes ?? 0) - (b.memorySizeBytes ?? 0) || (a.extId < b.extId ? -1 : 1))
}

async function moveAll(ctx: Running, input: Evacuating): Promise<void> {
  const moves = ctx.outputs['plan'] as readonly Move[]
  for (const [index, { vmExtId, to }] of moves.entries()) {
    if (ctx.cancelRequested()) throw new CancelAccepted()
    if (isTooLate(ctx, 'mark unschedulable')) {
      const name = await nameOf(ctx.store, input.hostExtId)
      throw new ApiError('CONFLICT', { fault: `The host "${name}" was not empty after ${input.timeoutSeconds} s.` })
    }
    const isRunning = (await runningOn(ctx, input.clusterExtId)).some(({ extId }) => extId === vmExtId)
    if (!isRunning) continue
    await ctx.drivers.externalHypervisor.moveVm(vmExtId, to)
    await ctx.checkpoint(10 + (75 * (index + 1)) / moves.length, ({ store }) =>
      noteLeft(store, { vmExtId, hostExtId: input.hostExtId }, 'movedVmExtIds'),
    )
  }
  // Somebody may have powered one on, or moved it there, since the plan was made.
  const left = (await runningOn(ctx, input.clusterExtId)).filter(({ host }) => host?.extId === input.hostExtId)
  if (left.length === 0) return
  const names = left.map(({ name, extId }) => `"${name ?? extId}"`).join(', ')
  throw new ApiError('CONFLICT', {
    fault: `These VMs are still on "${await nameOf(ctx.store, input.hostExtId)}": ${names}.`,
  })
}

/** VMs that the management cannot move back now stay where they are. */
async function moveBack(ctx: Running, { hostExtId, rollsBack }: Evacuating): Promise<void> {
  if (!rollsBack) return
  const { movedVmExtIds = [] } = (await ctx.store.get(HostMaintenance, hostExtId)) ?? {}
  const planned = ((ctx.outputs['plan'] ?? []) as readonly Move[]).map(({ vmExtId }) => vmExtId)
  for (const vmExtId of new Set([...movedVmExtIds, ...planned])) await tryMove(ctx, vmExtId, hostExtId)
}

async function tryMove({ drivers }: Running, vmExtId: string, hostExtId: string): Promise<string | undefined> {
  try {
    await drivers.externalHypervisor.moveVm(vmExtId, hostExtId)
    return undefined
  } catch (error) {
    if (!(error instanceof DriverError)) throw error
    return error.message
  }
}

export const enterEsxMaintenance = defineTask<Evacuating>({
  name: 'clustermgmt.enter-esx-host-maintenance',
  cancelableUntil: 'move VMs',
  steps: [
    {
      name: 'mark unschedulable',
      progress: 5,
      record: async (ctx, { hostExtId, timeoutSeconds, mayStop }) => {
        await setState(ctx.store, hostExtId, 'entering_maintenance')
        if (mayStop) ctx.warn('shouldShutdownNonMigratableUvms was ignored: it is for native clusters only.')
        return { keep: { until: ctx.clock.now() + 1000 * timeoutSeconds } }
      },
      // Returns VMs of an earlier attempt, too, which this one continues.
      undo: moveBack,
    },
    {
      name: 'plan',
      progress: 10,
      run: planMoves,
    },
    { name: 'move VMs', progress: 85, run: moveAll, undo: moveBack },
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
      progress: 100,
      run: returnAll,
      record: async (ctx, { hostExtId }, warnings: readonly string[]) => {
        for (const warning of warnings) ctx.warn(warning)
        await ctx.store.remove(HostMaintenance, hostExtId)
      },
    },
  ],
})

/** @returns a warning for each VM that stays elsewhere */
async function returnAll(ctx: Running, input: Repopulating): Promise<readonly string[]> {
  try {
    return await returnPresent(ctx, input)
  } catch (error) {
    if (!(error instanceof DriverError)) throw error
    return [`The VMs that were moved stay where they are: ${error.message}.`]
  }
}

async function returnPresent(ctx: Running, { hostExtId, clusterExtId }: Repopulating): Promise<readonly string[]> {
  const { movedVmExtIds = [] } = (await ctx.store.get(HostMaintenance, hostExtId)) ?? {}
  const warnings: string[] = []
  let free = (await freeBytes(ctx, clusterExtId)).get(hostExtId) ?? 0
  for (const vm of await runningOn(ctx, clusterExtId)) {
    if (!movedVmExtIds.includes(vm.extId) || vm.host?.extId === hostExtId) continue
    const size = vm.memorySizeBytes ?? 0
    const why = await reasonToStay(ctx, vm.extId, { hostExtId, hasRoom: size <= free })
    if (why === undefined) free -= size
    else warnings.push(`The VM "${vm.name ?? vm.extId}" stays on its present host: ${why}.`)
  }
  return warnings
}

async function reasonToStay(
  ctx: Running,
  vmExtId: string,
  { hostExtId, hasRoom }: { readonly hostExtId: string; readonly hasRoom: boolean },
): Promise<string | undefined> {
  if (isTooLate(ctx, 'schedulable')) return 'the time of the request is over'
  return hasRoom ? tryMove(ctx, vmExtId, hostExtId) : 'its host has no room any more'
}
