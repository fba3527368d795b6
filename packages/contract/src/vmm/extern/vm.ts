/**
 * A virtual machine of an external hypervisor: discovered, never created or deleted here. Categories, owner and
 * settings of the guest tools are stored here; everything else mirrors the external manager.
 * Source: catalogue vmm.json; behaviour vmm.md 1.7, 2.
 */
import { action, baseFields, get, list, resource } from '../../operation.ts'
import { arrayOf, boolean, enumeration, integer, object, optional, referenceTo, text, uuid } from '../../schema.ts'
import { IPv4Address } from '../../shapes.ts'
import { getRate, vmListRate, vmMutationRate, vmOperators, vmSwitchers, vmViewers } from '../roles.ts'
import { guestInfo, guestTools } from '../vm/guest/guest-tools.ts'
import { macAddress } from '../vm/parts/nic.ts'

const reference = (type: string) => object(`vmm.v4.extern.config.${type}`, { extId: optional(uuid()) })

// The only reference that is stored here; all others are reported by the external manager.
const CategoryReference = object('vmm.v4.extern.config.CategoryReference', { extId: optional(referenceTo('Category')) })
const StorageContainerReference = reference('VmDiskContainerReference')

export const ExternDisk = object('vmm.v4.extern.config.Disk', {
  ...baseFields,
  diskAddress: optional(
    object('vmm.v4.extern.config.DiskAddress', {
      busType: optional(enumeration(['SCSI', 'IDE', 'SATA', 'NVME'])),
      index: optional(integer({ minimum: 0 })),
    }),
  ),
  backingInfo: optional(
    object('vmm.v4.extern.config.VmDisk', {
      diskSizeBytes: optional(integer({ minimum: 1 })),
      storageContainer: optional(StorageContainerReference),
      storageConfig: optional(
        object('vmm.v4.extern.config.VmDiskStorageConfig', { isFlashModeEnabled: optional(boolean()) }),
      ),
    }),
  ),
})

export const ExternCdRom = object('vmm.v4.extern.config.CdRom', {
  ...baseFields,
  diskAddress: optional(
    object('vmm.v4.extern.config.CdRomAddress', {
      busType: optional(enumeration(['IDE', 'SATA'])),
      index: optional(integer({ minimum: 0 })),
    }),
  ),
  backingInfo: optional(
    object('vmm.v4.extern.config.CdRomBackingInfo', {
      diskExtId: optional(uuid()),
      storageContainer: optional(StorageContainerReference),
    }),
  ),
})

export const ExternNic = object('vmm.v4.extern.config.Nic', {
  ...baseFields,
  backingInfo: optional(
    object('vmm.v4.extern.config.NicBackingInfo', {
      adapterType: optional(enumeration(['E1000', 'PCNET32', 'VMXNET', 'VMXNET2', 'VMXNET3', 'E1000E', 'SRIOV'])),
      macAddress: optional(macAddress()),
      isConnected: optional(boolean()),
    }),
  ),
  networkInfo: optional(
    object('vmm.v4.extern.config.NicNetworkInfo', {
      portGroupInfo: optional(
        object('vmm.v4.extern.config.PortGroupInfo', { name: optional(text({ maxLength: 128 })) }),
      ),
      ipAddressInfo: optional(
        object('vmm.v4.extern.config.IpAddressInfo', {
          ipv4Addresses: optional(arrayOf(IPv4Address, { maxItems: 128 })),
          ipv6Addresses: optional(arrayOf(text(), { maxItems: 128 })),
        }),
      ),
    }),
  ),
})

