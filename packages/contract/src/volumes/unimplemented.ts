import type { Unimplemented } from '../operation.ts'

/** Operations that are known and not built yet. Source: catalogue volumes.json. */
export const unimplemented: readonly Unimplemented[] = [
  ['attachNvmfClient', 'POST', '/config/volume-groups/{extId}/$actions/attach-nvmf-client'],
  ['detachNvmfClient', 'POST', '/config/volume-groups/{extId}/$actions/detach-nvmf-client'],
  ['getVolumeDiskStats', 'GET', '/stats/volume-groups/{volumeGroupExtId}/disks/{extId}'],
  ['getVolumeGroupStats', 'GET', '/stats/volume-groups/{extId}'],
  ['revertVolumeGroup', 'POST', '/config/volume-groups/{extId}/$actions/revert'],
]
