/** Requests by which suites that cover every kind reach disks of volume groups. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import { type Creation, GiB } from '../kind.ts'

export const creations: Readonly<Record<string, Creation>> = {
  'volumes.createVolumeDisk': {
    path: `/volumes/v4.2/config/volume-groups/${seedId('volume-group/vg-unused')}/disks`,
    body: () => ({ diskSizeBytes: GiB }),
  },
}
