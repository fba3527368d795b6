/**
 * Simulated hosts: domains and virtual disks are facts, guests a function of the time since their start.
 * Source: behaviour vmm.md 3.1, 3.3, 3.4, 3.7.
 */
import { DriverError } from '../../core/tasks/define-task.ts'
import type { Domain, GuestView, Hypervisor, UnaskedState, VirtualDisk } from '../hypervisor.ts'
import type { NetworkFabric } from '../network-fabric.ts'
import { type BootTimes, bootTimes, type GuestOs, phaseAt } from './guest.ts'
import type { ContainerFact, HardwareFault } from './hardware.ts'
import { fabricFacts } from './network-fabric.ts'
import type { Collection, SimulatedWorld } from './world.ts'

/** A domain as the hosts know it. */
export interface DomainFact {
  readonly domain: Domain
  readonly state: 'ON' | 'OFF'
  readonly hostExtId?: string
  /** Milliseconds since 1970: the last start or reset. */
  readonly startedAt?: number
  readonly lastReset?: string
  /** Its guest ended it then, and nobody knows; milliseconds since 1970. */
  readonly haltedAt?: number
  /** Its guest began anew then by itself, and nobody knows; milliseconds since 1970. */
  readonly restartedAt?: number
  /** It was taken from this host, which did not answer, and was not started since. */
  readonly fencedFrom?: string
  /** Its guest stands since then, until it begins anew; milliseconds since 1970. */
  readonly hungSince?: number
}

/** A storage container that answers no reads and writes. */
export interface StallFact {
  /** Milliseconds since 1970. */
  readonly since: number
}

export interface DiskFact {
  readonly containerExtId: string
  readonly sizeBytes: number
  /** The disk that this one is a layer over. */
  readonly parentExtId?: string
  readonly os?: GuestOs
  readonly createdAt: number
  /** Deleted, and kept for the layers over it. */
  readonly isHidden?: boolean
}

export const domainFacts = (world: SimulatedWorld): Collection<DomainFact> => world.collection('domains')
export const diskFacts = (world: SimulatedWorld): Collection<DiskFact> => world.collection('virtualDisks')

/** By container. */
export const stallFacts = (world: SimulatedWorld): Collection<StallFact> => world.collection('storage.stalls')

/** Containers that take no more bytes, by id. */
export const fullFacts = (world: SimulatedWorld): Collection<StallFact> => world.collection('storage.full')

/** The guest turns its machine off. */
export async function haltGuest(world: SimulatedWorld, vmExtId: string): Promise<void> {
  const fact = domainFacts(world).get(vmExtId)
  if (fact?.state !== 'ON') return
  const { startedAt = 0, restartedAt } = fact
  const boot = { startedAt, ...(restartedAt === undefined ? {} : { restartedAt }) }
  await domainFacts(world).put(vmExtId, { ...stopped(fact), ...boot, haltedAt: world.clock.now() })
}

/** Guests wait so long for their storage before the host pauses them. */
const stallSeconds = 30
const shutdownSeconds = [2, 20] as const
const patienceSeconds = 60

export interface HypervisorSettings {
  readonly durations: 'instant' | 'natural'
  readonly networkFabric: Pick<NetworkFabric, 'outsideAddress'>
}

