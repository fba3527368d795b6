/** A frozen state of a VM. Source: catalogue vmm.json; behaviour vmm.md 1.6, 2, operation-roles.tsv. */
import { names } from '../../names.ts'
import { action, create, get, list, remove, resource } from '../../operation.ts'
import type { RoleName } from '../../roles.ts'
import * as s from '../../schema.ts'
import { IPv4Address } from '../../shapes.ts'
import { ExternVm } from '../extern/vm.ts'
import { CategoryReference, OwnershipInfo, SubnetReference } from '../references.ts'
import { vmSlowMutationRate } from '../roles.ts'
import { macAddress } from './parts/nic.ts'
import { Vm } from './vm.ts'

export const VssProperties = s.object('dataprotection.v4.common.VssProperties', {
  backupType: s.enumeration(['FULL_BACKUP', 'COPY_BACKUP']),
  shouldIncludeWriters: s.withDefault(s.boolean(), false),
  shouldStoreVssMetadata: s.withDefault(s.boolean(), false),
  writers: s.optional(s.arrayOf(s.text())),
})

const DiskRecoveryPoint = s.object('dataprotection.v4.common.DiskRecoveryPoint', {
  diskExtId: s.optional(s.uuid()),
  diskRecoveryPointExtId: s.optional(s.uuid()),
})

const requested = {
  /** Default: the name of the VM and the time. */
  name: s.optional(s.text({ minLength: 1, maxLength: 256 })),
  recoveryPointType: s.withDefault(s.enumeration(['CRASH_CONSISTENT', 'APPLICATION_CONSISTENT']), 'CRASH_CONSISTENT'),
  expirationTime: s.optional(s.timestamp()),
  applicationConsistentProperties: s.optional(s.oneOf(VssProperties)),
} as const

export const VmRecoveryPoint = resource('vmm.v4.ahv.config.VmRecoveryPoint', {
  fields: {
    ...requested,
    // Not a reference: the recovery point outlives its VM.
    vmExtId: s.uuid(),
    creationTime: s.readOnly(s.timestamp()),
    status: s.readOnly(s.enumeration(['COMPLETE'])),
    locationAgnosticId: s.readOnly(s.uuid()),
    consistencyGroupExtId: s.readOnly(s.uuid()),
    totalExclusiveUsageBytes: s.readOnly(s.integer()),
    diskRecoveryPoints: s.readOnly(s.arrayOf(DiskRecoveryPoint)),
    /** `key/value`. */
    vmCategories: s.readOnly(s.arrayOf(s.text())),
    // The entities that the VM names may be deleted while the recovery point exists.
    vm: s.readOnly(s.ofAnotherWorld(Vm.schema)),
  },
  iamNoun: 'Virtual_Machine_Recovery_Point',
  iam: { cluster_uuid: 'clusterExtId', name: 'name' },
  rel: 'dataprotection:config:vm-recovery-point',
  internal: {
    clusterExtId: s.uuid(),
    /** The containers that hold its layers cannot be deleted. */
    containerExtIds: s.optional(s.arrayOf(s.referenceTo('StorageContainer'))),
    driveRecoveryPoints: s.optional(s.arrayOf(DiskRecoveryPoint)),
    pinnedHostExtId: s.optional(s.uuid()),
    /** An external management keeps the VM and the layers. */
    externVm: s.optional(s.ofAnotherWorld(ExternVm.schema)),
  },
  indexed: ['vmExtId', 'expirationTime', 'clusterExtId'],
  ofCluster: { by: 'clusterExtId' },
})

export const NewVmRecoveryPoint = s.object('vmm.v4.ahv.config.VmRecoveryPoint', {
  ...requested,
  vmExtId: s.referenceToEither('Vm', 'ExternVm'),
})

const GuestStaticIpSpec = s.object('vmm.v4.ahv.config.GuestStaticIpSpec', {
  ipv4Address: s.optional(IPv4Address),
  gatewayIpv4AddressList: s.optional(s.arrayOf(IPv4Address, { maxItems: 8 })),
})

