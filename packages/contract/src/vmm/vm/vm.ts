/** Source: catalogue vmm.json; behaviour vmm.md 1.0, 1.1, 2, operation-roles.tsv. */
import { names } from '../../names.ts'
import { action, create, type EntityOf, get, list, remove, resource, update } from '../../operation.ts'
import * as s from '../../schema.ts'
import {
  AvailabilityZoneReference,
  CategoryReference,
  ClusterReference,
  CpuModelReference,
  HostReference,
  OwnershipInfo,
  PolicyReference,
  ProjectReference,
  StorageClusterReference,
  StorageContainerReference,
} from '../references.ts'
import {
  consoleTokenRate,
  vmListRate,
  vmMigrators,
  vmMutationRate,
  vmOperators,
  vmReverters,
  vmSlowMutationRate,
  vmSwitchers,
  vmViewers,
  vmWriters,
} from '../roles.ts'
import {
  AssociateVmCategoriesParams,
  DisassociateVmCategoriesParams,
  GuestPowerOptions,
  RevertParams,
  VmMigrateToHostParams,
} from './actions.ts'
import { LegacyBoot, UefiBoot } from './boot-config.ts'
import { CloneOverrideParams } from './clone.ts'
import { VmCrossClusterMigrateParams } from './cross-cluster-migration.ts'
import { GuestCustomizationParams } from './guest/guest-customization.ts'
import { GuestTools } from './guest/guest-tools.ts'
import { CdRom } from './parts/cd-rom.ts'
import { customAttributes, Disk, HydrationStatus, UpdateCustomAttributesParams } from './parts/disk.ts'
import { DiskMigrationParams } from './parts/disk-migration.ts'
import { Gpu } from './parts/gpu.ts'
import { Nic } from './parts/nic.ts'
import { PcieDevice } from './parts/pcie-device.ts'
import { SerialPort } from './parts/serial-port.ts'

const off = () => s.withDefault(s.boolean(), false)
const on = () => s.withDefault(s.boolean(), true)

export const ApcConfig = s.object('vmm.v4.ahv.config.ApcConfig', {
  isApcEnabled: off(),
  cpuModel: s.optional(CpuModelReference),
})
export const VtpmConfig = s.object('vmm.v4.ahv.config.VtpmConfig', {
  isVtpmEnabled: off(),
  version: s.readOnly(s.text()),
  vtpmDevice: s.optionalObject('vmm.v4.ahv.config.VtpmDevice', {
    diskExtId: s.readOnly(s.uuid()),
    backingFirmwareDiskStorageInfo: s.optionalObject('vmm.v4.ahv.config.BackingFirmwareDiskStorageInfo', {
      storageContainer: s.optional(StorageContainerReference),
    }),
  }),
})
export const ADSFVmStorageConfig = s.object('vmm.v4.ahv.config.ADSFVmStorageConfig', {
  isFlashModeEnabled: s.optional(s.boolean()),
  qosConfig: s.optionalObject('vmm.v4.ahv.config.QosConfig', { throttledIops: s.optional(s.integer({ minimum: 0 })) }),
  hydrationInfo: s.readOnly(
    s.object('vmm.v4.ahv.config.HydrationInfo', { hydrationStatus: s.optional(HydrationStatus) }),
  ),
  storageLocationInfo: s.readOnly(
    s.object('vmm.v4.ahv.config.StorageLocationInfo', { storageCluster: s.optional(StorageClusterReference) }),
  ),
})

