/**
 * Simulated external management: `extern.vms`, `extern.faults` by cluster, `extern.clusters`; direct changes of these facts simulate
 * changes by others. Source: behaviour vmm.md 1.7, 3.1.
 */
import { DriverError } from '../../core/tasks/define-task.ts'
import type { ExternalHypervisor, PowerChange } from '../external-hypervisor.ts'
import type { ExternalMoves } from '../external-moves.ts'
import { type OutsideVmFact, runOf, type State, withPower } from './external-facts.ts'
import { createExternalGuests } from './external-guests.ts'
import { createExternalSnapshots } from './external-snapshots.ts'
import { maintenanceFacts } from './hardware.ts'
import { isDown } from './hardware-faults.ts'
import { createManagementExtensions, isVcenterLogin, vcenterFacts } from './management-extensions.ts'
import type { Collection, SimulatedWorld } from './world.ts'

export interface ManagementFault {
  readonly isAway: true
  /** The heartbeat has not noticed the fault yet. */
  readonly isUnnoticed?: true
}

const noAnswerSeconds = 30

const changes: Readonly<
  Record<PowerChange, { readonly from: readonly State[]; readonly to: State; readonly seconds: number }>
> = {
  GUEST_REBOOT: { from: ['ON'], to: 'ON', seconds: 20 },
  GUEST_SHUTDOWN: { from: ['ON'], to: 'OFF', seconds: 10 },
  OFF: { from: ['ON', 'SUSPENDED'], to: 'OFF', seconds: 2 },
  ON: { from: ['OFF', 'SUSPENDED'], to: 'ON', seconds: 5 },
  RESET: { from: ['ON'], to: 'ON', seconds: 5 },
  SUSPEND: { from: ['ON'], to: 'SUSPENDED', seconds: 8 },
}

export const outsideVms = (world: SimulatedWorld) => world.collection<OutsideVmFact>('extern.vms')

export function createExternalHypervisor(
  world: SimulatedWorld,
  settings: { readonly durations: 'instant' | 'natural' },
): ExternalHypervisor {
  const vms = outsideVms(world)
  const clusters = world.collection<object>('extern.clusters')
  const maintenance = maintenanceFacts(world)
  const faults = world.collection<ManagementFault>('extern.faults')
  const pass = async (seconds: number): Promise<void> => {
    if (settings.durations === 'natural') await world.clock.sleep(1000 * seconds)
  }

  const isConnected = (clusterExtId: string): boolean => {
    const fault = faults.get(clusterExtId)
    return fault === undefined || fault.isUnnoticed === true
  }
  const reach = async (clusterExtId: string): Promise<void> => {
    if (faults.get(clusterExtId) === undefined) return
    await pass(noAnswerSeconds)
    throw DriverError.final(`the management did not answer within ${noAnswerSeconds} s`)
  }
  /** @throws DriverError, final, when the VM is gone or its management does not answer */
  const reached = async (vmExtId: string): Promise<OutsideVmFact> => {
    const fact = vms.get(vmExtId)
    if (fact === undefined) throw DriverError.final('the VM is not there any more')
    await reach(fact.vm.cluster?.extId ?? '')
    return fact
  }

  return {
    ...createExternalGuests(world, { vms, isConnected, reached, isInstant: settings.durations === 'instant' }),
    ...createExternalMoves(world, { vms, isConnected, reached, pass }),
    ...createExternalSnapshots(world, { vms, reached, pass }),
    ...createManagementExtensions(world, reach),
    isConnected,
    async inventory() {
      const all = [...vms.all().values()].map(({ vm }) => vm)
      return [...clusters.all().keys()].map((clusterExtId) => {
        const isConnected = faults.get(clusterExtId) === undefined
        return {
          clusterExtId,
          isConnected,
          vms: isConnected ? all.filter((vm) => vm.cluster?.extId === clusterExtId) : [],
        }
      })
    },
    watch: (changed) => world.watch(['extern.vms', 'extern.clusters', 'extern.faults'], changed),
    async changePower(vmExtId, change, callKey) {
      const before = await reached(vmExtId)
      if (before.lastCall === callKey) return before.vm
      const { from, to, seconds } = changes[change]
      await pass(seconds)
      const fact = vms.get(vmExtId)
      if (fact === undefined) throw DriverError.final('the VM is not there any more')
      const state = fact.vm.powerState ?? 'OFF'
      if (!from.includes(state)) throw DriverError.final(`the VM is ${state} by now`)
      if (change === 'ON' && maintenance.get(fact.vm.host?.extId ?? '') !== undefined)
        throw DriverError.final('the host of the VM is in maintenance')
      const changed = { ...withPower(fact, to, change, world.clock.now()), lastCall: callKey }
      await vms.put(vmExtId, changed)
      return changed.vm
    },
    datastoreOf: (vmExtId) => vms.get(vmExtId)?.datastoreName,
    async runs(vmExtId) {
      const fact = vms.get(vmExtId)
      if (fact === undefined) return []
      return [...fact.past, ...(fact.now === undefined ? [] : [runOf(fact, fact.now, world.clock.now())])]
    },
  }
}

export function switchedOutside(world: SimulatedWorld, fact: OutsideVmFact, to: State): OutsideVmFact {
  if (fact.vm.powerState === to) return fact
  return withPower(fact, to, to === 'SUSPENDED' ? 'SUSPEND' : to === 'ON' ? 'ON' : 'OFF', world.clock.now())
}

interface Moving {
  readonly vms: Collection<OutsideVmFact>
  readonly isConnected: (clusterExtId: string) => boolean
  readonly reached: (vmExtId: string) => Promise<OutsideVmFact>
  readonly pass: (seconds: number) => Promise<void>
}

const bytesPerSecond = 1.2 * 1024 ** 3

function createExternalMoves(world: SimulatedWorld, { vms, isConnected, reached, pass }: Moving): ExternalMoves {
  return {
    async signIn(clusterExtId, { address, ...login }) {
      const isKnown = world.collection('extern.clusters').get(clusterExtId) !== undefined
      if (!isKnown || !isConnected(clusterExtId)) return 'silent'
      const vcenter = vcenterFacts(world).get(clusterExtId)
      if (vcenter === undefined) return 'accepted'
      if (vcenter.address !== address || vcenter.port !== login.port) return 'silent'
      return isVcenterLogin(clusterExtId, vcenter, login) ? 'accepted' : 'refused'
    },
    async moveVm(vmExtId, hostExtId) {
      const { vm } = await reached(vmExtId)
      if (vm.host?.extId === hostExtId) return
      await pass(2 + (vm.memorySizeBytes ?? 0) / bytesPerSecond)
      const fact = await reached(vmExtId)
      if (isDown(world, hostExtId)) throw DriverError.final('the host does not answer')
      const { now, past } = fact
      const at = world.clock.now()
      await vms.put(vmExtId, {
        ...fact,
        vm: { ...fact.vm, host: { extId: hostExtId } },
        ...(now && { past: [...past, runOf(fact, now, at)], now: { from: at, startedAt: now.startedAt } }),
      })
    },
  }
}
