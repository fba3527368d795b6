/** Physical drives in storage pools. Source: catalogue clustermgmt.json; behaviour clustermgmt.md 1.8, 2. */
import { names } from '../names.ts'
import { action, get, list, perSecond, remove, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { IPAddress } from '../shapes.ts'
import { Cluster } from './cluster.ts'
import { diskAdmins, diskReaders } from './roles.ts'

const flag = s.readOnly(s.boolean())

const DiskAdvanceConfig = s.object('clustermgmt.v4.config.DiskAdvanceConfig', {
  hasBootPartitionsOnly: flag,
  isBootDisk: flag,
  isDataMigrated: flag,
  isDiagnosticInfoAvailable: flag,
  isErrorFoundInLog: flag,
  isMarkedForRemoval: flag,
  isMounted: flag,
  isOnline: flag,
  isPasswordProtected: flag,
  isPlannedOutage: flag,
  isSelfEncryptingDrive: flag,
  isSelfManagedNvme: flag,
  isSpdkManaged: flag,
  isSuspectedUnhealthy: flag,
  isUnderDiagnosis: flag,
  isUnhealthy: flag,
})

export const storageTier = s.enumeration(['SSD_PCIE', 'SSD_SATA', 'DAS_SATA', 'CLOUD', 'SSD_MEM_NVME'])

/** A released drive keeps its row for 60 s. Clients write nothing here. */
export const Disk = resource('clustermgmt.v4.config.Disk', {
  fields: {
    serialNumber: s.readOnly(s.text({ maxLength: 256 })),
    clusterExtId: s.readOnly(s.uuid()),
    clusterName: s.visibleWith('Cluster', 'clusterExtId', s.readOnly(s.text({ maxLength: 256 }))),
    nodeExtId: s.readOnly(s.uuid()),
    hostName: s.visibleWith('Host', 'nodeExtId', s.readOnly(s.text({ maxLength: 256 }))),
    nodeIpAddress: s.visibleWith('Host', 'nodeExtId', s.readOnly(IPAddress)),
    cvmIpAddress: s.visibleWith('Host', 'nodeExtId', s.readOnly(IPAddress)),
    storagePoolExtId: s.readOnly(s.uuid()),
    /** Slot of the host, from 1. */
    location: s.readOnly(s.integer()),
    mountPath: s.readOnly(s.text()),
    vendor: s.readOnly(s.text({ maxLength: 256 })),
    model: s.readOnly(s.text({ maxLength: 256 })),
    firmwareVersion: s.readOnly(s.text({ maxLength: 256 })),
    targetFirmwareVersion: s.readOnly(s.text({ maxLength: 256 })),
    diskSizeBytes: s.readOnly(s.integer()),
    /** The part that the storage pool uses. */
    physicalCapacityBytes: s.readOnly(s.integer()),
    storageTier: s.readOnly(storageTier),
    status: s.readOnly(
      s.enumeration(['NORMAL', 'MARKED_FOR_REMOVAL_BUT_NOT_DETACHABLE', 'DETACHABLE', 'DATA_MIGRATION_INITIATED']),
    ),
    diskAdvanceConfig: s.readOnly(DiskAdvanceConfig),
    nvmePciePath: s.readOnly(s.text()),
    /** `<cluster>::<number>` of the controller VM. */
    serviceVMId: s.readOnly(s.text()),
  },
  internal: {
    /** While the disk is being removed. */
    removal: s.optionalObject('', {
      taskExtId: s.optional(s.uuid()),
      /** The disk was added again: the task of its removal ends. */
      isCalledOff: s.optional(s.boolean()),
      detachableSince: s.optional(s.timestamp()),
    }),
  },
  indexed: ['nodeExtId', 'status'],
  iam: { serial_number: 'serialNumber', cluster_uuid: 'clusterExtId' },
  unique: [{ fields: ['serialNumber'] }],
  ofCluster: { by: 'clusterExtId' },
})

export const DiskAdditionSpec = s.object('clustermgmt.v4.config.DiskAdditionSpec', {
  serialNumber: s.text({ minLength: 1, maxLength: 256 }),
  diskPartitionInfo: s.optionalObject('clustermgmt.v4.config.DiskPartitionInfo', {
    partitionType: s.withDefault(s.enumeration(['EXT4', 'XFS']), 'EXT4'),
    /** RMA: at least as large as the previous drive of the slot. CAPACITY_UPGRADE: larger. */
    driveReplacementOption: s.optional(s.enumeration(['RMA', 'CAPACITY_UPGRADE'])),
  }),
})

export const LEDStateUpdationSpec = s.object('clustermgmt.v4.config.LEDStateUpdationSpec', { isEngaged: s.boolean() })

const filter = names('clusterName, diskAdvanceConfig/isOnline, hostName, serialNumber, status, storageTier')

const view = { roles: diskReaders, rateLimit: perSecond(10, 10, 15, 20) }
const mutation = { roles: diskAdmins, rateLimit: perSecond(1) }

export const diskOperations = {
  listDisks: list('/config/disks', Disk, {
    ...view,
    filter,
    orderby: [...filter, 'extId'],
    select: 'any',
    apply: filter,
  }),
  getDiskById: get('/config/disks/{extId}', Disk, view),
  deleteDiskById: remove('/config/disks/{extId}', Disk, { ...mutation, runs: 'async' }),
  addDisk: action('/config/clusters/{extId}/$actions/add-disk', {
    ...mutation,
    of: Cluster,
    iam: 'Add_Disk',
    body: DiskAdditionSpec,
  }),
  updateDiskLEDState: action('/config/disks/{extId}/$actions/update-led-state', {
    ...mutation,
    of: Disk,
    iam: 'Update_Disk_LED_State',
    body: LEDStateUpdationSpec,
    envelope: 'clustermgmt.v4.config.UpdateDiskLEDStateTaskResponse',
    versions: ['v4.2'],
  }),
}
