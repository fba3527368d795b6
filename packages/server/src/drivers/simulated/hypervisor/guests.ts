/** Source: behaviour vmm.md 3.1, 3.7. */
import { DriverError } from '../../../core/tasks/define-task.ts'
import type { Guests, GuestView, UnaskedState } from '../../hypervisor.ts'
import type { NetworkFabric } from '../../network-fabric.ts'
import { type BootTimes, phaseAt } from '../guest.ts'
import { fabricFacts } from '../network-fabric.ts'
import type { SimulatedWorld } from '../world.ts'
import type { GuestBoots } from './boots.ts'
import { AddressClashes } from './clashes.ts'
import { type DomainFact, diskFacts, hasFault, stallFacts, withNewTools } from './facts.ts'
import type { Freezing } from './freezing.ts'
import type { SimulatedHosts } from './hosts.ts'
import { isSeen, seenNic } from './nics.ts'
import { isPaused, stallSeconds } from './paused.ts'

const scriptMillis = 3000

interface GuestParts {
  readonly hosts: SimulatedHosts
  readonly boots: GuestBoots
  readonly isInstant: boolean
  readonly networkFabric: Pick<NetworkFabric, 'outsideAddress'>
}

export function createGuests(
  world: SimulatedWorld,
  { hosts, boots, isInstant, networkFabric }: GuestParts,
): Omit<Guests, keyof Freezing> {
  const { domains } = hosts
  const disks = diskFacts(world)
  const stalls = stallFacts(world)
  const view = viewing(world, { boots, isInstant, networkFabric })

  return {
    async endCustomization(vmExtId, isoDiskExtId) {
      const fact = domains.get(vmExtId)
      if (fact !== undefined) {
        const isoExtIds = fact.domain.isoExtIds.filter((extId) => extId !== isoDiskExtId)
        await domains.put(vmExtId, { ...fact, domain: { ...fact.domain, isoExtIds, hasPendingCustomization: false } })
      }
      await disks.remove(isoDiskExtId)
    },
    ...createTools(world, { hosts, boots, isInstant }),
    async unaskedStates() {
      const states = new Map<string, UnaskedState>()
      for (const [extId, fact] of domains.all()) {
        const state = unaskedState(fact, isPaused(world, fact))
        if (state === undefined) continue
        states.set(extId, {
          state,
          isCustomizationDone: boots.hasCustomized(fact),
        })
      }
      return states
    },
    watch: (changed) =>
      world.watch(['domains', 'storage.full', 'storage.stalls'], () => {
        changed()
        // Notify again when a stall is old enough to pause VMs.
        if (stalls.all().size > 0) world.clock.setTimer(1000 * stallSeconds + 1, changed)
      }),
    async acknowledge(vmExtId) {
      const fact = domains.get(vmExtId)
      if (fact?.haltedAt !== undefined) await domains.put(vmExtId, boots.off(fact))
      else if (fact?.restartedAt !== undefined) await domains.put(vmExtId, boots.settled(fact))
    },
    async observeGuests(vmExtIds) {
      const views = new Map<string, GuestView>()
      for (const extId of vmExtIds) {
        const fact = domains.get(extId)
        const isSeen = fact?.state === 'ON' && !isPaused(world, fact) && hosts.faultOf(fact.hostExtId).isDown !== true
        if (isSeen) views.set(extId, await view(fact))
      }
      return views
    },
  }
}

