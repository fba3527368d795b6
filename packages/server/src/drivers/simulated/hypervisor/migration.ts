/** Live migration: memory is copied in rounds, each with the guest's writes of the previous one. Source: vmm.md 3.5. */
import { drawsFrom } from '../../../core/ids/draws.ts'
import { DriverError } from '../../../core/tasks/define-task.ts'
import type { ClusterMove, Migration } from '../../hypervisor.ts'
import type { SimulatedWorld } from '../world.ts'
import { type DiskFact, type DomainFact, diskFacts } from './facts.ts'
import type { SimulatedHosts } from './hosts.ts'

/** Between two hosts, shared by their migrations. */
const bytesPerSecond = 1.2e9
const pauseSeconds = 0.3
const mostRounds = 12
const reportsPerRound = 10
/** Out of a host, and into a host. */
const mostAtOnce = 2
/** Guests with less memory are slowed down until the copy catches up. */
const throttledBelowBytes = 64 * 1024 ** 3
/** Share of its memory that a guest writes per second. */
const [leastWritten, mostWritten] = [0.005, 0.08]

interface Move {
  readonly from: string
  readonly to: string
}

class Moves {
  readonly #running = new Set<Move>()
  #waiting: (() => void)[] = []

  /** Waits for a place on both hosts. `look` runs at each wake-up; its error ends the wait. */
  async enter(move: Move, patience: () => Promise<void>, look: () => Promise<void>): Promise<void> {
    while (
      this.#count(({ from }) => from === move.from) >= mostAtOnce ||
      this.#count(({ to }) => to === move.to) >= mostAtOnce
    ) {
      const place = new Promise<void>((resolve) => this.#waiting.push(resolve))
      await Promise.race([place, patience()])
      await look()
    }
    this.#running.add(move)
  }

  leave(move: Move): void {
    this.#running.delete(move)
    const waiting = this.#waiting
    this.#waiting = []
    for (const resume of waiting) resume()
  }

  bandwidth({ from, to }: Move): number {
    return (
      bytesPerSecond /
      Math.max(
        1,
        this.#count((other) => other.from === from && other.to === to),
      )
    )
  }

  #count(fits: (move: Move) => boolean): number {
    return [...this.#running].filter(fits).length
  }
}

export function createMigration(world: SimulatedWorld, hosts: SimulatedHosts, isInstant: boolean): Migration {
  const moves = new Moves()

  const copy = async (fact: DomainFact, move: Move, report: (share: number) => Promise<void>): Promise<void> => {
    const { memoryBytes, extId } = fact.domain
    const writtenShare = leastWritten + (mostWritten - leastWritten) * drawsFrom(`${world.seed}/${extId}/writes`)() ** 3
    let left = memoryBytes
    for (let round = 1; round <= mostRounds; round++) {
      const seconds = left / moves.bandwidth(move)
      const written = Math.min(memoryBytes, memoryBytes * writtenShare * seconds)
      for (let part = 1; part <= reportsPerRound; part++) {
        if (!isInstant) await world.clock.sleep((1000 * seconds) / reportsPerRound)
        hosts.requireAnswer('migrateVm', [fact.domain.clusterExtId, move.from, move.to])
        const copied = 1 - (left + ((written - left) * part) / reportsPerRound) / memoryBytes
        if (!isInstant) await report(Math.max(copied, (round - 1 + part / reportsPerRound) / mostRounds))
      }
      left = written
      if (left <= pauseSeconds * moves.bandwidth(move)) break
      if (round === mostRounds && memoryBytes >= throttledBelowBytes)
        throw DriverError.final('the guest writes faster than its memory can be copied')
    }
    await report(1)
  }

  const live = async (
    fact: DomainFact,
    toHostExtId: string,
    report: (share: number) => Promise<void>,
    arrive: (now: DomainFact) => Promise<void>,
  ): Promise<void> => {
    const move = { from: fact.hostExtId as string, to: toHostExtId }
    hosts.requireOpen(toHostExtId)
    hosts.requireDevices(fact.domain, toHostExtId)
    const patience = (): Promise<void> => (isInstant ? new Promise(() => undefined) : world.clock.sleep(1000))
    await moves.enter(move, patience, () => report(0))
    try {
      await copy(fact, move, report)
      await arrive(hosts.domain(fact.domain.extId))
    } finally {
      moves.leave(move)
    }
  }

  return {
    async migrateVm(vmExtId, toHostExtId, report = async () => undefined) {
      const fact = hosts.domain(vmExtId)
      if (fact.state === 'OFF' || fact.hostExtId === toHostExtId) return
      hosts.requireAnswer('migrateVm', [...hosts.placesOf(fact), toHostExtId])
      await live(fact, toHostExtId, report, async (now) => {
        if (now.state !== 'OFF') await hosts.domains.put(vmExtId, { ...now, hostExtId: toHostExtId })
      })
    },
    async moveVm({ domain, hostExtId, disks }, report = async () => undefined) {
      const fact = hosts.domain(domain.extId)
      // Disks first: a call that a crash interrupts is repeated until the domain is on the other cluster.
      const arrive = async (now: DomainFact): Promise<void> => {
        const { hasPendingCustomization } = now.domain
        hosts.requireAnswer('moveVm', [domain.clusterExtId])
        await exchange(world, disks)
        await hosts.domains.put(domain.extId, {
          ...now,
          domain: { ...domain, hasPendingCustomization },
          ...(now.state === 'ON' && hostExtId !== undefined ? { hostExtId } : {}),
        })
      }
      if (fact.domain.clusterExtId === domain.clusterExtId) return exchange(world, disks)
      hosts.requireAnswer('moveVm', [...hosts.placesOf(fact), domain.clusterExtId, hostExtId])
      if (fact.state === 'OFF' || hostExtId === undefined) await arrive(fact)
      else await live(fact, hostExtId, report, arrive)
    },
  }
}

/** Skips disks that are in their new container already, and those without a copy. */
async function exchange(world: SimulatedWorld, moved: ClusterMove['disks']): Promise<void> {
  const disks = diskFacts(world)
  const changed = new Map<string, DiskFact>()
  for (const { diskExtId, copyExtId, containerExtId } of moved) {
    const [fact, copy] = [disks.get(diskExtId), disks.get(copyExtId)]
    if (fact === undefined || copy === undefined || fact.containerExtId === containerExtId) continue
    changed.set(diskExtId, copy).set(copyExtId, fact)
  }
  if (changed.size > 0) await disks.putAll(changed)
}