export function createHypervisor(world: SimulatedWorld, settings: HypervisorSettings): Hypervisor {
  const domains = domainFacts(world)
  const disks = diskFacts(world)
  const stalls = stallFacts(world)
  const full = fullFacts(world)
  const faults = world.collection<HardwareFault>('hardware.faults')
  const containers = world.collection<ContainerFact>('hardware.containers')
  const fabric = fabricFacts(world)
  const isInstant = settings.durations === 'instant'

  const known = (vmExtId: string): DomainFact => {
    const fact = domains.get(vmExtId)
    if (fact === undefined) throw new DriverError(`no domain ${vmExtId}`, { retryable: false })
    return fact
  }

  /** @throws DriverError when one of these clusters and hosts does not answer */
  const ask = (call: string, places: readonly (string | undefined)[]): void => {
    const isSilent = places.some((extId) => extId !== undefined && faults.get(extId)?.isDown === true)
    if (isSilent) throw new DriverError(`${call}: no answer within 10 s`, { retryable: true })
  }
  /** Its cluster, and the host on which it runs. */
  const placesOf = (fact: DomainFact | undefined): readonly (string | undefined)[] => [
    fact?.domain.clusterExtId,
    fact?.state === 'ON' ? fact.hostExtId : undefined,
  ]
  const clusterOf = (containerExtId: string): string | undefined => containers.get(containerExtId)?.clusterExtId

  function bootOf(fact: DomainFact): BootTimes {
    const { domain, startedAt = 0 } = settled(fact)
    const seed = `${world.seed}/${domain.extId}/${startedAt}`
    return bootTimes({
      seed,
      startedAt,
      os: guestOf(domain, disks),
      hasPendingCustomization: domain.hasPendingCustomization,
      isInstant,
    })
  }

  /** A guest that began anew by itself, as after any other start. What one boot ran, the next does not run again. */
  function settled(fact: DomainFact): DomainFact {
    const { restartedAt, ...before } = fact
    if (restartedAt === undefined) return fact
    const domain = { ...fact.domain, hasPendingCustomization: !isCustomizationDone(before, restartedAt) }
    return { ...before, domain, startedAt: restartedAt }
  }

  const isCustomizationDone = (fact: DomainFact, at = world.clock.now()): boolean =>
    !settled(fact).domain.hasPendingCustomization || at >= bootOf(fact).ends.customization

  async function learned(domain: Domain): Promise<ReadonlyMap<string, readonly string[]>> {
    const addresses = new Map<string, readonly string[]>()
    for (const nic of domain.nics) {
      if (!nic.isConnected) continue
      // Who answers there is who is on the VLAN that the hosts were really given.
      const tag = fabric.subnets.get(nic.subnetExtId ?? '')?.tag
      const vlan = nic.vlan && { ...nic.vlan, ...(tag === undefined ? {} : { tag }) }
      const address = nic.address ?? (vlan && (await settings.networkFabric.outsideAddress(vlan, nic.macAddress)))
      if (address !== undefined) addresses.set(nic.extId, [address])
    }
    return addresses
  }

  async function view(fact: DomainFact): Promise<GuestView> {
    const now = world.clock.now()
    const times = bootOf(fact)
    const isNetworkUp = now >= times.ends.network
    return {
      phase: phaseAt(times, now),
      learnedAddresses: isNetworkUp ? await learned(fact.domain) : new Map(),
      areToolsReachable: fact.domain.hasGuestTools && fact.hungSince === undefined && now >= times.toolsAt,
      isCustomizationDone: isCustomizationDone(fact),
      upSince: now >= times.ends.customization ? times.ends.customization : undefined,
      bootedAt: now >= times.ends.loader ? times.ends.loader : undefined,
    }
  }

  function isPaused({ state, domain }: DomainFact): boolean {
    if (state === 'OFF' || stalls.all().size + full.all().size === 0) return false
    return domain.diskExtIds.some((extId) => {
      const containerExtId = disks.get(extId)?.containerExtId ?? ''
      const stall = stalls.get(containerExtId)
      const isStalled = stall !== undefined && world.clock.now() - stall.since > 1000 * stallSeconds
      return isStalled || full.get(containerExtId) !== undefined
    })
  }

  /** Deleted layers go when nothing is over them any more. */
  async function sweep(diskExtId: string): Promise<void> {
    const fact = disks.get(diskExtId)
    if (fact?.isHidden !== true) return
    if ([...disks.all().values()].some((other) => other.parentExtId === diskExtId)) return
    await disks.remove(diskExtId)
    if (fact.parentExtId !== undefined) await sweep(fact.parentExtId)
  }

  return {
    async createDisk(disk) {
      if (disks.get(disk.extId) !== undefined) return
      ask('createDisk', [clusterOf(disk.containerExtId)])
      await disks.stage(disk.extId, diskFactOf(disk, disks, world.clock.now()))
    },
    async deleteDisk(diskExtId) {
      const fact = disks.get(diskExtId)
      if (fact === undefined) return
      ask('deleteDisk', [clusterOf(fact.containerExtId)])
      if (fact.isHidden !== true) await disks.put(diskExtId, { ...fact, isHidden: true })
      await sweep(diskExtId)
    },
    async defineVm(domain) {
      ask('defineVm', [domain.clusterExtId, ...placesOf(domains.get(domain.extId))])
      await domains.stage(domain.extId, { state: 'OFF', ...domains.get(domain.extId), domain })
    },
    async undefineVm(vmExtId) {
      ask('undefineVm', placesOf(domains.get(vmExtId)))
      if (domains.get(vmExtId)?.state === 'ON') throw new DriverError('the domain runs', { retryable: false })
      await domains.remove(vmExtId)
    },
    async startVm(vmExtId, hostExtId) {
      const fact = known(vmExtId)
      ask('startVm', [...placesOf(fact), fact.state === 'ON' ? undefined : hostExtId])
      if (fact.state === 'ON') return
      await domains.put(vmExtId, { ...stopped(fact), state: 'ON', hostExtId, startedAt: world.clock.now() })
    },
    async stopVm(vmExtId) {
      const fact = domains.get(vmExtId)
      if (fact === undefined || (fact.state === 'OFF' && fact.haltedAt === undefined)) return
      ask('stopVm', placesOf(fact))
      await domains.put(vmExtId, stopped(fact))
    },
    async resetVm(vmExtId, callKey) {
      const fact = known(vmExtId)
      ask('resetVm', placesOf(fact))
      if (fact.lastReset === callKey || fact.state === 'OFF') return
      const { restartedAt, hungSince, ...running } = fact
      const domain = { ...fact.domain, hasPendingCustomization: !isCustomizationDone(fact) }
      await domains.put(vmExtId, { ...running, domain, lastReset: callKey, startedAt: world.clock.now() })
    },
    async requestShutdown(vmExtId) {
      const fact = known(vmExtId)
      if (fact.state === 'OFF') return 'down'
      ask('requestShutdown', placesOf(fact))
      const hasBooted = phaseAt(bootOf(fact), world.clock.now()) === 'running'
      const obeys = hasBooted && fact.hungSince === undefined
      const [least, most] = obeys ? shutdownSeconds : [patienceSeconds, patienceSeconds]
      if (!isInstant) await world.clock.sleep(500 * (least + most))
      if (!obeys) return 'ignored'
      await domains.put(vmExtId, stopped(known(vmExtId)))
      return 'down'
    },
    async fenceVm(vmExtId, hostExtId) {
      const fact = known(vmExtId)
      ask('fenceVm', [fact.domain.clusterExtId])
      if (fact.fencedFrom === hostExtId) return { isCustomizationDone: !fact.domain.hasPendingCustomization }
      const { isDown, hasLostPower, since } = faults.get(hostExtId) ?? {}
      if (isDown !== true) return undefined
      // One whose guest halted before, unseen, was on this host as well.
      const endedAt = fact.haltedAt ?? (hasLostPower === true ? since : undefined)
      const hasRun = fact.state === 'ON' || fact.haltedAt !== undefined
      const wasDone = hasRun ? isCustomizationDone(fact, endedAt) : !fact.domain.hasPendingCustomization
      const domain = { ...fact.domain, hasPendingCustomization: !wasDone }
      await domains.put(vmExtId, { ...stopped(fact), domain, fencedFrom: hostExtId })
      return { isCustomizationDone: wasDone }
    },
    async migrateVm(vmExtId, toHostExtId) {
      const fact = known(vmExtId)
      if (fact.state === 'OFF' || fact.hostExtId === toHostExtId) return
      ask('migrateVm', [...placesOf(fact), toHostExtId])
      await domains.put(vmExtId, { ...fact, hostExtId: toHostExtId })
    },
    async endCustomization(vmExtId, isoDiskExtId) {
      const fact = domains.get(vmExtId)
      if (fact !== undefined) {
        const isoExtIds = fact.domain.isoExtIds.filter((extId) => extId !== isoDiskExtId)
        await domains.put(vmExtId, { ...fact, domain: { ...fact.domain, isoExtIds, hasPendingCustomization: false } })
      }
      await disks.remove(isoDiskExtId)
    },
    async unaskedStates() {
      const states = new Map<string, UnaskedState>()
      for (const [extId, fact] of domains.all()) {
        const state = unaskedState(fact, isPaused(fact))
        if (state !== undefined)
          states.set(extId, { state, isCustomizationDone: isCustomizationDone(fact, fact.haltedAt) })
      }
      return states
    },
    watch: (changed) =>
      world.watch(['domains', 'storage.full', 'storage.stalls'], () => {
        changed()
        // A stall pauses VMs only after a while.
        if (stalls.all().size > 0) world.clock.setTimer(1000 * stallSeconds + 1, changed)
      }),
    async acknowledge(vmExtId) {
      const fact = domains.get(vmExtId)
      if (fact?.haltedAt !== undefined) await domains.put(vmExtId, stopped(fact))
      else if (fact?.restartedAt !== undefined) await domains.put(vmExtId, settled(fact))
    },
    fullContainers: () => [...full.all().keys()],
    retryWrites: (containerExtId) => full.remove(containerExtId),
    async observeGuests(vmExtIds) {
      const views = new Map<string, GuestView>()
      for (const extId of vmExtIds) {
        const fact = domains.get(extId)
        const isSeen = fact?.state === 'ON' && !isPaused(fact) && faults.get(fact.hostExtId ?? '')?.isDown !== true
        if (isSeen) views.set(extId, await view(fact))
      }
      return views
    },
  }
}

