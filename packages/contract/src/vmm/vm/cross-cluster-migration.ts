/** Body of crossClusterMigrateVm. Source: catalogue vmm.json; behaviour vmm.md 1.1 (migrate). */
import * as s from '../../schema.ts'
import { AvailabilityZoneReference, ClusterReference, StorageContainerReference } from '../references.ts'
import { Nic } from './parts/nic.ts'

export const VmCrossClusterMigrateParams = s.object('vmm.v4.ahv.config.VmCrossClusterMigrateParams', {
  /** True for a VM that is ON, false for one that is OFF. */
  isLiveMigration: s.boolean(),
  targetAvailabilityZone: AvailabilityZoneReference,
  /** Default: chosen by the server. */
  targetCluster: s.optional(ClusterReference),
  overrides: s.optionalObject('vmm.v4.ahv.config.VmCrossClusterMigrateOverrides', {
    /** The first entry is for the first NIC of the VM, and so on. */
    overrideNicList: s.optional(s.arrayOf(Nic.schema, { maxItems: 64 })),
    storageContainersMapping: s.optional(
      s.arrayOf(
        s.object('vmm.v4.ahv.config.StorageContainerMapping', {
          sourceStorageContainer: s.optional(StorageContainerReference),
          targetStorageContainer: s.optional(StorageContainerReference),
        }),
      ),
    ),
  }),
})
