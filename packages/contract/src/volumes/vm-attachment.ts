import { action, list, perSecond, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { scsiIndex, vmAttachmentFields } from './attachment.ts'
import { vmAttachers, volumeReaders } from './roles.ts'
import { VolumeGroup } from './volume-group.ts'

/** Read from the `attachments` of the group. Source: catalogue volumes.json; behaviour volumes-storage.md 1.4, 2. */
export const VmAttachment = resource('volumes.v4.config.VmAttachment', {
  fields: vmAttachmentFields,
  bare: true,
  derived: true,
  internal: { volumeGroupExtId: s.uuid() },
  parent: { param: 'volumeGroupExtId', kind: 'VolumeGroup', field: 'volumeGroupExtId' },
  rel: 'volumes:config:vms',
})

const body = s.object('volumes.v4.config.VmAttachment', { extId: s.referenceTo('Vm'), index: scsiIndex })

const path = '/config/volume-groups'

const mutation = {
  of: VolumeGroup,
  roles: vmAttachers,
  rateLimit: perSecond(5, 5, 10, 10),
  requestId: 'required',
} as const

export const vmAttachmentOperations = {
  attachVm: action(`${path}/{extId}/$actions/attach-vm`, {
    ...mutation,
    body,
    iam: 'Attach_Volume_Group_To_Virtual_Machine',
  }),
  detachVm: action(`${path}/{extId}/$actions/detach-vm`, {
    ...mutation,
    body,
    iam: 'Detach_Volume_Group_From_Virtual_Machine',
  }),
  listVmAttachmentsByVolumeGroupId: list(`${path}/{volumeGroupExtId}/vm-attachments`, VmAttachment, {
    iam: 'View_Volume_Group_VM_Attachments',
    roles: [...volumeReaders, 'Virtual Machine Admin', 'Virtual Machine Viewer'],
    rateLimit: perSecond(20, 25, 25, 25),
    filter: ['extId'],
    orderby: ['extId'],
  }),
}
