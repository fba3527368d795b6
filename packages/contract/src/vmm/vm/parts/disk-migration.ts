/** Body of migrateVmDisks. Source: catalogue vmm.json; behaviour vmm.md 1.1. */
import * as s from '../../../schema.ts'

// The task reports unknown containers and disks, so the request does not check that they exist.
const target = () => s.object('vmm.v4.ahv.config.VmDiskContainerReference', { extId: s.optional(s.uuid()) })

const mostDisks = 1034

export const DiskMigrationParams = s.object('vmm.v4.ahv.config.DiskMigrationParams', {
  migrateDisks: s.optional(
    s.oneOf(
      s.object('vmm.v4.ahv.config.AllDisksMigrationPlan', { storageContainer: s.optional(target()) }),
      s.object('vmm.v4.ahv.config.MigrationPlans', {
        plans: s.optional(
          s.arrayOf(
            s.object('vmm.v4.ahv.config.ADSFDiskMigrationPlan', {
              storageContainer: s.optional(target()),
              vmDisks: s.optional(
                s.arrayOf(s.object('vmm.v4.ahv.config.MigrateDiskReference', { diskExtId: s.optional(s.uuid()) }), {
                  maxItems: mostDisks,
                }),
              ),
            }),
            { maxItems: mostDisks },
          ),
        ),
      }),
    ),
  ),
})
