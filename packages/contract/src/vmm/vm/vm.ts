/**
 * A virtual machine on the native hypervisor of one cluster.
 * Source: catalogue vmm.json; behaviour vmm.md 1.0, 1.1, 2, operation-roles.tsv.
 */
import { action, create, get, list, remove, resource, update } from '../../operation.ts'
import {
  arrayOf,
  boolean,
  enumeration,
  immutable,
  integer,
  object,
  oneOf,
  optional,
  readOnly,
  referenceTo,
  secret,
  text,
  timestamp,
  uuid,
  withDefault,
} from '../../schema.ts'
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
import { getRate, vmListRate, vmMutationRate, vmOperators, vmSwitchers, vmViewers, vmWriters } from '../roles.ts'
import { LegacyBoot, UefiBoot } from './boot-config.ts'
import { GuestCustomizationParams } from './guest/guest-customization.ts'
import { GuestTools } from './guest/guest-tools.ts'
import { CdRom } from './parts/cd-rom.ts'
import { customAttributes, Disk, HydrationStatus } from './parts/disk.ts'
import { Gpu } from './parts/gpu.ts'
import { Nic } from './parts/nic.ts'
import { PcieDevice } from './parts/pcie-device.ts'
import { SerialPort } from './parts/serial-port.ts'

const off = () => withDefault(boolean(), false)
const on = () => withDefault(boolean(), true)

export const ApcConfig = object('vmm.v4.ahv.config.ApcConfig', {
  isApcEnabled: off(),
  cpuModel: optional(CpuModelReference),
})
export const VtpmConfig = object('vmm.v4.ahv.config.VtpmConfig', {
  isVtpmEnabled: off(),
  version: readOnly(text()),
  vtpmDevice: optional(
    object('vmm.v4.ahv.config.VtpmDevice', {
      diskExtId: readOnly(uuid()),
      backingFirmwareDiskStorageInfo: optional(
        object('vmm.v4.ahv.config.BackingFirmwareDiskStorageInfo', {
          storageContainer: optional(StorageContainerReference),
        }),
      ),
    }),
  ),
})
export const ADSFVmStorageConfig = object('vmm.v4.ahv.config.ADSFVmStorageConfig', {
  isFlashModeEnabled: optional(boolean()),
  qosConfig: optional(object('vmm.v4.ahv.config.QosConfig', { throttledIops: optional(integer({ minimum: 0 })) })),
  hydrationInfo: readOnly(object('vmm.v4.ahv.config.HydrationInfo', { hydrationStatus: optional(HydrationStatus) })),
  storageLocationInfo: readOnly(
    object('vmm.v4.ahv.config.StorageLocationInfo', { storageCluster: optional(StorageClusterReference) }),
  ),
})

