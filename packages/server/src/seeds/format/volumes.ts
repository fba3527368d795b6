import { arrayOf, integer, object, oneOf, optional } from '@hyperplane/contract'
import { IscsiClient as StoredIscsiClient } from '@hyperplane/contract/volumes/iscsi-client'
import { NvmfClient as StoredNvmfClient } from '@hyperplane/contract/volumes/nvmf-client'
import { VolumeDisk } from '@hyperplane/contract/volumes/volume-disk'
import { VolumeGroup as Stored } from '@hyperplane/contract/volumes/volume-group'
import { written } from '../readable.ts'
import { about, categories, description, GiB, name, named, names } from './words.ts'

const cluster = () => optional(about('Default: the only native one.', name()))
const fullPercent = () => optional(about('How full it is.', integer({ minimum: 0, maximum: 100 })))

export const IscsiClient = object('', {
  ...named(64),
  name: about('Its initiator name, unless it says what that is, or at which address it is known.', name()),
  cluster: cluster(),
  ...written(
    StoredIscsiClient.schema.fields,
    'attachmentSite',
    'enabledAuthentications',
    'iscsiInitiatorName',
    'iscsiInitiatorNetworkId',
    'numVirtualTargets',
  ),
})

export const NvmfClient = object('', {
  ...named(68),
  name: about('Its initiator name, unless it says what that is.', name(68)),
  cluster: cluster(),
  ...written(StoredNvmfClient.schema.fields, 'nvmfInitiatorName'),
})

const Disk = object('', {
  sizeGiB: GiB(1_048_576),
  container: optional(about('Default: that of its group.', name())),
  fullPercent: fullPercent(),
  ...written(VolumeDisk.schema.fields, 'description', 'diskStorageFeatures', 'index'),
})

const VmAttachment = object('', {
  vm: name(),
  index: optional(about('On its SCSI bus. Default: the lowest free one.', integer({ minimum: 0, maximum: 255 }))),
})

export const VolumeGroup = object('', {
  ...named(256),
  description: description(),
  cluster: optional(about('Default: the only native one, or that of its VMs.', name())),
  container: optional(about('Default: default.', name())),
  disksGiB: optional(arrayOf(GiB(1_048_576), { maxItems: 256 })),
  disks: optional(about('More about each disk, behind those of disksGiB.', arrayOf(Disk, { maxItems: 256 }))),
  fullPercent: optional(about('How full its disks are.', integer({ minimum: 0, maximum: 100 }))),
  ...written(
    Stored.schema.fields,
    'enabledAuthentications',
    'isHidden',
    'sharingStatus',
    'shouldLoadBalanceVmAttachments',
    'storageFeatures',
    'targetName',
    'targetPrefix',
    'usageType',
  ),
  createdBy: optional(name(512)),
  vms: optional(about('VMs that have it on their SCSI bus.', arrayOf(oneOf(name(), VmAttachment), { maxItems: 16 }))),
  iscsiClients: optional(about('Names of iscsiClients, or initiator names of others.', names(32))),
  nvmfClients: optional(about('Names of nvmfClients, or initiator names of others.', names(20))),
  owner: optional(about('Name of a user. Default: admin.', name())),
  categories: categories(),
})
