import { DriverError } from '../../../core/tasks/define-task.ts'
import type { ContainerFact, HardwareFault } from '../hardware.ts'
import type { Collection, SimulatedWorld } from '../world.ts'
import { type DomainFact, domainFacts } from './facts.ts'

export class SimulatedHosts {
  readonly domains: Collection<DomainFact>
  readonly #faults: Collection<HardwareFault>
  readonly #containers: Collection<ContainerFact>

  constructor(world: SimulatedWorld) {
    this.domains = domainFacts(world)
    this.#faults = world.collection('hardware.faults')
    this.#containers = world.collection('hardware.containers')
  }

  faultOf(hostExtId: string | undefined): HardwareFault {
    return this.#faults.get(hostExtId ?? '') ?? {}
  }

  /** @throws DriverError, final, when no host has the domain */
  domain(vmExtId: string): DomainFact {
    const fact = this.domains.get(vmExtId)
    if (fact === undefined) throw new DriverError(`no domain ${vmExtId}`, { retryable: false })
    return fact
  }

  /** @throws DriverError, retryable, when one of these clusters and hosts does not answer */
  requireAnswer(call: string, places: readonly (string | undefined)[]): void {
    const isSilent = places.some((extId) => extId !== undefined && this.faultOf(extId).isDown === true)
    if (isSilent) throw new DriverError(`${call}: no answer within 10 s`, { retryable: true })
  }

  placesOf(fact: DomainFact | undefined): readonly (string | undefined)[] {
    return [fact?.domain.clusterExtId, fact?.state === 'ON' ? fact.hostExtId : undefined]
  }

  clusterOf(containerExtId: string): string | undefined {
    return this.#containers.get(containerExtId)?.clusterExtId
  }
}
