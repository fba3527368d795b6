/** Changes of existing disks. Source: behaviour vmm.md 1.1 (migrate-vm-disks), 1.2. */
import { DriverError } from '../../../core/tasks/define-task.ts'
import type { Disks, Hydration } from '../../hypervisor.ts'
import type { SimulatedWorld } from '../world.ts'
import { type DiskFact, diskFacts } from './facts.ts'
import type { SimulatedHosts } from './hosts.ts'
import { changeHydration, hydrationOf } from './hydration.ts'
import type { LayerChains } from './layer-chains.ts'
import { fullCopy, resized, standalone } from './layers.ts'

const bytesPerSecond = 1e9
const reports = 10

type PresentDisk = (diskExtId: string, call: string) => DiskFact

export const presentDisk =
  (world: SimulatedWorld, hosts: SimulatedHosts): PresentDisk =>
  (diskExtId, call) => {
    const fact = diskFacts(world).get(diskExtId)
    if (fact === undefined || fact.isHidden === true) throw DriverError.final(`no virtual disk ${diskExtId}`)
    hosts.requireAnswer(call, [hosts.clusterOf(fact.containerExtId)])
    return fact
  }

interface DiskChangeParts {
  readonly chains: LayerChains
  readonly hosts: SimulatedHosts
  readonly present: PresentDisk
  readonly isInstant: boolean
}

export function createDiskChanges(
  world: SimulatedWorld,
  { chains, hosts, present, isInstant }: DiskChangeParts,
): Pick<Disks, 'copyDisk' | 'hydrateDisk' | 'hydrations' | 'moveDisk' | 'resizeDisk'> {
  const disks = diskFacts(world)
  const { clock } = world
  const transfer = async ({ sizeBytes }: DiskFact, report: (share: number) => Promise<void>): Promise<void> => {
    for (let part = 1; part <= reports; part++) {
      if (!isInstant) await clock.sleep((1000 * sizeBytes) / bytesPerSecond / reports)
      await report(part / reports)
    }
  }
  return {
    async resizeDisk(diskExtId, sizeBytes) {
      await disks.put(diskExtId, resized(present(diskExtId, 'resizeDisk'), sizeBytes, clock.now()))
    },
    /** Copies the content of all layers: those below stay in their container for recovery points and other disks. */
    async moveDisk(diskExtId, containerExtId, report) {
      const fact = present(diskExtId, 'moveDisk')
      // A crash may have interrupted the call before the last line.
      if (fact.containerExtId === containerExtId) return chains.collapseAll()
      await transfer(fact, report)
      const now = present(diskExtId, 'moveDisk')
      const whole = now.parentExtId === undefined ? now : standalone(disks, now, clock.now())
      await disks.put(diskExtId, { ...whole, containerExtId })
      await chains.collapse(now.parentExtId)
    },
    async copyDisk(diskExtId, { copyExtId, containerExtId }, report) {
      if (disks.get(copyExtId) !== undefined) return
      const target = [hosts.clusterOf(containerExtId)]
      hosts.requireAnswer('copyDisk', target)
      await transfer(present(diskExtId, 'copyDisk'), report)
      hosts.requireAnswer('copyDisk', target)
      await disks.put(copyExtId, fullCopy(disks, present(diskExtId, 'copyDisk'), containerExtId, clock.now()))
    },
    async hydrateDisk(diskExtId, isEnabled) {
      present(diskExtId, 'hydrateDisk')
      await changeHydration(world, diskExtId, { isEnabled })
    },
    hydrations(diskExtIds) {
      const found = new Map<string, Hydration>()
      for (const extId of diskExtIds) {
        const fact = disks.get(extId)
        const hydration = fact === undefined ? undefined : hydrationOf(fact, clock.now())
        if (hydration !== undefined) found.set(extId, hydration)
      }
      return found
    },
  }
}
