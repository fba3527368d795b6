/**
 * The ways in which a volume group is attached, as the group lists them.
 * Source: catalogue volumes.json (fields, limits); behaviour volumes-storage.md 1.1, 1.4 to 1.6.
 */
import { baseFields } from '../operation.ts'
import { integer, object, oneOf, optional, readOnly, uuid } from '../schema.ts'

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
