import { DriverError } from '../../../core/tasks/define-task.ts'
import type { HostDevice } from '../../hardware.ts'
import type { Domain } from '../../hypervisor.ts'

import { type ContainerFact, deviceFacts, maintenanceFacts } from '../hardware.ts'
import { type HardwareFault, hardwareFaults } from '../hardware-faults.ts'
import { functionsInUse, functionsOfHost } from '../host-nics.ts'

import type { Collection, SimulatedWorld } from '../world.ts'
import { type DomainFact, domainFacts } from './facts.ts'

export class SimulatedHosts {
  readonly domains: Collection<DomainFact>
  readonly #faults: Collection<HardwareFault>
  readonly #containers: Collection<ContainerFact>
  readonly #devices: Collection<HostDevice>
  readonly #maintenance: Collection<unknown>

  readonly #world: SimulatedWorld

  constructor(world: SimulatedWorld) {
    this.#world = world
    this.domains = domainFacts(world)
    this.#faults = hardwareFaults(world)
    this.#containers = world.collection('hardware.containers')
    this.#devices = deviceFacts(world)
    this.#maintenance = maintenanceFacts(world)
  }

  faultOf(hostExtId: string | undefined): HardwareFault {
    return this.#faults.get(hostExtId ?? '') ?? {}
  }

  /** @throws DriverError, final, when no host has the domain */
  domain(vmExtId: string): DomainFact {
    const fact = this.domains.get(vmExtId)
    if (fact === undefined) throw DriverError.final(`no domain ${vmExtId}`)
    return fact
  }

  /** @throws DriverError, retryable, when one of these clusters and hosts does not answer */
  requireAnswer(call: string, places: readonly (string | undefined)[]): void {
    const isSilent = places.some((extId) => extId !== undefined && this.faultOf(extId).isDown === true)
    if (isSilent) throw DriverError.retryable(`${call}: no answer within 10 s`)
  }

  /** @throws DriverError, final, when the host is in maintenance */
  requireOpen(hostExtId: string): void {
    if (this.#maintenance.get(hostExtId) !== undefined)
      throw DriverError.final(`the host ${hostExtId} is in maintenance`)
  }

  /** @throws DriverError, final, when a device is missing, or another domain on the host uses it */
  requireDevices({ extId: vmExtId, deviceExtIds = [] }: Domain, hostExtId: string): void {
    for (const extId of deviceExtIds) {
      const isThere = this.#devices.get(extId)?.hostExtId === hostExtId
      const isTaken = [...this.domains.all().values()].some(
        ({ domain, state }) => state === 'ON' && domain.extId !== vmExtId && domain.deviceExtIds?.includes(extId),
      )
      if (!isThere || isTaken)
        throw DriverError.final(`the device ${extId} is ${isThere ? 'in use' : 'not in this host'}`)
    }
  }

  /** @throws DriverError, final, when NICs of the host have too few virtual functions left */
  requireFunctions({ nics }: Domain, hostExtId: string): void {
    const wanted = nics.flatMap(({ virtualFunction }) => virtualFunction?.profileExtId ?? [])
    for (const profileExtId of new Set(wanted)) {
      const free =
        functionsOfHost(this.#world, hostExtId, profileExtId) - functionsInUse(this.#world, hostExtId, profileExtId)
      if (wanted.filter((each) => each === profileExtId).length > free)
        throw DriverError.final(
          `the host ${hostExtId} has ${free} virtual functions of the NIC profile ${profileExtId}`,
        )
    }
  }

  placesOf(fact: DomainFact | undefined): readonly (string | undefined)[] {
    return [fact?.domain.clusterExtId, fact?.state === 'ON' ? fact.hostExtId : undefined]
  }

  clusterOf(containerExtId: string): string | undefined {
    return this.#containers.get(containerExtId)?.clusterExtId
  }
}