function viewing(
  world: SimulatedWorld,
  { boots, isInstant, networkFabric }: Omit<GuestParts, 'hosts'>,
): (fact: DomainFact) => Promise<GuestView> {
  const fabric = fabricFacts(world)
  const clashes = new AddressClashes(world, boots)

  async function learnedAddresses(fact: DomainFact): Promise<ReadonlyMap<string, readonly string[]>> {
    const { domain, nicChanges } = fact
    const fixed = boots.settingsOf(fact)?.addresses ?? {}
    const byTools = (boots.areToolsReachable(fact) ? domain.toolsAddresses : undefined) ?? {}
    const addresses = new Map<string, readonly string[]>()
    for (const defined of domain.nics) {
      const nic = isInstant ? defined : seenNic(defined, nicChanges?.[defined.extId], world.clock.now())
      if (nic?.isConnected !== true) continue
      // The VLAN on the hosts, not the configured one, decides which outside DHCP server answers.
      const tag = fabric.subnets.get(nic.subnetExtId ?? '')?.tag
      const vlan = nic.vlan && { ...nic.vlan, ...(tag === undefined ? {} : { tag }) }
      const set = byTools[nic.extId]
      if (set !== undefined) {
        addresses.set(nic.extId, set)
        continue
      }
      const address =
        fixed[nic.extId] ?? nic.address ?? (vlan && (await networkFabric.outsideAddress(vlan, nic.macAddress)))
      if (address === undefined) continue
      const isStatic = fixed[nic.extId] !== undefined
      if (!clashes.isClashing(fact, nic, address, isStatic)) addresses.set(nic.extId, [address])
    }
    return addresses
  }

  function isSettled({ nicChanges = {} }: DomainFact, { ends, toolsAt }: BootTimes, now: number): boolean {
    const isBooted = now >= Math.max(ends.customization, toolsAt)
    const areNicsSeen = Object.values(nicChanges).every((change) => isSeen(change, now))
    return isBooted && areNicsSeen && stallFacts(world).all().size === 0 && !clashes.mayChange()
  }

  return async (fact) => {
    const now = world.clock.now()
    const times = boots.timesOf(fact)
    const isNetworkUp = now >= times.ends.network
    return {
      phase: phaseAt(times, now),
      learnedAddresses: isNetworkUp ? await learnedAddresses(fact) : new Map(),
      areToolsReachable: boots.areToolsReachable(fact),
      system: boots.systemOf(fact),
      isCustomizationDone: boots.isCustomizationDone(fact),
      upSince: now >= times.ends.customization ? times.ends.customization : undefined,
      bootedAt: now >= times.ends.loader ? times.ends.loader : undefined,
      isSettled: isSettled(fact, times, now),
    }
  }
}

type Tools = Pick<Guests, 'copyTools' | 'installedSystem' | 'revertTools' | 'runPowerScript' | 'setUpTools'>

const createTools = (world: SimulatedWorld, { hosts, boots, isInstant }: Omit<GuestParts, 'networkFabric'>): Tools => ({
  async installedSystem(vmExtId) {
    const fact = hosts.domains.get(vmExtId)
    return fact && boots.systemOf(fact)
  },
  async copyTools(vmExtId) {
    const fact = hosts.domain(vmExtId)
    hosts.requireAnswer('copyTools', hosts.placesOf(fact))
    return hasFault(fact, 'LOGIN_REFUSED') ? 'refused' : 'copied'
  },
  async setUpTools(vmExtId, callKey) {
    const fact = hosts.domain(vmExtId)
    hosts.requireAnswer('setUpTools', hosts.placesOf(fact))
    const system = boots.systemOf(fact)
    if (fact.state === 'OFF' || system === undefined) throw DriverError.final('no guest runs that could have tools')
    if (fact.lastSetup !== callKey)
      await hosts.domains.put(vmExtId, { ...withNewTools(fact, world.clock.now()), lastSetup: callKey })
    return system
  },
  async revertTools(vmExtId) {
    const { toolsFrom: _, toolsBefore, ...fact } = hosts.domain(vmExtId)
    if (toolsBefore === undefined) return
    await hosts.domains.put(vmExtId, toolsBefore === null ? fact : { ...fact, toolsFrom: toolsBefore })
  },
  async runPowerScript(vmExtId) {
    const fact = hosts.domain(vmExtId)
    hosts.requireAnswer('runPowerScript', hosts.placesOf(fact))
    if (!isInstant) await world.clock.sleep(scriptMillis)
    return hasFault(fact, 'SCRIPT_FAILS') ? 'failed' : 'succeeded'
  },
})

function unaskedState(
  { haltedAt, heldSince, restartedAt }: DomainFact,
  isPaused: boolean,
): UnaskedState['state'] | undefined {
  if (haltedAt !== undefined) return 'OFF'
  if (heldSince !== undefined) return 'HELD'
  if (isPaused) return 'PAUSED'
  return restartedAt === undefined ? undefined : 'RESTARTED'
}
