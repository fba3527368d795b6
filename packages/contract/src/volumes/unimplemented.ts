import type { Unimplemented } from '../operation.ts'

/** Operations that are known and not built yet. Source: catalogue volumes.json. */
export const unimplemented: readonly Unimplemented[] = [
  ['getVolumeDiskStats', 'GET', '/stats/volume-groups/{volumeGroupExtId}/disks/{extId}'],
  ['getVolumeGroupStats', 'GET', '/stats/volume-groups/{extId}'],
  ['revertVolumeGroup', 'POST', '/config/volume-groups/{extId}/$actions/revert'],
]
