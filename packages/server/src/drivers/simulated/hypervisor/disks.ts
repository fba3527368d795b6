/** Simulated virtual disks, as copy-on-write layers. Source: behaviour vmm.md 3.3, 3.4. */
import { defined } from '../../../core/defined.ts'
import { derivedId } from '../../../core/ids/named-id.ts'
import { DriverError } from '../../../core/tasks/define-task.ts'
import type { DiskSource, Disks, VirtualDisk } from '../../hypervisor.ts'
import { serverState } from '../content/urls.ts'
import type { GuestOs } from '../guest.ts'
import { type OvaDisk, ovaFacts, ovaKey } from '../ova-files.ts'
import type { Collection, SimulatedWorld } from '../world.ts'
import { createDiskChanges, presentDisk } from './disk-changes.ts'
import { type DiskFact, diskFacts, fullFacts } from './facts.ts'
import type { SimulatedHosts } from './hosts.ts'
import { createLayerChains } from './layer-chains.ts'
import { contentBytes, frozen, isLayer, layerIndex, layerOf, over } from './layers.ts'

export function createDisks(world: SimulatedWorld, hosts: SimulatedHosts, isInstant: boolean): Disks {
  const disks = diskFacts(world)
  const full = fullFacts(world)
  const now = (): number => world.clock.now()
  const chains = createLayerChains(disks, world.clock)
  const layersAt = layerIndex(world)

  const present = presentDisk(world, hosts)
  return {
    async createDisk(disk) {
      if (disks.get(disk.extId) !== undefined) return
      hosts.requireAnswer('createDisk', [hosts.clusterOf(disk.containerExtId)])
      if (disk.source?.kind === 'disk') {
        await chains.shorten(disk.source.extId)
        await disks.putAll(layered(disk, disk.source, disks, now()))
      } else await disks.stage(disk.extId, diskFactOf(disk, world))
    },
    async snapshotDisks(snapshots) {
      const missing = snapshots.filter(({ layerExtId }) => disks.get(layerExtId) === undefined)
      for (const { diskExtId } of missing) {
        const fact = disks.get(diskExtId)
        if (fact === undefined) throw DriverError.final(`no disk ${diskExtId}`)
        hosts.requireAnswer('snapshotDisks', [hosts.clusterOf(fact.containerExtId)])
      }
      for (const { diskExtId } of missing) await chains.shorten(diskExtId)
      const facts = new Map<string, DiskFact>()
      for (const { diskExtId, layerExtId } of missing) {
        const fact = disks.get(diskExtId) as DiskFact
        facts.set(layerExtId, frozen(fact, now()))
        facts.set(diskExtId, over(fact, layerExtId, now()))
      }
      await disks.putAll(facts)
    },
    async deleteDisk(diskExtId) {
      const fact = disks.get(diskExtId)
      if (fact === undefined) return chains.collapseAll()
      hosts.requireAnswer('deleteDisk', [hosts.clusterOf(fact.containerExtId)])
      if (fact.isHidden !== true) await disks.put(diskExtId, { ...fact, isHidden: true })
      await chains.collapse(diskExtId)
    },
    layers: (at = now()) => layersAt(at),
    layer(diskExtId) {
      const fact = disks.get(diskExtId)
      return fact === undefined || !isLayer(fact) ? undefined : layerOf(fact, now())
    },
    async replaceDisk(diskExtId, byExtId) {
      const other = disks.get(byExtId)
      if (other !== undefined && other.isHidden !== true) {
        const former = present(diskExtId, 'replaceDisk')
        await disks.putAll(
          new Map([
            [diskExtId, other],
            [byExtId, { ...former, isHidden: true }],
          ]),
        )
      }
      await (disks.get(byExtId) === undefined ? chains.collapseAll() : chains.collapse(byExtId))
    },
    ...createDiskChanges(world, { chains, hosts, present, isInstant }),
    fullContainers: () => [...full.all().keys()],
    retryWrites: async (containerExtId) => full.remove(containerExtId),
  }
}

/** The guest follows from the name of an image, or the path of an external disk. */
function diskFactOf({ containerExtId, sizeBytes, source, isReadOnly }: VirtualDisk, world: SimulatedWorld): DiskFact {
  const since = world.clock.now()
  const fact = { containerExtId, sizeBytes, createdAt: since, ...defined({ isReadOnly }) }
  if (source?.kind === 'image') return { ...fact, os: guestOf(source.name) }
  if (source?.kind === 'ova') {
    const { os, heldBytes } = unpacked(source, world)
    return { ...fact, ...defined({ os, mergedBytes: heldBytes }) }
  }
  if (source?.kind !== 'external') return source?.kind === 'volumeDisk' ? { ...fact, os: 'linux' } : fact
  const repository = source.repository.toLowerCase()
  const server = serverState(world, repository)
  if (server === 'away') throw DriverError.final(`the repository ${repository} cannot be reached`)
  const hydration = { repository, isEnabled: source.isHydrated, server, remainingBytes: sizeBytes, since }
  return { ...fact, hydration, os: guestOf(source.path) }
}

const guestOf = (name: string): GuestOs => (/windows|\bwin/i.test(name) ? 'windows' : 'linux')

function unpacked(
  { extId, clusterExtId, fileName }: DiskSource & { kind: 'ova' },
  world: SimulatedWorld,
): Pick<OvaDisk, 'heldBytes' | 'os'> {
  const ova = ovaFacts(world).get(ovaKey({ ovaExtId: extId, clusterExtId }))
  if (ova?.objectKey !== undefined) return { os: guestOf(ova.objectKey) }
  const disk = ova?.disks.find(({ name }) => name === fileName)
  if (disk === undefined) throw DriverError.final(`the OVA has no file ${fileName}`)
  return disk
}

/** A layer over the present content of the source, with its guest and hydration. A disk in use is frozen under a layer of its own. */
function layered(
  { extId, containerExtId, sizeBytes, isReadOnly }: VirtualDisk,
  { extId: sourceExtId, isFullCopy }: Extract<DiskSource, { kind: 'disk' }>,
  disks: Collection<DiskFact>,
  now: number,
): ReadonlyMap<string, DiskFact> {
  const source = disks.get(sourceExtId)
  if (source === undefined) throw DriverError.final('the disk to clone is not there')
  const { os, hydration } = source
  const fact = { containerExtId, sizeBytes, createdAt: now, ...defined({ os, hydration, isReadOnly }) }
  const own = (held: number): Partial<DiskFact> =>
    isReadOnly === true ? { frozenBytes: held, frozenAt: now } : held === 0 ? {} : { mergedBytes: held }
  if (isFullCopy === true) return new Map([[extId, { ...fact, ...own(contentBytes(disks, source, now)) }]])
  if (source.frozenBytes !== undefined) return new Map([[extId, { ...over(fact, sourceExtId, now), ...own(0) }]])
  const layerExtId = derivedId('layer', extId)
  return new Map([
    [layerExtId, { ...frozen(source, now), isHidden: true }],
    [sourceExtId, over(source, layerExtId, now)],
    [extId, { ...over(fact, layerExtId, now), ...own(0) }],
  ])
}
