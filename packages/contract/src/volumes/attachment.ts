/** Source: catalogue volumes.json (fields, limits); behaviour volumes-storage.md 1.1, 1.4 to 1.6. */
import { baseFields, resource } from '../operation.ts'
import * as s from '../schema.ts'

/** Index on the SCSI bus of the VM; default: the lowest free one. */
export const scsiIndex = s.optional(s.integer({ minimum: 0, maximum: 255 }))

export const vmAttachmentFields = { extId: s.uuid(), index: scsiIndex }

export const iscsiClientAttachmentFields = { extId: s.uuid(), clusterReference: s.readOnly(s.uuid()) }

const NvmfClientAttachment = s.object('volumes.v4.config.NvmfClientAttachment', {
  ...baseFields,
  clusterReference: s.readOnly(s.uuid()),
})

export const VGAttachment = s.object('volumes.v4.config.VGAttachment', {
  attachment: s.oneOf(
    s.object('volumes.v4.config.IscsiClientAttachment', iscsiClientAttachmentFields),
    NvmfClientAttachment,
    s.object('volumes.v4.config.VmAttachment', vmAttachmentFields),
  ),
})

/** Internal. Exactly one consumer is set; `extId` is that of the VM's disk entry. */
export const VolumeGroupAttachment = resource('volumes.v4.config.VolumeGroupAttachment', {
  fields: {},
  internal: {
    volumeGroupExtId: s.referenceTo('VolumeGroup'),
    vmExtId: s.optional(s.referenceTo('Vm')),
    iscsiClientExtId: s.optional(s.referenceTo('IscsiClient')),
    nvmfClientExtId: s.optional(s.referenceTo('NvmfClient')),
    scsiIndex,
  },
  unique: [
    { fields: ['volumeGroupExtId', 'vmExtId'] },
    { fields: ['volumeGroupExtId', 'iscsiClientExtId'] },
    { fields: ['volumeGroupExtId', 'nvmfClientExtId'] },
    { fields: ['vmExtId', 'scsiIndex'] },
  ],
  ofCluster: { by: 'volumeGroupExtId', partOf: 'VolumeGroup' },
})