const VmRestoreNicConfigOverrideParams = s.object('vmm.v4.ahv.config.VmRestoreNicConfigOverrideParams', {
  nicExtId: s.uuid(),
  nicBackingInfo: s.optional(
    s.oneOf(
      s.object('vmm.v4.ahv.config.VmRestoreVirtualEthernetNicOverrideSpec', { macAddress: s.optional(macAddress()) }),
    ),
  ),
  nicNetworkInfo: s.optional(
    s.oneOf(
      s.object('vmm.v4.ahv.config.VmRestoreVirtualEthernetNicNetworkInfoOverrideSpec', {
        subnet: s.optional(SubnetReference),
        ipv4Config: s.optionalObject('vmm.v4.ahv.config.VmRestoreIpv4ConfigOverrideSpec', {
          ipAddress: s.optional(IPv4Address),
          secondaryIpAddressList: s.optional(s.arrayOf(IPv4Address, { maxItems: 100 })),
        }),
      }),
    ),
  ),
  /** Addresses that the tools set in the guest. */
  guestNicInfo: s.optionalObject('vmm.v4.ahv.config.VmRestoreGuestNicInfoOverrideSpec', {
    guestStaticIpList: s.optional(s.arrayOf(GuestStaticIpSpec, { maxItems: 100 })),
  }),
})

const VmConfigOverrideSpecification = s.object('vmm.v4.ahv.config.VmConfigOverrideSpecification', {
  name: s.optional(s.text({ minLength: 1, maxLength: 80 })),
  description: s.optional(s.text({ multiline: true })),
  categories: s.optional(s.arrayOf(CategoryReference, { maxItems: 256, uniqueItems: true })),
  ownershipInfo: s.optional(OwnershipInfo),
  nicSpec: s.optionalObject('vmm.v4.ahv.config.VmRestoreNicConfigSpecification', {
    nicOverrideList: s.optional(s.arrayOf(VmRestoreNicConfigOverrideParams)),
    nicRemoveList: s.optional(s.arrayOf(s.uuid())),
  }),
  guestToolsSpec: s.optionalObject('vmm.v4.ahv.config.VmRestoreGuestToolsSpecification', {
    shouldClearInGuestVolumeGroupAttachments: s.withDefault(s.boolean(), false),
  }),
})

export const RestoreVmRecoveryPointParams = s.object('vmm.v4.ahv.config.RestoreVmRecoveryPointParams', {
  isStrictMode: s.withDefault(s.boolean(), true),
  vmConfigOverrideSpec: s.optional(VmConfigOverrideSpecification),
})

const writers: readonly RoleName[] = names(`
  Backup Admin, CSI System, Disaster Recovery Admin, Kubernetes Data Services System, Platform Admin, Project Manager,
  Self-Service Admin (deprecated), Super Admin, Virtual Machine Admin
`)
const readers: readonly RoleName[] = [
  ...writers.filter((role) => role !== 'Virtual Machine Admin'),
  'Disaster Recovery Viewer',
  'Platform Viewer',
]

const view = { roles: readers }
const mutation = { roles: writers, rateLimit: vmSlowMutationRate } as const
const fields = names(`
  creationTime, expirationTime, extId, locationAgnosticId, name, recoveryPointType, status, vmExtId
`)

export const vmRecoveryPointOperations = {
  listVmRecoveryPoints: list('/ahv/config/vm-recovery-points', VmRecoveryPoint, {
    ...view,
    filter: fields,
    orderby: fields,
    select: fields,
  }),
  createVmRecoveryPoint: create('/ahv/config/vm-recovery-points', VmRecoveryPoint, {
    ...mutation,
    body: NewVmRecoveryPoint,
    envelope: 'vmm.v4.ahv.config.CreateVMRecoveryPointApiResponse',
  }),
  getVmRecoveryPointByExtId: get('/ahv/config/vm-recovery-points/{extId}', VmRecoveryPoint, view),
  deleteVmRecoveryPointByExtId: remove('/ahv/config/vm-recovery-points/{extId}', VmRecoveryPoint, mutation),
  restoreVmRecoveryPoint: action('/ahv/config/vm-recovery-points/{extId}/$actions/restore', {
    ...mutation,
    of: VmRecoveryPoint,
    body: RestoreVmRecoveryPointParams,
  }),
}
