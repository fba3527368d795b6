/** Simulated virtual disks, as copy-on-write layers. Source: behaviour vmm.md 3.3. */
import { DriverError } from '../../../core/tasks/define-task.ts'
import type { Disks, Hydration, VirtualDisk } from '../../hypervisor.ts'
import { isServerAway } from '../content-source.ts'
import type { Collection, SimulatedWorld } from '../world.ts'
import { type DiskFact, diskFacts, fullFacts } from './facts.ts'
import type { SimulatedHosts } from './hosts.ts'
import { changeHydration, hydrationOf } from './hydration.ts'

const bytesPerSecond = 1e9
const reports = 10

export function createDisks(world: SimulatedWorld, hosts: SimulatedHosts, isInstant: boolean): Disks {
  const disks = diskFacts(world)
  const full = fullFacts(world)

  /** Removes a deleted layer, and deleted layers below it, once no disk is a layer over it. */
  async function sweep(diskExtId: string): Promise<void> {
    const fact = disks.get(diskExtId)
    if (fact?.isHidden !== true) return
    if ([...disks.all().values()].some((other) => other.parentExtId === diskExtId)) return
    await disks.remove(diskExtId)
    if (fact.parentExtId !== undefined) await sweep(fact.parentExtId)
  }

  function present(diskExtId: string, call: string): DiskFact {
    const fact = disks.get(diskExtId)
    if (fact === undefined || fact.isHidden === true)
      throw new DriverError(`no virtual disk ${diskExtId}`, { retryable: false })
    hosts.requireAnswer(call, [hosts.clusterOf(fact.containerExtId)])
    return fact
  }

  return {
    async createDisk(disk) {
      if (disks.get(disk.extId) !== undefined) return
      hosts.requireAnswer('createDisk', [hosts.clusterOf(disk.containerExtId)])
      await disks.stage(disk.extId, diskFactOf(disk, disks, world))
    },
    async deleteDisk(diskExtId) {
      const fact = disks.get(diskExtId)
      if (fact === undefined) return
      hosts.requireAnswer('deleteDisk', [hosts.clusterOf(fact.containerExtId)])
      if (fact.isHidden !== true) await disks.put(diskExtId, { ...fact, isHidden: true })
      await sweep(diskExtId)
    },
    async resizeDisk(diskExtId, sizeBytes) {
      await disks.put(diskExtId, { ...present(diskExtId, 'resizeDisk'), sizeBytes })
    },
    async replaceDisk(diskExtId, byExtId) {
      const other = disks.get(byExtId)
      if (other !== undefined && other.isHidden !== true) {
        const former = present(diskExtId, 'replaceDisk')
        // The former content takes the id of the other disk, for the layers over it.
        const layers = [...disks.all()].filter(([, { parentExtId }]) => parentExtId === diskExtId)
        const moved = layers.map(([extId, fact]): [string, DiskFact] => [extId, { ...fact, parentExtId: byExtId }])
        await disks.putAll(new Map([...moved, [diskExtId, other], [byExtId, { ...former, isHidden: true }]]))
      }
      await sweep(byExtId)
    },
    async moveDisk(diskExtId, containerExtId, report) {
      const fact = present(diskExtId, 'moveDisk')
      if (fact.containerExtId === containerExtId) return
      for (let part = 1; part <= reports; part++) {
        if (!isInstant) await world.clock.sleep((1000 * fact.sizeBytes) / bytesPerSecond / reports)
        await report(part / reports)
      }
      await disks.put(diskExtId, { ...present(diskExtId, 'moveDisk'), containerExtId })
    },
    async hydrateDisk(diskExtId, isEnabled) {
      present(diskExtId, 'hydrateDisk')
      await changeHydration(world, diskExtId, { isEnabled })
    },
    hydrations(diskExtIds) {
      const found = new Map<string, Hydration>()
      for (const extId of diskExtIds) {
        const fact = disks.get(extId)
        const hydration = fact === undefined ? undefined : hydrationOf(fact, world.clock.now())
        if (hydration !== undefined) found.set(extId, hydration)
      }
      return found
    },
    fullContainers: () => [...full.all().keys()],
    retryWrites: (containerExtId) => full.remove(containerExtId),
  }
}

/** A layer has the guest of the disk below it; an image's guest follows from its name. */
function diskFactOf(disk: VirtualDisk, disks: Collection<DiskFact>, world: SimulatedWorld): DiskFact {
  const { containerExtId, sizeBytes, source } = disk
  const since = world.clock.now()
  const fact = { containerExtId, sizeBytes, createdAt: since }
  if (source === undefined) return fact
  if (source.kind === 'image') return { ...fact, os: /windows|\bwin/i.test(source.name) ? 'windows' : 'linux' }
  if (source.kind === 'volumeDisk') return { ...fact, os: 'linux' }
  if (source.kind === 'external') {
    const repository = source.repository.toLowerCase()
    if (isServerAway(world, repository))
      throw new DriverError(`the repository ${repository} cannot be reached`, { retryable: false })
    const hydration = { repository, isEnabled: source.isHydrated, isAway: false, remainingBytes: sizeBytes, since }
    return { ...fact, hydration, os: /windows|\bwin/i.test(source.path) ? 'windows' : 'linux' }
  }
  const parent = disks.get(source.extId)
  if (parent === undefined) throw new DriverError('the disk to clone is not there', { retryable: false })
  return { ...fact, parentExtId: source.extId, ...(parent.os && { os: parent.os }) }
}
