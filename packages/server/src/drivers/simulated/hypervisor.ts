/**
 * Simulated hosts: domains and virtual disks are facts, guests a function of the time since their start.
 * Source: behaviour vmm.md 3.1, 3.3, 3.4, 3.7.
 */
import { DriverError } from '../../core/tasks/define-task.ts'
import type { Domain, GuestView, Hypervisor, UnaskedState, VirtualDisk } from '../hypervisor.ts'
import type { NetworkFabric } from '../network-fabric.ts'
import { type BootTimes, bootTimes, type GuestOs, phaseAt } from './guest.ts'
import type { Collection, SimulatedWorld } from './world.ts'

/** A domain as the hosts know it. */
export interface DomainFact {
  readonly domain: Domain
  readonly state: 'ON' | 'OFF'
  readonly hostExtId?: string
  /** Milliseconds since 1970: the last start or reset. */
  readonly startedAt?: number
  readonly lastReset?: string
  /** A fault: its guest does not listen to the power button. */
  readonly ignoresAcpi?: boolean
  /** Its guest ended it then, and nobody knows; milliseconds since 1970. */
  readonly haltedAt?: number
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

/** The guest turns its machine off. */
export async function haltGuest(world: SimulatedWorld, vmExtId: string): Promise<void> {
  const fact = domainFacts(world).get(vmExtId)
  if (fact?.state !== 'ON') return
  const { startedAt = 0 } = fact
  await domainFacts(world).put(vmExtId, { ...stopped(fact), startedAt, haltedAt: world.clock.now() })
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
  const isInstant = settings.durations === 'instant'

  const known = (vmExtId: string): DomainFact => {
    const fact = domains.get(vmExtId)
    if (fact === undefined) throw new DriverError(`no domain ${vmExtId}`, { retryable: false })
    return fact
  }

  /** What the firmware finds: the first device of the boot order that holds something bootable. */
  function guestOf({ bootOrder, diskExtIds, isoExtIds }: Domain): GuestOs | undefined {
    for (const device of bootOrder) {
      const candidates = device === 'DISK' ? diskExtIds : device === 'CDROM' ? isoExtIds : []
      const os = candidates.map((extId) => disks.get(extId)?.os).find((found) => found !== undefined)
      if (os !== undefined) return device === 'CDROM' ? 'installer' : os
    }
    return undefined
  }

  function bootOf({ domain, startedAt = 0 }: DomainFact): BootTimes {
    const seed = `${world.seed}/${domain.extId}/${startedAt}`
    return bootTimes({ seed, startedAt, os: guestOf(domain), isCustomized: domain.isCustomized, isInstant })
  }

  const isCustomized = (fact: DomainFact, at = world.clock.now()): boolean =>
    !fact.domain.isCustomized || at >= bootOf(fact).ends.customization

  async function learned(domain: Domain): Promise<ReadonlyMap<string, readonly string[]>> {
    const addresses = new Map<string, readonly string[]>()
    for (const nic of domain.nics) {
      if (!nic.isConnected) continue
      const address =
        nic.address ?? (nic.vlan && (await settings.networkFabric.outsideAddress(nic.vlan, nic.macAddress)))
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
      areToolsReachable: fact.domain.hasGuestTools && now >= times.toolsAt,
      isCustomized: isCustomized(fact),
      upSince: now >= times.ends.customization ? times.ends.customization : undefined,
      bootedAt: now >= times.ends.loader ? times.ends.loader : undefined,
    }
  }

  function isPaused({ state, domain }: DomainFact): boolean {
    if (state === 'OFF' || stalls.all().size === 0) return false
    return domain.diskExtIds.some((extId) => {
      const stall = stalls.get(disks.get(extId)?.containerExtId ?? '')
      return stall !== undefined && world.clock.now() - stall.since > 1000 * stallSeconds
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
      await disks.put(disk.extId, diskFactOf(disk, disks, world.clock.now()))
    },
    async deleteDisk(diskExtId) {
      const fact = disks.get(diskExtId)
      if (fact === undefined) return
      if (fact.isHidden !== true) await disks.put(diskExtId, { ...fact, isHidden: true })
      await sweep(diskExtId)
    },
    async defineVm(domain) {
      await domains.put(domain.extId, { state: 'OFF', ...domains.get(domain.extId), domain })
    },
    async undefineVm(vmExtId) {
      if (domains.get(vmExtId)?.state === 'ON') throw new DriverError('the domain runs', { retryable: false })
      await domains.remove(vmExtId)
    },
    async startVm(vmExtId, hostExtId) {
      const fact = known(vmExtId)
      if (fact.state === 'ON') return
      await domains.put(vmExtId, { ...stopped(fact), state: 'ON', hostExtId, startedAt: world.clock.now() })
    },
    async stopVm(vmExtId) {
      const fact = domains.get(vmExtId)
      if (fact === undefined || (fact.state === 'OFF' && fact.haltedAt === undefined)) return
      await domains.put(vmExtId, stopped(fact))
    },
    async resetVm(vmExtId, callKey) {
      const fact = known(vmExtId)
      if (fact.lastReset === callKey || fact.state === 'OFF') return
      // What one boot ran, the next does not run again.
      const domain = { ...fact.domain, isCustomized: !isCustomized(fact) }
      await domains.put(vmExtId, { ...fact, domain, lastReset: callKey, startedAt: world.clock.now() })
    },
    async requestShutdown(vmExtId) {
      const fact = known(vmExtId)
      if (fact.state === 'OFF') return 'down'
      const hasBooted = phaseAt(bootOf(fact), world.clock.now()) === 'running'
      const obeys = hasBooted && fact.ignoresAcpi !== true
      const [least, most] = obeys ? shutdownSeconds : [patienceSeconds, patienceSeconds]
      if (!isInstant) await world.clock.sleep(500 * (least + most))
      if (!obeys) return 'ignored'
      await domains.put(vmExtId, stopped(known(vmExtId)))
      return 'down'
    },
    async migrateVm(vmExtId, toHostExtId) {
      const fact = known(vmExtId)
      if (fact.state === 'ON' && fact.hostExtId !== toHostExtId) {
        await domains.put(vmExtId, { ...fact, hostExtId: toHostExtId })
      }
    },
    async endCustomization(vmExtId, isoDiskExtId) {
      const fact = domains.get(vmExtId)
      if (fact !== undefined) {
        const isoExtIds = fact.domain.isoExtIds.filter((extId) => extId !== isoDiskExtId)
        await domains.put(vmExtId, { ...fact, domain: { ...fact.domain, isoExtIds, isCustomized: false } })
      }
      await disks.remove(isoDiskExtId)
    },
    async unaskedStates() {
      const states = new Map<string, UnaskedState>()
      for (const [extId, fact] of domains.all()) {
        const state = fact.haltedAt !== undefined ? 'OFF' : isPaused(fact) ? 'PAUSED' : undefined
        if (state !== undefined) states.set(extId, { state, isCustomized: isCustomized(fact, fact.haltedAt) })
      }
      return states
    },
    watch: (changed) =>
      world.watch(['domains', 'storage.stalls'], () => {
        changed()
        // A stall pauses VMs only after a while.
        if (stalls.all().size > 0) world.clock.setTimer(1000 * stallSeconds + 1, changed)
      }),
    async acknowledgeHalt(vmExtId) {
      const fact = domains.get(vmExtId)
      if (fact?.haltedAt !== undefined) await domains.put(vmExtId, stopped(fact))
    },
    async observeGuests(vmExtIds) {
      const views = new Map<string, GuestView>()
      for (const extId of vmExtIds) {
        const fact = domains.get(extId)
        if (fact?.state === 'ON' && !isPaused(fact)) views.set(extId, await view(fact))
      }
      return views
    },
  }
}

function stopped({ domain, ignoresAcpi, lastReset }: DomainFact): DomainFact {
  return { domain, state: 'OFF', ...(ignoresAcpi && { ignoresAcpi }), ...(lastReset && { lastReset }) }
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