export const Vm = resource('vmm.v4.ahv.config.Vm', {
  fields: {
    name: s.text({ minLength: 1, maxLength: 80 }),
    description: s.optional(s.text({ multiline: true })),
    createTime: s.readOnly(s.timestamp()),
    updateTime: s.readOnly(s.timestamp()),
    powerState: s.readOnly(s.enumeration(['ON', 'OFF', 'PAUSED', 'UNDETERMINED'])),
    /** Default: chosen by the server. */
    cluster: s.immutable(s.optional(ClusterReference)),
    // A body with isAgentVm pins the VM to this host; otherwise it is ignored.
    host: s.optional(HostReference),
    availabilityZone: s.readOnly(AvailabilityZoneReference),
    source: s.immutable(
      s.optionalObject('vmm.v4.ahv.config.VmSourceReference', {
        entityType: s.optional(s.enumeration(['VM', 'VM_RECOVERY_POINT'])),
        extId: s.optional(s.uuid()),
      }),
    ),

    // 1 GiB: public clients create VMs without naming a size.
    memorySizeBytes: s.withDefault(s.integer({ minimum: 1 }), 1024 ** 3),
    isMemoryOvercommitEnabled: off(),
    numSockets: s.withDefault(s.integer({ minimum: 1 }), 1),
    numCoresPerSocket: s.withDefault(s.integer({ minimum: 1 }), 1),
    numThreadsPerCore: s.withDefault(s.integer({ minimum: 1 }), 1),
    numNumaNodes: s.withDefault(s.integer({ minimum: 0 }), 0),
    enabledCpuFeatures: s.optional(s.arrayOf(s.enumeration(['HARDWARE_VIRTUALIZATION']), { maxItems: 256 })),
    isCpuPassthroughEnabled: off(),
    isVcpuHardPinningEnabled: off(),
    isCpuHotplugEnabled: on(),
    apcConfig: s.withDefault(ApcConfig, { isApcEnabled: false }),

    // Default: PC; Q35 with secure boot or a virtual TPM.
    machineType: s.optional(s.enumeration(['PC', 'PSERIES', 'Q35'])),
    bootConfig: s.withDefault(s.oneOf(LegacyBoot, UefiBoot), {
      $objectType: 'vmm.v4.ahv.config.LegacyBoot',
      bootOrder: ['CDROM', 'DISK', 'NETWORK'],
    }),
    vtpmConfig: s.withDefault(VtpmConfig, { isVtpmEnabled: false }),
    hardwareClockTimezone: s.withDefault(s.text({ maxLength: 64 }), 'UTC'),
    isAgentVm: off(),
    isBrandingEnabled: on(),
    isVgaConsoleEnabled: on(),
    isGpuConsoleEnabled: off(),
    isScsiControllerEnabled: on(),
    /** Default: the extId. */
    biosUuid: s.optional(s.uuid()),
    generationUuid: s.readOnly(s.uuid()),

    // Used by create only: later changes have their own operations, and an update ignores these fields.
    disks: s.optional(s.arrayOf(Disk.schema, { maxItems: 1024 })),
    cdRoms: s.optional(s.arrayOf(CdRom.schema, { maxItems: 10 })),
    nics: s.optional(s.arrayOf(Nic.schema, { maxItems: 64 })),
    gpus: s.optional(s.arrayOf(Gpu.schema, { maxItems: 16 })),
    pcieDevices: s.optional(s.arrayOf(PcieDevice.schema, { maxItems: 64 })),
    serialPorts: s.optional(s.arrayOf(SerialPort.schema, { maxItems: 4 })),
    categories: s.optional(s.arrayOf(CategoryReference, { maxItems: 256, uniqueItems: true })),
    customAttributes: s.optional(customAttributes()),
    /** Absent until they are enabled for the first time. */
    guestTools: s.optional(GuestTools),

    guestCustomization: s.secret(GuestCustomizationParams),
    vmGuestCustomizationStatus: s.readOnly(s.enumeration(['PENDING'])),
    storageConfig: s.optional(ADSFVmStorageConfig),
    ownershipInfo: s.optional(OwnershipInfo),
    project: s.optional(ProjectReference),
    protectionType: s.withDefault(s.enumeration(['UNPROTECTED', 'PD_PROTECTED', 'RULE_PROTECTED']), 'UNPROTECTED'),
    protectionPolicyState: s.optionalObject('vmm.v4.ahv.config.ProtectionPolicyState', {
      policy: s.optional(PolicyReference),
    }),
    isCrossClusterMigrationInProgress: s.readOnly(s.boolean()),
    /** Absent while OFF. */
    isLiveMigrateCapable: s.readOnly(s.boolean()),
  },
  iamNoun: 'Virtual_Machine',
  iam: {
    category_uuid: 'categories/extId',
    cluster_uuid: 'cluster/extId',
    name: 'name',
    owner_uuid: 'ownershipInfo/owner/extId',
    project_uuid: 'project/extId',
  },
  associationType: 'VM',
  internal: {
    pinnedHostExtId: s.optional(s.uuid()),
    /** Preferred at the next start. */
    lastHostExtId: s.optional(s.uuid()),
    /** The ISO of a pending customisation is in a drive. */
    hasCustomizationIso: s.optional(s.boolean()),
    /** Files that a task creates or moves, with entities that cannot be deleted until it ends. */
    filesUnderWay: s.optional(
      s.arrayOf(
        s.object('', {
          diskExtId: s.uuid(),
          imageExtId: s.optional(s.referenceTo('Image')),
          containerExtId: s.optional(s.referenceTo('StorageContainer')),
        }),
      ),
    ),
    /** Bytes at the time of the change, for disks that were added, resized or filled anew after the creation of the VM. */
    diskFills: s.optional(
      s.arrayOf(
        s.object('', {
          diskExtId: s.uuid(),
          since: s.timestamp(),
          writtenBytes: s.integer({ minimum: 0 }),
          /** Absent: as old as the VM. */
          addedAt: s.optional(s.timestamp()),
        }),
      ),
    ),
    addedDriveExtId: s.optional(s.uuid()),
    hostSilentSince: s.optional(s.timestamp()),
    /** The effect of the last staged customisation on a guest: its name, and NIC addresses by index. */
    guestSettings: s.optionalObject('', {
      computerName: s.optional(s.text()),
      addresses: s.optional(s.arrayOf(s.object('', { nic: s.integer(), address: s.text() }))),
    }),
    /** Static addresses that the guest tools set, by the index of the NIC. */
    toolsAddresses: s.optional(s.arrayOf(s.object('', { nic: s.integer(), addresses: s.arrayOf(s.text()) }))),
    /** The guest reboots then, to start its new tools. */
    toolsRebootAt: s.optional(s.timestamp()),
    /** A migration that a user started, to a host or to a cluster. */
    migrationTaskExtId: s.optional(s.taskId()),
  },
  indexed: ['hasCustomizationIso', 'hostSilentSince', 'toolsRebootAt'],
  unique: [{ fields: ['cluster/extId', 'biosUuid'] }],
  staleTag: 'VM_ETAG_MISMATCH',
  ofCluster: { by: 'cluster/extId', keptByManager: ['categories', 'ownershipInfo'] },
})
export type Vm = EntityOf<typeof Vm>

