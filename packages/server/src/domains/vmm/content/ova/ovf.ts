/** Terms of OVF descriptors. Source: DMTF DSP0243 1.1.0. */
import type { DiskFormat } from '../../../../drivers/ova-files.ts'

export const ovf = 'http://schemas.dmtf.org/ovf/envelope/1'
export const rasd = 'http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData'
export const vssd = 'http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_VirtualSystemSettingData'
/** Settings that OVF lacks, in the words that most tools know. */
export const vmw = 'http://www.vmware.com/schema/ovf'

export const formats: Readonly<Record<DiskFormat, string>> = {
  QCOW2: 'http://www.gnome.org/~markmc/qcow-image-format.html',
  VMDK: 'http://www.vmware.com/interfaces/specifications/vmdk.html#streamOptimized',
}

/** Resource types of items. */
export const resourceType = {
  processor: 3,
  memory: 4,
  ide: 5,
  scsi: 6,
  ethernet: 10,
  cdDrive: 15,
  disk: 17,
  otherStorage: 20,
} as const

/** Bus types as controllers: resource type and subtype. */
export const controllers = {
  IDE: [resourceType.ide, undefined],
  PCI: [resourceType.otherStorage, 'virtio-blk'],
  SATA: [resourceType.otherStorage, 'AHCI'],
  SCSI: [resourceType.scsi, 'VirtioSCSI'],
  SPAPR: [resourceType.scsi, 'spapr-vscsi'],
} as const
export type BusType = keyof typeof controllers

/** Keys of extra settings. */
export const setting = {
  firmware: 'firmware',
  machineType: 'machineType',
  threadsPerCore: 'threadsPerCore',
  timezone: 'hardwareClockTimezone',
} as const
