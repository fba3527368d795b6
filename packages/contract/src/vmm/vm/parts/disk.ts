/** A file, or a volume group. Source: catalogue vmm.json; behaviour vmm.md 1.2, 2, operation-roles.tsv. */
import { action, create, get, list, remove, resource, update } from '../../../operation.ts'
import type { RoleName } from '../../../roles.ts'
import * as s from '../../../schema.ts'
import { StorageClusterReference, StorageContainerReference, VmReference } from '../../references.ts'
import { vmMutationRate, vmReaders, vmWriters } from '../../roles.ts'

/** Default bus: SCSI. Default index: the lowest free one. */
export const DiskAddress = s.object('vmm.v4.ahv.config.DiskAddress', {
  busType: s.optional(s.enumeration(['SCSI', 'IDE', 'PCI', 'SATA', 'SPAPR'])),
  index: s.optional(s.integer({ minimum: 0 })),
})

/** `key:value`; each key occurs once. */
export const customAttributes = () => s.arrayOf(s.text({ minLength: 1, maxLength: 255 }))

export const UpdateCustomAttributesParams = s.object('vmm.v4.ahv.config.UpdateCustomAttributesParams', {
  customAttributes: customAttributes(),
})

/** A disk outlives its source, so the ids are checked at creation only. */
export const DataSource = s.object('vmm.v4.ahv.config.DataSource', {
  reference: s.optional(
    s.oneOf(
      s.object('vmm.v4.ahv.config.VmDiskReference', {
        diskExtId: s.optional(s.uuid()),
        diskAddress: s.optional(DiskAddress),
        vmReference: s.optional(VmReference),
      }),
      s.object('vmm.v4.ahv.config.VmDiskRecoveryPointReference', {
        vmRecoveryPointExtId: s.optional(s.uuid()),
        diskRecoveryPointExtId: s.optional(s.uuid()),
      }),
      s.object('vmm.v4.ahv.config.VolumeDiskRecoveryPointReference', {
        volumeGroupRecoveryPointExtId: s.optional(s.uuid()),
        diskRecoveryPointExtId: s.optional(s.uuid()),
      }),
      s.object('vmm.v4.ahv.config.ImageReference', {
        imageExtId: s.uuid(),
        storageCluster: s.optional(StorageClusterReference),
      }),
      s.object('vmm.v4.ahv.config.VolumeDiskReference', {
        volumeGroupExtId: s.optional(s.uuid()),
        diskExtId: s.optional(s.uuid()),
      }),
      s.object('vmm.v4.ahv.config.ExternalDataSourceDiskReference', {
        externalRepositoryExtId: s.text(),
        externalDiskRelativePath: s.text(),
        shouldEnableBackgroundHydration: s.withDefault(s.boolean(), true),
      }),
    ),
  ),
})

export const HydrationStatus = s.enumeration(['IN_PROGRESS', 'FAILED', 'DISABLED'])

export const VmDisk = s.object('vmm.v4.ahv.config.VmDisk', {
  diskExtId: s.readOnly(s.uuid()),
  diskSizeBytes: s.optional(s.integer({ minimum: 1 })),
  dataSource: s.optional(DataSource),
  storageContainer: s.optional(StorageContainerReference),
  storageConfig: s.optionalObject('vmm.v4.ahv.config.VmDiskStorageConfig', {
    isFlashModeEnabled: s.optional(s.boolean()),
  }),
  isMigrationInProgress: s.readOnly(s.boolean()),
  vmDiskHydrationInfo: s.readOnly(
    s.object('vmm.v4.ahv.config.DiskHydrationInfo', {
      diskHydrationStatus: s.optional(HydrationStatus),
      diskHydrationRemainingBytes: s.optional(s.integer()),
    }),
  ),
})

export const ADSFVolumeGroupReference = s.object('vmm.v4.ahv.config.ADSFVolumeGroupReference', {
  volumeGroupExtId: s.referenceTo('VolumeGroup'),
})

export const Disk = resource('vmm.v4.ahv.config.Disk', {
  fields: {
    backingInfo: s.optional(s.oneOf(VmDisk, ADSFVolumeGroupReference)),
    diskAddress: s.optional(DiskAddress),
    customAttributes: s.optional(customAttributes()),
  },
  iamNoun: 'Virtual_Machine_Disk',
  kind: 'VirtualMachineDisk',
  title: 'disk',
  derived: true,
  internal: { vmExtId: s.uuid() },
  parent: {
    param: 'vmExtId',
    kind: 'Vm',
    field: 'vmExtId',
    listedIn: 'disks',
    // A disk that is a volume group.
    orRowOf: 'VolumeGroupAttachment',
  },
  rel: 'vmm:ahv:config:vm:disk',
  sharesTagOf: 'vmExtId',
})

const readers: readonly RoleName[] = [...vmReaders, 'Backup Admin', 'Management Connector']
const provisioners: readonly RoleName[] = [
  ...vmWriters,
  'Backup Admin',
  'CSI System',
  'Kubernetes Data Services System',
  'Kubernetes Infrastructure Provision',
  'Management Connector',
  'Storage Admin',
]

const view = { roles: readers }
const change = { rateLimit: vmMutationRate, ifMatch: 'required', requestId: 'required' } as const
const setting = { of: Disk, roles: vmWriters, rateLimit: vmMutationRate } as const

export const diskOperations = {
  listDisksByVmId: list('/ahv/config/vms/{vmExtId}/disks', Disk, view),
  createDisk: create('/ahv/config/vms/{vmExtId}/disks', Disk, { ...change, roles: provisioners }),
  getDiskById: get('/ahv/config/vms/{vmExtId}/disks/{extId}', Disk, view),
  updateDiskById: update('/ahv/config/vms/{vmExtId}/disks/{extId}', Disk, {
    ...change,
    roles: [...vmWriters, 'Management Connector'],
  }),
  deleteDiskById: remove('/ahv/config/vms/{vmExtId}/disks/{extId}', Disk, { ...change, roles: provisioners }),
  addVmDiskCustomAttributes: action('/ahv/config/vms/{vmExtId}/disks/{extId}/$actions/add-custom-attributes', {
    ...setting,
    iam: 'Add_Virtual_Machine_Disk_Custom_Attributes',
    body: UpdateCustomAttributesParams,
  }),
  removeVmDiskCustomAttributes: action('/ahv/config/vms/{vmExtId}/disks/{extId}/$actions/remove-custom-attributes', {
    ...setting,
    iam: 'Remove_Virtual_Machine_Disk_Custom_Attributes',
    body: UpdateCustomAttributesParams,
  }),
  enableVmDiskHydration: action('/ahv/config/vms/{vmExtId}/disks/{extId}/$actions/enable-hydration', {
    ...setting,
    iam: 'Enable_Virtual_Machine_Disk_Hydration',
  }),
  disableVmDiskHydration: action('/ahv/config/vms/{vmExtId}/disks/{extId}/$actions/disable-hydration', {
    ...setting,
    iam: 'Disable_Virtual_Machine_Disk_Hydration',
  }),
}