const view = { iam: 'View_Existing_Virtual_Machine', roles: vmViewers }
const mutation = { rateLimit: vmMutationRate, requestId: 'required' } as const
const acting = { ...mutation, of: Vm, ifMatch: 'required' } as const
const switching = { ...mutation, of: Vm, roles: vmSwitchers, ifMatch: 'required' } as const
const operating = { ...switching, roles: vmOperators }
const attributing = { of: Vm, roles: vmWriters, rateLimit: vmMutationRate, body: UpdateCustomAttributesParams } as const

export const vmOperations = {
  listVms: list('/ahv/config/vms', Vm, {
    ...view,
    rateLimit: vmListRate,
    filter: names(`
      apcConfig/cpuModel/extId, apcConfig/cpuModel/name, apcConfig/isApcEnabled, biosUuid, categories/extId,
      cluster/extId, createTime, description, extId, gpus, hardwareClockTimezone, host/extId, isAgentVm,
      isCpuHotplugEnabled, isCpuPassthroughEnabled, isGpuConsoleEnabled, isLiveMigrateCapable,
      isMemoryOvercommitEnabled, isScsiControllerEnabled, isVcpuHardPinningEnabled, isVgaConsoleEnabled, machineType,
      memorySizeBytes, name, nics, numCoresPerSocket, numNumaNodes, numSockets, numThreadsPerCore,
      ownershipInfo/owner/extId, powerState, project/extId, updateTime
    `),
    orderby: names(`
      createTime, memorySizeBytes, name, numCoresPerSocket, numNumaNodes, numSockets, numThreadsPerCore, updateTime
    `),
    // All fields of the catalogue except guestCustomization, which is a secret.
    select: names(`
      apcConfig/cpuModel/extId, apcConfig/cpuModel/name, apcConfig/isApcEnabled, availabilityZone, biosUuid, bootConfig,
      categories, cdRoms, cluster/extId, createTime, description, disks, enabledCpuFeatures, extId, generationUuid,
      gpus, guestTools, hardwareClockTimezone, host/extId, isAgentVm, isBrandingEnabled, isCpuHotplugEnabled,
      isCpuPassthroughEnabled, isCrossClusterMigrationInProgress, isGpuConsoleEnabled, isLiveMigrateCapable,
      isMemoryOvercommitEnabled, isScsiControllerEnabled, isVcpuHardPinningEnabled, isVgaConsoleEnabled, links,
      machineType, memorySizeBytes, name, nics, numCoresPerSocket, numNumaNodes, numSockets, numThreadsPerCore,
      ownershipInfo, pcieDevices, powerState, protectionPolicyState, protectionType, serialPorts, source, storageConfig,
      tenantId, updateTime, vtpmConfig
    `),
  }),
  createVm: create('/ahv/config/vms', Vm, {
    ...mutation,
    iam: 'Create_New_Virtual_Machine',
    roles: [...vmWriters, 'Backup Admin', 'Disaster Recovery Admin', 'Management Connector'],
  }),
  getVmById: get('/ahv/config/vms/{extId}', Vm, view),
  updateVmById: update('/ahv/config/vms/{extId}', Vm, {
    ...mutation,
    iam: 'Update_Virtual_Machine_Basic_Config',
    roles: [...vmWriters, 'Backup Admin', 'Management Connector'],
  }),
  deleteVmById: remove('/ahv/config/vms/{extId}', Vm, {
    ...mutation,
    iam: 'Delete_Existing_Virtual_Machine',
    roles: [...vmWriters, 'Backup Admin', 'Management Connector'],
    ifMatch: 'required',
  }),
  cloneVm: action('/ahv/config/vms/{extId}/$actions/clone', {
    ...acting,
    body: CloneOverrideParams,
    iam: 'Clone_Existing_Virtual_Machine',
    roles: [...vmWriters, 'Management Connector'],
  }),
  assignVmOwner: action('/ahv/config/vms/{extId}/$actions/assign-owner', {
    ...acting,
    body: OwnershipInfo,
    roles: vmWriters,
  }),
  associateCategories: action('/ahv/config/vms/{extId}/$actions/associate-categories', {
    ...acting,
    body: AssociateVmCategoriesParams,
    iam: 'Associate_Virtual_Machine_Categories',
    roles: [...vmWriters, 'Management Connector'],
  }),
  disassociateCategories: action('/ahv/config/vms/{extId}/$actions/disassociate-categories', {
    ...acting,
    body: DisassociateVmCategoriesParams,
    iam: 'Disassociate_Virtual_Machine_Categories',
    roles: [...vmWriters, 'Management Connector'],
  }),
  customizeGuestVm: action('/ahv/config/vms/{extId}/$actions/customize-guest', {
    ...acting,
    body: GuestCustomizationParams,
    iam: 'Customize_Virtual_Machine_Guest',
    roles: vmWriters,
    rateLimit: vmSlowMutationRate,
  }),
  generateConsoleTokenById: action('/ahv/config/vms/{extId}/$actions/generate-console-token', {
    of: Vm,
    iam: 'Generate_Virtual_Machine_Console_Token',
    roles: vmOperators,
    rateLimit: consoleTokenRate,
  }),
  crossClusterMigrateVm: action('/ahv/config/vms/{extId}/$actions/migrate', {
    ...acting,
    body: VmCrossClusterMigrateParams,
    iam: 'Migrate_Virtual_Machine_Across_Clusters',
    roles: vmMigrators,
    rateLimit: vmSlowMutationRate,
    dryRun: true,
  }),
  migrateVmToHost: action('/ahv/config/vms/{extId}/$actions/migrate-to-host', {
    ...acting,
    body: VmMigrateToHostParams,
    roles: vmMigrators,
    rateLimit: vmSlowMutationRate,
  }),
  revertVm: action('/ahv/config/vms/{extId}/$actions/revert', {
    ...acting,
    body: RevertParams,
    iam: 'Revert_Existing_Virtual_Machine',
    roles: vmReverters,
    rateLimit: vmSlowMutationRate,
  }),
  powerOnVm: action('/ahv/config/vms/{extId}/$actions/power-on', switching),
  powerOffVm: action('/ahv/config/vms/{extId}/$actions/power-off', switching),
  resetVm: action('/ahv/config/vms/{extId}/$actions/reset', operating),
  shutdownVm: action('/ahv/config/vms/{extId}/$actions/shutdown', {
    ...operating,
    iam: 'ACPI_Shutdown_Virtual_Machine',
  }),
  addVmCustomAttributes: action('/ahv/config/vms/{extId}/$actions/add-custom-attributes', {
    ...attributing,
    iam: 'Add_Virtual_Machine_Custom_Attributes',
  }),
  removeVmCustomAttributes: action('/ahv/config/vms/{extId}/$actions/remove-custom-attributes', {
    ...attributing,
    iam: 'Remove_Virtual_Machine_Custom_Attributes',
  }),
  migrateVmDisks: action('/ahv/config/vms/{extId}/$actions/migrate-vm-disks', {
    ...switching,
    iam: 'Migrate_Virtual_Machine_Disk',
    roles: vmWriters,
    rateLimit: vmSlowMutationRate,
    body: DiskMigrationParams,
  }),
  rebootVm: action('/ahv/config/vms/{extId}/$actions/reboot', { ...operating, iam: 'ACPI_Reboot_Virtual_Machine' }),
  powerCycleVm: action('/ahv/config/vms/{extId}/$actions/power-cycle', operating),
  shutdownGuestVm: action('/ahv/config/vms/{extId}/$actions/guest-shutdown', {
    ...operating,
    body: GuestPowerOptions,
    envelope: 'vmm.v4.ahv.config.ShutdownVmApiResponse',
  }),
  rebootGuestVm: action('/ahv/config/vms/{extId}/$actions/guest-reboot', {
    ...operating,
    body: GuestPowerOptions,
    envelope: 'vmm.v4.ahv.config.RebootVmApiResponse',
  }),
}
