/** Discovered; stored are categories, owner and guest tools. Source: catalogue vmm.json; behaviour vmm.md 1.7, 2. */
import { names } from '../../names.ts'
import { action, baseFields, type EntityOf, get, list, resource } from '../../operation.ts'
import * as s from '../../schema.ts'
import { IPv4Address } from '../../shapes.ts'
import {
  vmListRate,
  vmMutationRate,
  vmOperators,
  vmReverters,
  vmSlowMutationRate,
  vmSwitchers,
  vmViewers,
  vmWriters,
} from '../roles.ts'
import { macAddress } from '../vm/parts/nic.ts'
import { ExternGuestTools } from './guest-tools.ts'

const reference = (type: string) => s.object(`vmm.v4.extern.config.${type}`, { extId: s.optional(s.uuid()) })

// Categories and users are stored here; the external manager reports all other references.
const CategoryReference = s.object('vmm.v4.extern.config.CategoryReference', {
  extId: s.optional(s.referenceTo('Category')),
})
const OwnershipInfo = s.object('vmm.v4.extern.config.OwnershipInfo', {
  owner: s.object('vmm.v4.extern.config.OwnerReference', {
    entityType: s.optional(s.enumeration(['USER'])),
    extId: s.optional(s.referenceTo('User')),
  }),
})
const StorageContainerReference = reference('VmDiskContainerReference')

export const ExternDisk = s.object('vmm.v4.extern.config.Disk', {
  ...baseFields,
  diskAddress: s.optionalObject('vmm.v4.extern.config.DiskAddress', {
    busType: s.optional(s.enumeration(['SCSI', 'IDE', 'SATA', 'NVME'])),
    index: s.optional(s.integer({ minimum: 0 })),
  }),
  backingInfo: s.optionalObject('vmm.v4.extern.config.VmDisk', {
    diskSizeBytes: s.optional(s.integer({ minimum: 1 })),
    storageContainer: s.optional(StorageContainerReference),
    storageConfig: s.optionalObject('vmm.v4.extern.config.VmDiskStorageConfig', {
      isFlashModeEnabled: s.optional(s.boolean()),
    }),
  }),
})

export const ExternCdRom = s.object('vmm.v4.extern.config.CdRom', {
  ...baseFields,
  diskAddress: s.optionalObject('vmm.v4.extern.config.CdRomAddress', {
    busType: s.optional(s.enumeration(['IDE', 'SATA'])),
    index: s.optional(s.integer({ minimum: 0 })),
  }),
  backingInfo: s.optionalObject('vmm.v4.extern.config.CdRomBackingInfo', {
    diskExtId: s.optional(s.uuid()),
    storageContainer: s.optional(StorageContainerReference),
  }),
})

export const ExternNic = s.object('vmm.v4.extern.config.Nic', {
  ...baseFields,
  backingInfo: s.optionalObject('vmm.v4.extern.config.NicBackingInfo', {
    adapterType: s.optional(s.enumeration(['E1000', 'PCNET32', 'VMXNET', 'VMXNET2', 'VMXNET3', 'E1000E', 'SRIOV'])),
    macAddress: s.optional(macAddress()),
    isConnected: s.optional(s.boolean()),
  }),
  networkInfo: s.optionalObject('vmm.v4.extern.config.NicNetworkInfo', {
    portGroupInfo: s.optionalObject('vmm.v4.extern.config.PortGroupInfo', {
      name: s.optional(s.text({ maxLength: 128 })),
    }),
    ipAddressInfo: s.optionalObject('vmm.v4.extern.config.IpAddressInfo', {
      ipv4Addresses: s.optional(s.arrayOf(IPv4Address, { maxItems: 128 })),
      ipv6Addresses: s.optional(s.arrayOf(s.text(), { maxItems: 128 })),
    }),
  }),
})