export const Vm = resource(
  'vmm.v4.ahv.config.Vm',
  {
    name: text({ minLength: 1, maxLength: 80 }),
    description: optional(text({ multiline: true })),
    createTime: readOnly(timestamp()),
    updateTime: readOnly(timestamp()),
    powerState: readOnly(enumeration(['ON', 'OFF', 'PAUSED', 'UNDETERMINED'])),
    /** Absent at creation: chosen by the server. */
    cluster: immutable(optional(ClusterReference)),
    // Writable: a body with isAgentVm pins the VM to this host; otherwise it is ignored.
    host: optional(HostReference),
    availabilityZone: readOnly(AvailabilityZoneReference),
    source: immutable(
      optional(
        object('vmm.v4.ahv.config.VmSourceReference', {
          entityType: optional(enumeration(['VM', 'VM_RECOVERY_POINT'])),
          extId: optional(uuid()),
        }),
      ),
    ),

    // 1 GiB: public clients create VMs without naming a size.
    memorySizeBytes: withDefault(integer({ minimum: 1 }), 1024 ** 3),
    isMemoryOvercommitEnabled: off(),
    numSockets: withDefault(integer({ minimum: 1 }), 1),
    numCoresPerSocket: withDefault(integer({ minimum: 1 }), 1),
    numThreadsPerCore: withDefault(integer({ minimum: 1 }), 1),
    numNumaNodes: withDefault(integer({ minimum: 0 }), 0),
    enabledCpuFeatures: optional(arrayOf(enumeration(['HARDWARE_VIRTUALIZATION']), { maxItems: 256 })),
    isCpuPassthroughEnabled: off(),
    isVcpuHardPinningEnabled: off(),
    isCpuHotplugEnabled: on(),
    apcConfig: withDefault(ApcConfig, { isApcEnabled: false }),

    // Defaults to PC, or to Q35 where secure boot or a virtual TPM asks for it.
    machineType: optional(enumeration(['PC', 'PSERIES', 'Q35'])),
    bootConfig: withDefault(oneOf(LegacyBoot, UefiBoot), {
      $objectType: 'vmm.v4.ahv.config.LegacyBoot',
      bootOrder: ['CDROM', 'DISK', 'NETWORK'],
    }),
    vtpmConfig: withDefault(VtpmConfig, { isVtpmEnabled: false }),
    hardwareClockTimezone: withDefault(text({ maxLength: 64 }), 'UTC'),
    isAgentVm: off(),
    isBrandingEnabled: on(),
    isVgaConsoleEnabled: on(),
    isGpuConsoleEnabled: off(),
    isScsiControllerEnabled: on(),
    /** Set by the server; default: the extId. */
    biosUuid: optional(uuid()),
    generationUuid: readOnly(uuid()),

    // Used by create only; afterwards they have their own operations, and an update ignores them.
    disks: optional(arrayOf(Disk.schema, { maxItems: 1024 })),
    cdRoms: optional(arrayOf(CdRom.schema, { maxItems: 10 })),
    nics: optional(arrayOf(Nic.schema, { maxItems: 64 })),
    gpus: optional(arrayOf(Gpu.schema, { maxItems: 16 })),
    pcieDevices: optional(arrayOf(PcieDevice.schema, { maxItems: 64 })),
    serialPorts: optional(arrayOf(SerialPort.schema, { maxItems: 4 })),
    categories: optional(arrayOf(CategoryReference, { maxItems: 256, uniqueItems: true })),
    customAttributes: optional(customAttributes()),
    /** Absent until they are enabled for the first time. */
    guestTools: optional(GuestTools),

    guestCustomization: secret(GuestCustomizationParams),
    vmGuestCustomizationStatus: readOnly(enumeration(['PENDING'])),
    storageConfig: optional(ADSFVmStorageConfig),
    ownershipInfo: optional(OwnershipInfo),
    project: optional(ProjectReference),
    protectionType: withDefault(enumeration(['UNPROTECTED', 'PD_PROTECTED', 'RULE_PROTECTED']), 'UNPROTECTED'),
    protectionPolicyState: optional(
      object('vmm.v4.ahv.config.ProtectionPolicyState', { policy: optional(PolicyReference) }),
    ),
    isCrossClusterMigrationInProgress: readOnly(boolean()),
    /** Absent while OFF. */
    isLiveMigrateCapable: readOnly(boolean()),
  },
  {
    title: 'VM',
    iam: {
      name: 'virtual_machine',
      attributes: {
        category_uuid: 'categories/extId',
        cluster_uuid: 'cluster/extId',
        name: 'name',
        owner_uuid: 'ownershipInfo/owner/extId',
        project_uuid: 'project/extId',
      },
    },
    rel: 'vmm:ahv:config:vm',
    internal: {
      /** The host that an agent VM is bound to. */
      pinnedHostExtId: optional(uuid()),
      /** The host of the last run; preferred at the next start. */
      lastHostExtId: optional(uuid()),
      /** Images that the running creation reads: they cannot be deleted until it ends. */
      imagesRead: optional(arrayOf(referenceTo('Image'))),
      /** The ISO of a pending customisation is in a drive. */
      hasCustomizationIso: optional(boolean()),
      /** The drive that was added for that ISO. */
      addedDriveExtId: optional(uuid()),
      /** Start of the time in which its host has not answered. */
      hostSilentSince: optional(timestamp()),
    },
    indexed: ['hasCustomizationIso', 'hostSilentSince'],
    unique: [{ fields: ['cluster/extId', 'biosUuid'] }],
    notFound: 'VMM_ENTITY_NOT_FOUND',
    staleTag: 'VM_ETAG_MISMATCH',
    ofCluster: { by: 'cluster/extId', keptByManager: ['categories', 'ownershipInfo'] },
  },
)

