/** Simulated virtual disks, as copy-on-write layers. Source: behaviour vmm.md 3.3. */
import { DriverError } from '../../../core/tasks/define-task.ts'
import type { Disks, VirtualDisk } from '../../hypervisor.ts'
import { type OvaFact, ovaFacts, ovaKey } from '../ova-files.ts'
import type { Collection, SimulatedWorld } from '../world.ts'
import { type DiskFact, diskFacts, fullFacts } from './facts.ts'
import type { SimulatedHosts } from './hosts.ts'

export function createDisks(world: SimulatedWorld, hosts: SimulatedHosts): Disks {
  const disks = diskFacts(world)
  const full = fullFacts(world)
  const ovas = ovaFacts(world)

  /** Removes a deleted layer, and deleted layers below it, once no disk is a layer over it. */
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
      hosts.requireAnswer('createDisk', [hosts.clusterOf(disk.containerExtId)])
      const fact = diskFactOf(disk, { disks, ovas }, world.clock.now())
      await disks.stage(disk.extId, fact)
    },
    async deleteDisk(diskExtId) {
      const fact = disks.get(diskExtId)
      if (fact === undefined) return
      hosts.requireAnswer('deleteDisk', [hosts.clusterOf(fact.containerExtId)])
      if (fact.isHidden !== true) await disks.put(diskExtId, { ...fact, isHidden: true })
      await sweep(diskExtId)
    },
    fullContainers: () => [...full.all().keys()],
    retryWrites: (containerExtId) => full.remove(containerExtId),
  }
}

/** A layer has the guest of the disk below it; an image's guest follows from its name. */
function diskFactOf(
  disk: VirtualDisk,
  { disks, ovas }: { readonly disks: Collection<DiskFact>; readonly ovas: Collection<OvaFact> },
  createdAt: number,
): DiskFact {
  const { containerExtId, sizeBytes, source } = disk
  const fact = { containerExtId, sizeBytes, createdAt }
  if (source === undefined) return fact
  if (source.kind === 'image') return { ...fact, os: /windows|\bwin/i.test(source.name) ? 'windows' : 'linux' }
  if (source.kind === 'volumeDisk') return { ...fact, os: 'linux' }
  if (source.kind === 'ova') {
    const { extId: ovaExtId, clusterExtId, fileName } = source
    const packed = ovas.get(ovaKey({ ovaExtId, clusterExtId }))?.disks.find(({ name }) => name === fileName)
    if (packed === undefined) throw new DriverError(`the OVA has no file ${fileName}`, { retryable: false })
    return packed.os === undefined ? fact : { ...fact, os: packed.os }
  }
  const parent = disks.get(source.extId)
  if (parent === undefined) throw new DriverError('the disk to clone is not there', { retryable: false })
  const guest = parent.os && { os: parent.os }
  return source.isFullCopy === true ? { ...fact, ...guest } : { ...fact, parentExtId: source.extId, ...guest }
}
