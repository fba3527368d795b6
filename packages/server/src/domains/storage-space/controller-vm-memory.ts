/** Memory of the controller VM of a host. Source: behaviour clustermgmt.md 1.6, 1.9 (onDiskDedup), 3 (Placement memory). */
import type { Host } from '@hyperplane/contract/clustermgmt/host'

export const defaultControllerVmBytes = 32 * 1024 ** 3
/** Controller VMs with less memory do not deduplicate. */
export const smallestForDeduplication = 32 * 1024 ** 3

/** While it is being resized, the host keeps the larger of both sizes. */
export const largestControllerVmBytes = (host: Host): number =>
  host.hostType === 'COMPUTE_ONLY' ? 0 : Math.max(...sizesOf(host))

export const canDeduplicate = (host: Host): boolean =>
  host.hostType === 'COMPUTE_ONLY' || Math.min(...sizesOf(host)) >= smallestForDeduplication

/** The present size, and that to which it is being resized. */
function sizesOf({ controllerVmMemoryBytes = defaultControllerVmBytes, nextControllerVmMemoryBytes }: Host) {
  return [controllerVmMemoryBytes, nextControllerVmMemoryBytes ?? controllerVmMemoryBytes]
}