export const ExternVm = resource(
  'vmm.v4.extern.config.Vm',
  {
    name: optional(text({ maxLength: 80 })),
    description: optional(text({ multiline: true })),
    powerState: optional(enumeration(['ON', 'OFF', 'SUSPENDED', 'UNDETERMINED'])),
    cluster: optional(reference('ClusterReference')),
    host: optional(reference('HostReference')),
    memorySizeBytes: optional(integer({ minimum: 1 })),
    numCpus: optional(integer({ minimum: 1 })),
    numCoresPerSocket: optional(integer({ minimum: 1 })),
    guestOsName: optional(text({ maxLength: 256 })),
    virtualHardwareVersion: optional(integer({ minimum: 1 })),
    disks: optional(arrayOf(ExternDisk, { maxItems: 256 })),
    cdRoms: optional(arrayOf(ExternCdRom, { maxItems: 256 })),
    nics: optional(arrayOf(ExternNic, { maxItems: 32 })),
    categories: optional(arrayOf(CategoryReference, { maxItems: 256 })),
    ownershipInfo: optional(
      object('vmm.v4.extern.config.OwnershipInfo', {
        owner: object('vmm.v4.extern.config.OwnerReference', {
          entityType: optional(enumeration(['USER'])),
          extId: optional(uuid()),
        }),
      }),
    ),
    nutanixGuestTools: optional(
      object('vmm.v4.extern.config.NutanixGuestTools', {
        ...guestTools,
        guestInfo: optional(object('vmm.v4.extern.config.GuestInfo', guestInfo)),
      }),
    ),
  },
  {
    kind: 'ExternVm',
    title: 'external VM',
    iam: {
      name: 'external_virtual_machine',
      attributes: {
        category_uuid: 'categories/extId',
        cluster_uuid: 'cluster/extId',
        name: 'name',
        owner_uuid: 'ownershipInfo/owner/extId',
      },
    },
    rel: 'vmm:extern:config:vm',
    notFound: 'VMM_ENTITY_NOT_FOUND',
    staleTag: 'VM_ETAG_MISMATCH',
    ofCluster: { by: 'cluster/extId', keptByManager: ['categories', 'ownershipInfo'] },
  },
)

export const externVmOperations = {
  listVms: list('/extern/config/vms', ExternVm, {
    iam: 'View_External_Virtual_Machine',
    roles: vmViewers,
    rateLimit: vmListRate,
    filter: [
      'categories/extId',
      'cluster/extId',
      'description',
      'extId',
      'guestOsName',
      'host/extId',
      'memorySizeBytes',
      'name',
      'numCoresPerSocket',
      'numCpus',
      'powerState',
      'virtualHardwareVersion',
    ],
    orderby: ['guestOsName', 'memorySizeBytes', 'name', 'numCoresPerSocket', 'numCpus', 'virtualHardwareVersion'],
    select: 'any',
  }),
  getVmById: get('/extern/config/vms/{extId}', ExternVm, {
    iam: 'View_External_Virtual_Machine',
    roles: vmViewers,
    rateLimit: getRate,
  }),
  powerOnVm: action('/extern/config/vms/{extId}/$actions/power-on', {
    of: ExternVm,
    iam: 'Power_On_External_Virtual_Machine',
    roles: vmSwitchers,
    rateLimit: vmMutationRate,
    ifMatch: 'required',
    requestId: 'required',
  }),
  powerOffVm: action('/extern/config/vms/{extId}/$actions/power-off', {
    of: ExternVm,
    iam: 'Power_Off_External_Virtual_Machine',
    roles: vmSwitchers,
    rateLimit: vmMutationRate,
    ifMatch: 'required',
    requestId: 'required',
  }),
  resetVm: action('/extern/config/vms/{extId}/$actions/reset', {
    of: ExternVm,
    iam: 'Reset_External_Virtual_Machine',
    roles: vmOperators,
    rateLimit: vmMutationRate,
    ifMatch: 'required',
    requestId: 'required',
  }),
  // Native VMs have no such action; it has the roles of the other power actions.
  suspendVm: action('/extern/config/vms/{extId}/$actions/suspend', {
    of: ExternVm,
    iam: 'Suspend_External_Virtual_Machine',
    roles: vmOperators,
    rateLimit: vmMutationRate,
    ifMatch: 'required',
    requestId: 'required',
  }),
  rebootGuestVm: action('/extern/config/vms/{extId}/$actions/guest-reboot', {
    of: ExternVm,
    envelope: 'vmm.v4.extern.config.RebootGuestOSApiResponse',
    iam: 'Guest_Reboot_External_Virtual_Machine',
    roles: vmOperators,
    rateLimit: vmMutationRate,
    ifMatch: 'required',
    requestId: 'required',
  }),
  shutdownGuestVm: action('/extern/config/vms/{extId}/$actions/guest-shutdown', {
    of: ExternVm,
    envelope: 'vmm.v4.extern.config.ShutdownVmApiResponse',
    iam: 'Guest_Shutdown_External_Virtual_Machine',
    roles: vmOperators,
    rateLimit: vmMutationRate,
    ifMatch: 'required',
    requestId: 'required',
  }),
}
