/** Source: behaviour vmm.md 3.1, 3.4. */
import { isDeepStrictEqual } from 'node:util'
import { DriverError } from '../../../core/tasks/define-task.ts'
import type { Domain, Domains, GuestSignal, StoppedGuest } from '../../hypervisor.ts'
import { phaseAt } from '../guest.ts'
import type { SimulatedWorld } from '../world.ts'
import type { GuestBoots } from './boots.ts'
import { type DomainFact, halted, hasFault, holdFacts, stopped, withNewTools } from './facts.ts'
import type { SimulatedHosts } from './hosts.ts'
import { nicChangesOf } from './nics.ts'

const shutdownSeconds = [2, 20] as const
const patienceSeconds = 60

export interface DomainParts {
  readonly hosts: SimulatedHosts
  readonly boots: GuestBoots
  readonly isInstant: boolean
}

export function createDomains(world: SimulatedWorld, { hosts, boots, isInstant }: DomainParts): Domains {
  const { clock } = world
  const { domains } = hosts
  const holds = holdFacts(world)

  /** A running guest notices new NICs later, and other boot disks at its next start. */
  function redefined(fact: DomainFact, domain: Domain): DomainFact {
    const { nicChanges: _changes, bootedOs: _os, ...rest } = fact
    const nicChanges = nicChangesOf(fact, domain, clock.now())
    const next = { ...rest, domain, ...(Object.keys(nicChanges).length === 0 ? {} : { nicChanges }) }
    const running = boots.guestOf(boots.settled(fact))
    return boots.guestOf(next) === running ? next : { ...next, bootedOs: running ?? 'none' }
  }

  return {
    async defineVm(domain) {
      const before = domains.get(domain.extId)
      hosts.requireAnswer('defineVm', [domain.clusterExtId, ...hosts.placesOf(before)])
      const startsTools = before?.state === 'ON' && domain.hasGuestTools && !before.domain.hasGuestTools
      const isChanged = before?.state === 'ON' && !isDeepStrictEqual(before.domain, domain)
      const fact = isChanged ? redefined(before, domain) : ({ state: 'OFF', ...before, domain } as const)
      await domains.stage(domain.extId, startsTools ? withNewTools(fact, clock.now()) : fact)
    },
    async undefineVm(vmExtId) {
      hosts.requireAnswer('undefineVm', hosts.placesOf(domains.get(vmExtId)))
      if (domains.get(vmExtId)?.state === 'ON') throw DriverError.final('the domain runs')
      await domains.remove(vmExtId)
      if (holds.get(vmExtId) !== undefined) await holds.remove(vmExtId)
    },
    async startVm(vmExtId, hostExtId) {
      const fact = hosts.domain(vmExtId)
      hosts.requireAnswer('startVm', [...hosts.placesOf(fact), fact.state === 'ON' ? undefined : hostExtId])
      if (fact.state === 'ON') return
      hosts.requireOpen(hostExtId)
      hosts.requireDevices(fact.domain, hostExtId)
      hosts.requireFunctions(fact.domain, hostExtId)
      await domains.put(vmExtId, { ...stopped(fact), state: 'ON', hostExtId, startedAt: clock.now() })
    },
    async stopVm(vmExtId) {
      const fact = domains.get(vmExtId)
      if (fact === undefined) return { isCustomizationDone: true }
      if (fact.state === 'ON' || fact.heldSince !== undefined) {
        hosts.requireAnswer('stopVm', hosts.placesOf(fact))
        await domains.put(vmExtId, halted(fact, fact.heldSince ?? clock.now()))
      }
      return stoppedGuest(boots, hosts.domain(vmExtId))
    },
    ...createSignals(world, { hosts, boots, isInstant }),
    async fenceVm(vmExtId, hostExtId) {
      const fact = hosts.domain(vmExtId)
      hosts.requireAnswer('fenceVm', [fact.domain.clusterExtId])
      if (fact.fencedFrom === hostExtId) return { isCustomizationDone: !fact.domain.hasPendingCustomization }
      const { isDown, hasLostPower, since } = hosts.faultOf(hostExtId)
      if (isDown !== true) return undefined
      // A domain that its guest halted may still be recorded for this host.
      const endedAt = fact.haltedAt ?? fact.heldSince ?? (hasLostPower === true ? since : undefined)
      const hasRun = fact.state === 'ON' || fact.haltedAt !== undefined || fact.heldSince !== undefined
      const wasDone = hasRun ? boots.isCustomizationDone(fact, endedAt) : !fact.domain.hasPendingCustomization
      const domain = { ...fact.domain, hasPendingCustomization: !wasDone }
      await domains.put(vmExtId, { ...stopped(fact), domain, fencedFrom: hostExtId })
      return { isCustomizationDone: wasDone }
    },
  }
}

const stoppedGuest = (boots: GuestBoots, fact: DomainFact): StoppedGuest => ({
  isCustomizationDone: boots.hasCustomized(fact),
})

/** The power button, the reset button, and the guest's own commands. */
function createSignals(
  { clock }: SimulatedWorld,
  { hosts, boots, isInstant }: DomainParts,
): Pick<Domains, 'requestReboot' | 'requestShutdown' | 'resetVm'> {
  const { domains } = hosts

  async function restart(fact: DomainFact, callKey: string): Promise<void> {
    const { restartedAt, hungSince, bootedOs, toolsBefore: _, ...running } = fact
    const domain = { ...fact.domain, hasPendingCustomization: !boots.isCustomizationDone(fact) }
    await domains.put(domain.extId, { ...running, domain, lastReset: callKey, startedAt: clock.now() })
  }

  /** After the time that the guest takes, or that the host waits for it. */
  async function isObeyed(fact: DomainFact, through: GuestSignal): Promise<boolean> {
    const obeys =
      through === 'TOOLS'
        ? boots.areToolsReachable(fact)
        : phaseAt(boots.timesOf(fact), clock.now()) === 'running' &&
          fact.hungSince === undefined &&
          !(through === 'ACPI' && hasFault(fact, 'IGNORES_ACPI'))
    const [least, most] = obeys ? shutdownSeconds : [patienceSeconds, patienceSeconds]
    if (!isInstant) await clock.sleep(500 * (least + most))
    return obeys
  }

  return {
    async resetVm(vmExtId, callKey) {
      const fact = hosts.domain(vmExtId)
      hosts.requireAnswer('resetVm', hosts.placesOf(fact))
      if (fact.lastReset === callKey || fact.state === 'OFF') return
      await restart(fact, callKey)
    },
    async requestShutdown(vmExtId, through) {
      const fact = hosts.domain(vmExtId)
      if (fact.state !== 'OFF') {
        hosts.requireAnswer('requestShutdown', hosts.placesOf(fact))
        if (!(await isObeyed(fact, through))) return 'ignored'
        await domains.put(vmExtId, halted(hosts.domain(vmExtId), clock.now()))
      }
      return stoppedGuest(boots, hosts.domain(vmExtId))
    },
    async requestReboot(vmExtId, through, callKey) {
      const fact = hosts.domain(vmExtId)
      if (fact.lastReset === callKey) return 'done'
      hosts.requireAnswer('requestReboot', hosts.placesOf(fact))
      const isDone = fact.state === 'ON' && (await isObeyed(fact, through))
      const now = hosts.domain(vmExtId)
      if (!isDone || now.state === 'OFF') return 'ignored'
      await restart(now, callKey)
      return 'done'
    },
  }
}
