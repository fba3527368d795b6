/** Source: catalogue volumes.json; behaviour volumes-storage.md 1.7, 2. */
import { read, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { VolumeDisk } from './volume-disk.ts'
import { blockSeries, volumeStatistics } from './volume-group-stats.ts'

export const VolumeDiskStats = resource('volumes.v4.stats.VolumeDiskStats', {
  fields: { volumeDiskExtId: s.readOnly(s.uuid()), ...blockSeries },
  title: 'volume disk statistics',
  derived: true,
})

export const volumeDiskStatsOperations = {
  getVolumeDiskStats: read('/stats/volume-groups/{volumeGroupExtId}/disks/{extId}', VolumeDiskStats.schema, {
    ...volumeStatistics,
    of: VolumeDisk,
    iam: 'View_Volume_Disk_Stats',
  }),
}
