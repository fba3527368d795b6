import { baseFields, read, update } from '../operation.ts'
import * as s from '../schema.ts'
import { IPAddressOrFQDN } from '../shapes.ts'
import { attachmentSite, IscsiClient as Client, iscsiInitiatorName } from '../volumes/iscsi-client.ts'
import { iscsiClientReaders } from '../volumes/roles.ts'
import { authenticationType, chapSecret, VolumeGroup } from '../volumes/volume-group.ts'
import { readRate, writeRate } from './rates.ts'
import { storageWriters } from './roles.ts'

/** Source: specification 2.2, 4.2; behaviour volumes-storage.md 1.5, 1.8, 2. */
export const IscsiClient = s.object('storage.v4.config.IscsiClient', {
  ...baseFields,
  iscsiInitiatorName: s.immutable(s.optional(iscsiInitiatorName)),
  iscsiInitiatorNetworkId: s.immutable(s.optional(IPAddressOrFQDN)),
  clientSecret: chapSecret,
  enabledAuthentications: s.optional(authenticationType),
  targetParams: s.readOnly(
    s.arrayOf(s.object('storage.v4.config.TargetParam', { numVirtualTargets: s.optional(s.integer()) })),
  ),
  clusterReference: s.readOnly(s.uuid()),
  attachmentSite: s.optional(attachmentSite),
  iscsiTargetNames: s.readOnly(s.arrayOf(s.text())),
})

export const IscsiClientAttachment = s.object('storage.v4.config.IscsiClientAttachment', {
  extId: s.readOnly(s.uuid()),
  clusterReference: s.readOnly(s.uuid()),
})

const view = { iam: 'View_External_ISCSI_Client', roles: iscsiClientReaders, rateLimit: readRate }

export const iscsiClientOperations = {
  getIscsiClients: read('/config/iscsi-clients', s.arrayOf(IscsiClient), {
    ...view,
    of: Client,
    envelope: 'storage.v4.config.IscsiClientsResponse',
    paged: true,
    filter: ['extId'],
    orderby: ['extId'],
    deprecated: { successor: '/api/volumes/v4.2/config/iscsi-clients' },
  }),
  getIscsiClientById: read('/config/iscsi-clients/{clientId}', IscsiClient, {
    ...view,
    of: Client,
    envelope: 'storage.v4.config.IscsiClientResponse',
    deprecated: { successor: '/api/volumes/v4.2/config/iscsi-clients/{extId}' },
  }),
  // 202 with the future state of the client; Location names the task.
  updateIscsiClientById: update('/config/iscsi-clients/{clientId}', Client, {
    method: 'PATCH',
    body: IscsiClient,
    answer: IscsiClient,
    envelope: 'storage.v4.config.IscsiClientResponse',
    iam: 'Update_External_ISCSI_Client_Alpha',
    roles: storageWriters,
    rateLimit: writeRate,
    deprecated: { successor: '/api/volumes/v4.2/config/iscsi-clients/{extId}' },
  }),
  getExternalAttachments: read(
    '/config/volume-groups/{volumeGroupExtId}/iscsi-client-attachments',
    s.arrayOf(IscsiClientAttachment),
    {
      ...view,
      of: VolumeGroup,
      envelope: 'storage.v4.config.IscsiClientAttachmentsResponse',
      paged: true,
      filter: ['extId'],
      orderby: ['extId'],
      deprecated: { successor: '/api/volumes/v4.2/config/volume-groups/{volumeGroupExtId}/external-iscsi-attachments' },
    },
  ),
}
