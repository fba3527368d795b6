/**
 * Attachments of a volume group.
 * Source: catalogue volumes.json (fields, limits); behaviour volumes-storage.md 1.1, 1.4 to 1.6.
 */
import { baseFields, resource } from '../operation.ts'
import { integer, object, oneOf, optional, readOnly, referenceTo, uuid } from '../schema.ts'

/** Index on the SCSI bus of the VM; default: the lowest free one. */
export const scsiIndex = optional(integer({ minimum: 0, maximum: 255 }))

/** `extId` is that of the VM. */
export const vmAttachmentFields = { extId: uuid(), index: scsiIndex }

/** `extId` is that of the client. */
export const iscsiClientAttachmentFields = { extId: uuid(), clusterReference: readOnly(uuid()) }

const NvmfClientAttachment = object('volumes.v4.config.NvmfClientAttachment', {
  ...baseFields,
  clusterReference: readOnly(uuid()),
})

export const VGAttachment = object('volumes.v4.config.VGAttachment', {
  attachment: oneOf(
    object('volumes.v4.config.IscsiClientAttachment', iscsiClientAttachmentFields),
    NvmfClientAttachment,
    object('volumes.v4.config.VmAttachment', vmAttachmentFields),
  ),
})

/**
 * One consumer of one volume group; internal. The group's `attachments`, the disk entry of the VM and the targets of
 * the client are derived from these rows. Exactly one of the consumers is set; `extId` is that of the VM's disk entry.
 */
export const VolumeGroupAttachment = resource(
  'volumes.v4.config.VolumeGroupAttachment',
  {},
  {
    title: 'volume group attachment',
    internal: {
      volumeGroupExtId: referenceTo('VolumeGroup'),
      vmExtId: optional(referenceTo('Vm')),
      iscsiClientExtId: optional(referenceTo('IscsiClient')),
      nvmfClientExtId: optional(referenceTo('NvmfClient')),
      /** Place on the SCSI bus of the VM. */
      scsiIndex,
    },
    unique: [
      { fields: ['volumeGroupExtId', 'vmExtId'] },
      { fields: ['volumeGroupExtId', 'iscsiClientExtId'] },
      { fields: ['volumeGroupExtId', 'nvmfClientExtId'] },
      { fields: ['vmExtId', 'scsiIndex'] },
    ],
    ofCluster: { by: 'volumeGroupExtId', partOf: 'VolumeGroup' },
  },
)
