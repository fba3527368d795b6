/** Recovery points of the volume group vg-orders-db. Source: behaviour volumes-storage.md 4. */
import { VolumeGroupRecoveryPoint } from '@hyperplane/contract/volumes/recovery-point'
import { VolumeDisk } from '@hyperplane/contract/volumes/volume-disk'
import { seedId } from '../../core/ids/named-id.ts'
import { type BlockDiskFact, blockDiskFacts, imageFacts } from '../../drivers/simulated/block-facts.ts'
import type { SeedContext } from '../context.ts'

const GiB = 1024 ** 3
const group = 'vg-orders-db'
const hourMillis = 3600 * 1000

/** Oldest first. A day ago the second disk was smaller. */
const points = [
  { name: '24h', hours: 24, writtenShare: 0.98, secondBytes: 80 * GiB },
  { name: '1h', hours: 1, writtenShare: 0.999, secondBytes: 100 * GiB },
] as const

export async function seedPoints(ctx: SeedContext): Promise<void> {
  const volumeGroupExtId = seedId(`volume-group/${group}`)
  const disks = await ctx.store.findWhere(VolumeDisk, { volumeGroupExtId })
  const [facts, images] = [blockDiskFacts(ctx.world), imageFacts(ctx.world)]
  for (const { name, hours, writtenShare, secondBytes } of points) {
    const shown = []
    for (const { extId, index = 0 } of disks) {
      const { source, sharedBytes, ...disk } = facts.get(extId) as BlockDiskFact
      const imageExtId = seedId(`volume-disk-recovery-point/${group}/${name}/${index}`)
      const createdAt = ctx.clock.now() - hours * hourMillis
      const sizeBytes = index === 0 ? disk.sizeBytes : secondBytes
      const writtenBytes = Math.floor(Math.min(disk.writtenBytes * writtenShare, sizeBytes))
      const below = { sharedBytes, ...(source && { source }) }
      await images.put(imageExtId, { ...disk, ...below, sizeBytes, writtenBytes, since: createdAt, createdAt })
      await facts.put(extId, { ...disk, source: { kind: 'image', extId: imageExtId }, sharedBytes: writtenBytes })
      shown.push({ diskExtId: extId, imageExtId, index, sizeBytes, containerExtId: disk.containerExtId })
    }
    await ctx.store.insert(VolumeGroupRecoveryPoint, {
      extId: seedId(`volume-group-recovery-point/${group}/${name}`),
      volumeGroupExtId,
      creationTime: ctx.ago(hours * 3600),
      disks: shown,
    })
  }
}