export const vmOperations = {
  listVms: list('/ahv/config/vms', Vm, {
    iam: 'View_Existing_Virtual_Machine',
    roles: vmViewers,
    rateLimit: vmListRate,
    filter: [
      'apcConfig/cpuModel/extId',
      'apcConfig/cpuModel/name',
      'apcConfig/isApcEnabled',
      'biosUuid',
      'categories/extId',
      'cluster/extId',
      'createTime',
      'description',
      'extId',
      'gpus',
      'hardwareClockTimezone',
      'host/extId',
      'isAgentVm',
      'isCpuHotplugEnabled',
      'isCpuPassthroughEnabled',
      'isGpuConsoleEnabled',
      'isLiveMigrateCapable',
      'isMemoryOvercommitEnabled',
      'isScsiControllerEnabled',
      'isVcpuHardPinningEnabled',
      'isVgaConsoleEnabled',
      'machineType',
      'memorySizeBytes',
      'name',
      'nics',
      'numCoresPerSocket',
      'numNumaNodes',
      'numSockets',
      'numThreadsPerCore',
      'ownershipInfo/owner/extId',
      'powerState',
      'project/extId',
      'updateTime',
    ],
    orderby: [
      'createTime',
      'memorySizeBytes',
      'name',
      'numCoresPerSocket',
      'numNumaNodes',
      'numSockets',
      'numThreadsPerCore',
      'updateTime',
    ],
    // All fields of the catalogue except guestCustomization, which is a secret.
    select: [
      'apcConfig/cpuModel/extId',
      'apcConfig/cpuModel/name',
      'apcConfig/isApcEnabled',
      'availabilityZone',
      'biosUuid',
      'bootConfig',
      'categories',
      'cdRoms',
      'cluster/extId',
      'createTime',
      'description',
      'disks',
      'enabledCpuFeatures',
      'extId',
      'generationUuid',
      'gpus',
      'guestTools',
      'hardwareClockTimezone',
      'host/extId',
      'isAgentVm',
      'isBrandingEnabled',
      'isCpuHotplugEnabled',
      'isCpuPassthroughEnabled',
      'isCrossClusterMigrationInProgress',
      'isGpuConsoleEnabled',
      'isLiveMigrateCapable',
      'isMemoryOvercommitEnabled',
      'isScsiControllerEnabled',
      'isVcpuHardPinningEnabled',
      'isVgaConsoleEnabled',
      'links',
      'machineType',
      'memorySizeBytes',
      'name',
      'nics',
      'numCoresPerSocket',
      'numNumaNodes',
      'numSockets',
      'numThreadsPerCore',
      'ownershipInfo',
      'pcieDevices',
      'powerState',
      'protectionPolicyState',
      'protectionType',
      'serialPorts',
      'source',
      'storageConfig',
      'tenantId',
      'updateTime',
      'vtpmConfig',
    ],
  }),
  createVm: create('/ahv/config/vms', Vm, {
    iam: 'Create_New_Virtual_Machine',
    roles: [...vmWriters, 'Backup Admin', 'Disaster Recovery Admin', 'Management Connector'],
    rateLimit: vmMutationRate,
    requestId: 'required',
  }),
  getVmById: get('/ahv/config/vms/{extId}', Vm, {
    iam: 'View_Existing_Virtual_Machine',
    roles: vmViewers,
    rateLimit: getRate,
  }),
  updateVmById: update('/ahv/config/vms/{extId}', Vm, {
    iam: 'Update_Virtual_Machine_Basic_Config',
    roles: [...vmWriters, 'Backup Admin', 'Management Connector'],
    rateLimit: vmMutationRate,
    ifMatch: 'required',
    requestId: 'required',
  }),
  deleteVmById: remove('/ahv/config/vms/{extId}', Vm, {
    iam: 'Delete_Existing_Virtual_Machine',
    roles: [...vmWriters, 'Backup Admin', 'Management Connector'],
    rateLimit: vmMutationRate,
    ifMatch: 'required',
    requestId: 'required',
  }),
  powerOnVm: action('/ahv/config/vms/{extId}/$actions/power-on', {
    of: Vm,
    iam: 'Power_On_Virtual_Machine',
    roles: vmSwitchers,
    rateLimit: vmMutationRate,
    ifMatch: 'required',
    requestId: 'required',
  }),
  powerOffVm: action('/ahv/config/vms/{extId}/$actions/power-off', {
    of: Vm,
    iam: 'Power_Off_Virtual_Machine',
    roles: vmSwitchers,
    rateLimit: vmMutationRate,
    ifMatch: 'required',
    requestId: 'required',
  }),
  resetVm: action('/ahv/config/vms/{extId}/$actions/reset', {
    of: Vm,
    iam: 'Reset_Virtual_Machine',
    roles: vmOperators,
    rateLimit: vmMutationRate,
    ifMatch: 'required',
    requestId: 'required',
  }),
  shutdownVm: action('/ahv/config/vms/{extId}/$actions/shutdown', {
    of: Vm,
    iam: 'ACPI_Shutdown_Virtual_Machine',
    roles: vmOperators,
    rateLimit: vmMutationRate,
    ifMatch: 'required',
    requestId: 'required',
  }),
}
