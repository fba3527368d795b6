/**
 * A disk of a virtual machine: a file in a storage container, or a whole volume group.
 * Source: catalogue vmm.json; behaviour vmm.md 1.2, 2, operation-roles.tsv.
 */
import { get, list, resource } from '../../../operation.ts'
import type { RoleName } from '../../../roles.ts'
import {
  arrayOf,
  boolean,
  enumeration,
  integer,
  object,
  oneOf,
  optional,
  readOnly,
  referenceTo,
  text,
  uuid,
  withDefault,
} from '../../../schema.ts'
import { StorageClusterReference, StorageContainerReference, VmReference } from '../../references.ts'
import { getRate, listRate, vmReaders } from '../../roles.ts'

/** Default bus: SCSI. Default index: the lowest free one. */
export const DiskAddress = object('vmm.v4.ahv.config.DiskAddress', {
  busType: optional(enumeration(['SCSI', 'IDE', 'PCI', 'SATA', 'SPAPR'])),
  index: optional(integer({ minimum: 0 })),
})

/** Texts `key:value`; each key occurs once. */
export const customAttributes = () => arrayOf(text({ minLength: 1, maxLength: 255 }))

/** The source of a disk. It stays after the source is deleted, so the ids are checked at creation only. */
export const DataSource = object('vmm.v4.ahv.config.DataSource', {
  reference: optional(
    oneOf(
      object('vmm.v4.ahv.config.VmDiskReference', {
        diskExtId: optional(uuid()),
        diskAddress: optional(DiskAddress),
        vmReference: optional(VmReference),
      }),
      object('vmm.v4.ahv.config.VmDiskRecoveryPointReference', {
        vmRecoveryPointExtId: optional(uuid()),
        diskRecoveryPointExtId: optional(uuid()),
      }),
      object('vmm.v4.ahv.config.VolumeDiskRecoveryPointReference', {
        volumeGroupRecoveryPointExtId: optional(uuid()),
        diskRecoveryPointExtId: optional(uuid()),
      }),
      object('vmm.v4.ahv.config.ImageReference', {
        imageExtId: uuid(),
        storageCluster: optional(StorageClusterReference),
      }),
      object('vmm.v4.ahv.config.VolumeDiskReference', {
        volumeGroupExtId: optional(uuid()),
        diskExtId: optional(uuid()),
      }),
      object('vmm.v4.ahv.config.ExternalDataSourceDiskReference', {
        externalRepositoryExtId: text(),
        externalDiskRelativePath: text(),
        shouldEnableBackgroundHydration: withDefault(boolean(), true),
      }),
    ),
  ),
})

export const HydrationStatus = enumeration(['IN_PROGRESS', 'FAILED', 'DISABLED'])

export const VmDisk = object('vmm.v4.ahv.config.VmDisk', {
  diskExtId: readOnly(uuid()),
  diskSizeBytes: optional(integer({ minimum: 1 })),
  dataSource: optional(DataSource),
  storageContainer: optional(StorageContainerReference),
  storageConfig: optional(object('vmm.v4.ahv.config.VmDiskStorageConfig', { isFlashModeEnabled: optional(boolean()) })),
  isMigrationInProgress: readOnly(boolean()),
  vmDiskHydrationInfo: readOnly(
    object('vmm.v4.ahv.config.DiskHydrationInfo', {
      diskHydrationStatus: optional(HydrationStatus),
      diskHydrationRemainingBytes: optional(integer()),
    }),
  ),
})

export const ADSFVolumeGroupReference = object('vmm.v4.ahv.config.ADSFVolumeGroupReference', {
  volumeGroupExtId: referenceTo('VolumeGroup'),
})

export const Disk = resource(
  'vmm.v4.ahv.config.Disk',
  {
    backingInfo: optional(oneOf(VmDisk, ADSFVolumeGroupReference)),
    diskAddress: optional(DiskAddress),
    customAttributes: optional(customAttributes()),
  },
  {
    kind: 'VirtualMachineDisk',
    title: 'disk',
    // Read from the list in its VM.
    derived: true,
    internal: { vmExtId: uuid() },
    parent: { param: 'vmExtId', kind: 'Vm', field: 'vmExtId' },
    rel: 'vmm:ahv:config:vm:disk',
    notFound: 'VMM_ENTITY_NOT_FOUND',
    staleTag: 'VM_ETAG_MISMATCH',
    sharesTagOf: 'vmExtId',
  },
)

const readers: readonly RoleName[] = [...vmReaders, 'Backup Admin', 'Management Connector']

export const diskOperations = {
  listDisksByVmId: list('/ahv/config/vms/{vmExtId}/disks', Disk, {
    iam: 'View_Virtual_Machine_Disk',
    roles: readers,
    rateLimit: listRate,
  }),
  getDiskById: get('/ahv/config/vms/{vmExtId}/disks/{extId}', Disk, {
    iam: 'View_Virtual_Machine_Disk',
    roles: readers,
    rateLimit: getRate,
  }),
}
