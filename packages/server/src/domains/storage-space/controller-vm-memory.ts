/** Memory of the controller VM of a host. Source: behaviour clustermgmt.md 1.6, 1.9 (onDiskDedup), 3 (Placement memory). */
import type { EntityOf } from '@hyperplane/contract'
import type { Host } from '@hyperplane/contract/clustermgmt/host'

type HostEntity = EntityOf<typeof Host>

export const defaultControllerVmBytes = 32 * 1024 ** 3
/** Controller VMs with less memory do not deduplicate. */
export const smallestForDeduplication = 32 * 1024 ** 3

/** While it is being resized, the host keeps the larger of both sizes. */
export const largestControllerVmBytes = (host: HostEntity): number =>
  host.hostType === 'COMPUTE_ONLY' ? 0 : Math.max(...sizesOf(host))

export const canDeduplicate = (host: HostEntity): boolean =>
  host.hostType === 'COMPUTE_ONLY' || Math.min(...sizesOf(host)) >= smallestForDeduplication

/** The present size, and that to which it is being resized. */
function sizesOf({ controllerVmMemoryBytes = defaultControllerVmBytes, nextControllerVmMemoryBytes }: HostEntity) {
  return [controllerVmMemoryBytes, nextControllerVmMemoryBytes ?? controllerVmMemoryBytes]
}