function unaskedState({ haltedAt, restartedAt }: DomainFact, isPaused: boolean): UnaskedState['state'] | undefined {
  if (haltedAt !== undefined) return 'OFF'
  if (isPaused) return 'PAUSED'
  return restartedAt === undefined ? undefined : 'RESTARTED'
}

/** The running domain whose guest begins anew by itself now. */
export const restarted = (world: SimulatedWorld, { hungSince: _, ...fact }: DomainFact): DomainFact => ({
  ...fact,
  restartedAt: world.clock.now(),
})

/** What the firmware finds: the first device of the boot order that holds something bootable. */
function guestOf({ bootOrder, diskExtIds, isoExtIds }: Domain, disks: Collection<DiskFact>): GuestOs | undefined {
  for (const device of bootOrder) {
    const candidates = device === 'DISK' ? diskExtIds : device === 'CDROM' ? isoExtIds : []
    const os = candidates.map((extId) => disks.get(extId)?.os).find((found) => found !== undefined)
    if (os !== undefined) return device === 'CDROM' ? 'installer' : os
  }
  return undefined
}

function stopped({ domain, lastReset }: DomainFact): DomainFact {
  return { domain, state: 'OFF', ...(lastReset && { lastReset }) }
}

/** A layer has the guest of what it lies over; an image's name says which guest it holds. */
function diskFactOf(disk: VirtualDisk, disks: Collection<DiskFact>, createdAt: number): DiskFact {
  const { containerExtId, sizeBytes, source } = disk
  const fact = { containerExtId, sizeBytes, createdAt }
  if (source === undefined) return fact
  if (source.kind === 'image') return { ...fact, os: /windows|\bwin/i.test(source.name) ? 'windows' : 'linux' }
  if (source.kind === 'volumeDisk') return { ...fact, os: 'linux' }
  const parent = disks.get(source.extId)
  if (parent === undefined) throw new DriverError('the disk to clone is not there', { retryable: false })
  return { ...fact, parentExtId: source.extId, ...(parent.os && { os: parent.os }) }
}
