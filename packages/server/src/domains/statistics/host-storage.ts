/** Storage of hosts. Source: behaviour clustermgmt.md 1.17. */
import type { EntityOf } from '@hyperplane/contract'
import type { Host } from '@hyperplane/contract/clustermgmt/host'
import type { ReadContext } from '../context.ts'
import { hostCapacity, hostsOf } from '../storage-space/capacity.ts'
import { heldBytes, workingDrives } from '../storage-space/drive-usage.ts'
import { added, noData } from '../storage-space/stored-data.ts'
import type { StorageOfHosts } from './host-sums.ts'
import { storageOver } from './storage-over.ts'

type HostEntity = EntityOf<typeof Host>

/** A host has the share of its drives. @param times milliseconds since 1970, ascending */
export async function storageOfHosts(
  ctx: ReadContext,
  clusterExtId: string,
  hosts: readonly HostEntity[],
  times: readonly number[],
): Promise<(time: number) => StorageOfHosts> {
  const { hardware } = ctx.drivers
  const all = await hostsOf(ctx.store, clusterExtId)
  const [ownDrives, allDrives] = [workingDrives(hardware, hosts), workingDrives(hardware, all)]
  const capacityBytes = hosts.reduce((sum, host) => sum + hostCapacity(host, hardware), 0)
  const { containers, at } = await storageOver(ctx, clusterExtId, times)
  return (time) => {
    const held = heldBytes(allDrives, time)
    const part = held === 0 ? 0 : heldBytes(ownDrives, time) / held
    const sums = at(time)
    const whole = containers.map(({ extId }) => sums.get(extId) ?? noData).reduce(added, noData)
    const physicalBytes = Math.round(part * whole.physicalBytes)
    return {
      capacityBytes,
      usageBytes: physicalBytes,
      physicalBytes,
      logicalBytes: Math.round(part * whole.logicalBytes),
      copiedBytes: Math.round(part * whole.copiedBytes),
      reclaimableBytes: Math.round(part * whole.reclaimableBytes),
    }
  }
}