export const ExternVm = resource('vmm.v4.extern.config.Vm', {
  fields: {
    name: s.optional(s.text({ maxLength: 80 })),
    description: s.optional(s.text({ multiline: true })),
    powerState: s.optional(s.enumeration(['ON', 'OFF', 'SUSPENDED', 'UNDETERMINED'])),
    cluster: s.optional(reference('ClusterReference')),
    host: s.optional(reference('HostReference')),
    memorySizeBytes: s.optional(s.integer({ minimum: 1 })),
    numCpus: s.optional(s.integer({ minimum: 1 })),
    numCoresPerSocket: s.optional(s.integer({ minimum: 1 })),
    guestOsName: s.optional(s.text({ maxLength: 256 })),
    virtualHardwareVersion: s.optional(s.integer({ minimum: 1 })),
    disks: s.optional(s.arrayOf(ExternDisk, { maxItems: 256 })),
    cdRoms: s.optional(s.arrayOf(ExternCdRom, { maxItems: 256 })),
    nics: s.optional(s.arrayOf(ExternNic, { maxItems: 32 })),
    categories: s.optional(s.arrayOf(CategoryReference, { maxItems: 256 })),
    ownershipInfo: s.optional(OwnershipInfo),
    nutanixGuestTools: s.optional(ExternGuestTools),
  },
  iamNoun: 'External_Virtual_Machine',
  kind: 'ExternVm',
  title: 'external VM',
  iam: {
    category_uuid: 'categories/extId',
    cluster_uuid: 'cluster/extId',
    name: 'name',
    owner_uuid: 'ownershipInfo/owner/extId',
  },
  associationType: 'MH_VM',
  internal: {
    /** The guest reboots then, to start its new tools. */
    toolsRebootAt: s.optional(s.timestamp()),
  },
  indexed: ['toolsRebootAt'],
  staleTag: 'VM_ETAG_MISMATCH',
  ofCluster: { by: 'cluster/extId', keptByManager: ['categories', 'ownershipInfo'] },
})
export type ExternVm = EntityOf<typeof ExternVm>

const view = { roles: vmViewers }
const mutation = { of: ExternVm, rateLimit: vmMutationRate, requestId: 'required', ifMatch: 'required' } as const
const switching = { ...mutation, roles: vmSwitchers }
const operating = { ...mutation, roles: vmOperators }
const categories = { categories: s.optional(s.arrayOf(CategoryReference, { minItems: 1, maxItems: 256 })) }
const owning = { of: ExternVm, rateLimit: vmMutationRate, requestId: 'required', roles: vmWriters } as const
const categorizing = { ...owning, roles: [...vmWriters, 'Management Connector'] } as const

export const externVmOperations = {
  listVms: list('/extern/config/vms', ExternVm, {
    ...view,
    rateLimit: vmListRate,
    filter: names(`
      categories/extId, cluster/extId, description, extId, guestOsName, host/extId, memorySizeBytes, name,
      numCoresPerSocket, numCpus, powerState, virtualHardwareVersion
    `),
    orderby: ['guestOsName', 'memorySizeBytes', 'name', 'numCoresPerSocket', 'numCpus', 'virtualHardwareVersion'],
    select: 'any',
  }),
  getVmById: get('/extern/config/vms/{extId}', ExternVm, view),
  assignVmOwner: action('/extern/config/vms/{extId}/$actions/assign-owner', { ...owning, body: OwnershipInfo }),
  associateCategories: action('/extern/config/vms/{extId}/$actions/associate-categories', {
    ...categorizing,
    body: s.object('vmm.v4.extern.config.AssociateVmCategoriesParams', categories),
    iam: 'Associate_External_Virtual_Machine_Categories',
  }),
  disassociateCategories: action('/extern/config/vms/{extId}/$actions/disassociate-categories', {
    ...categorizing,
    body: s.object('vmm.v4.extern.config.DisassociateVmCategoriesParams', categories),
    iam: 'Disassociate_External_Virtual_Machine_Categories',
  }),
  powerOnVm: action('/extern/config/vms/{extId}/$actions/power-on', switching),
  powerOffVm: action('/extern/config/vms/{extId}/$actions/power-off', switching),
  resetVm: action('/extern/config/vms/{extId}/$actions/reset', operating),
  revertVm: action('/extern/config/vms/{extId}/$actions/revert', {
    ...mutation,
    body: s.object('vmm.v4.extern.config.RevertParams', { vmRecoveryPointExtId: s.referenceTo('VmRecoveryPoint') }),
    roles: vmReverters,
    rateLimit: vmSlowMutationRate,
  }),
  // Native VMs have no such action; it has the roles of the other power actions.
  suspendVm: action('/extern/config/vms/{extId}/$actions/suspend', operating),
  rebootGuestVm: action('/extern/config/vms/{extId}/$actions/guest-reboot', {
    ...operating,
    envelope: 'vmm.v4.extern.config.RebootGuestOSApiResponse',
  }),
  shutdownGuestVm: action('/extern/config/vms/{extId}/$actions/guest-shutdown', {
    ...operating,
    envelope: 'vmm.v4.extern.config.ShutdownVmApiResponse',
  }),
}
