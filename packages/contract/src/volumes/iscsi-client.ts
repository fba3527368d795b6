import { action, get, list, perSecond, resource, update } from '../operation.ts'
import * as s from '../schema.ts'
import { IPAddressOrFQDN } from '../shapes.ts'
import { iscsiClientAttachmentFields } from './attachment.ts'
import { expandCluster } from './expansion.ts'
import { iscsiClientReaders, volumeAdmins } from './roles.ts'
import { authenticationType, chapSecret, VolumeGroup } from './volume-group.ts'

export const iscsiInitiatorName = s.text({ minLength: 1, maxLength: 64, pattern: '^[A-Za-z0-9.:_-]+$' })
export const numVirtualTargets = s.integer({ minimum: 1, maximum: 32 })
export const attachmentSite = s.enumeration(['PRIMARY', 'SECONDARY'])

/**
 * From the first attach on, also after the last detach. Source: specification 4.3, 5, 8; catalogue volumes.json; volumes-storage.md 1.5, 2.
 */
export const IscsiClient = resource('volumes.v4.config.IscsiClient', {
  fields: {
    iscsiInitiatorName: s.immutable(s.optional(iscsiInitiatorName)),
    iscsiInitiatorNetworkId: s.immutable(s.optional(IPAddressOrFQDN)),
    // Absent means NONE.
    enabledAuthentications: s.optional(authenticationType),
    clientSecret: chapSecret,
    // Default: 32.
    numVirtualTargets: s.immutable(s.optional(numVirtualTargets)),
    attachmentSite: s.optional(attachmentSite),
    attachedTargets: s.readOnly(
      s.arrayOf(
        s.object('volumes.v4.config.TargetParam', {
          iscsiTargetName: s.readOnly(s.text({ maxLength: 512 })),
          numVirtualTargets: s.optional(numVirtualTargets),
        }),
        { maxItems: 128 },
      ),
    ),
    clusterReference: s.readOnly(s.referenceTo('Cluster')),
  },
  iamNoun: 'External_ISCSI_Client',
  title: 'iSCSI client',
  internal: {
    unusedSince: s.timestamp(),
  },
  indexed: ['unusedSince'],
  iam: { cluster_uuid: 'clusterReference' },
  unique: [
    { fields: ['clusterReference', 'iscsiInitiatorName'], ignoreCase: true },
    { fields: ['clusterReference', 'iscsiInitiatorNetworkId/ipv4/value'] },
    { fields: ['clusterReference', 'iscsiInitiatorNetworkId/ipv6/value'], ignoreCase: true },
    { fields: ['clusterReference', 'iscsiInitiatorNetworkId/fqdn/value'], ignoreCase: true },
  ],
  ofCluster: { by: 'clusterReference' },
})

export const IscsiClientAttachment = resource('volumes.v4.config.IscsiClientAttachment', {
  fields: iscsiClientAttachmentFields,
  title: 'iSCSI client attachment',
  bare: true,
  derived: true,
  internal: { volumeGroupExtId: s.uuid() },
  parent: { param: 'volumeGroupExtId', kind: 'VolumeGroup', field: 'volumeGroupExtId' },
})

/** Unlike other bodies, `extId` may name an existing client. */
const attachedClient = s.object('volumes.v4.config.IscsiClient', {
  ...IscsiClient.schema.fields,
  extId: s.optional(s.referenceTo('IscsiClient')),
})
const detachedClient = s.object('volumes.v4.config.IscsiClientAttachment', {
  ...iscsiClientAttachmentFields,
  extId: s.referenceTo('IscsiClient'),
})

const attachmentFields = ['clusterReference', 'extId']
const listFields = [...attachmentFields, 'iscsiInitiatorName']

const view = { iam: 'View_External_ISCSI_Client', roles: iscsiClientReaders, rateLimit: perSecond(20, 25, 25, 25) }
const mutation = { roles: volumeAdmins, rateLimit: perSecond(5, 5, 10, 10), requestId: 'required' } as const

export const iscsiClientOperations = {
  listIscsiClients: list('/config/iscsi-clients', IscsiClient, {
    ...view,
    filter: listFields,
    orderby: listFields,
    select: listFields,
    expand: { cluster: expandCluster },
    expandedType: 'volumes.v4.config.IscsiClientProjection',
  }),
  getIscsiClientById: get('/config/iscsi-clients/{extId}', IscsiClient, { ...view, deployments: ['on-prem'] }),
  updateIscsiClientById: update('/config/iscsi-clients/{extId}', IscsiClient, mutation),
  attachIscsiClient: action('/config/volume-groups/{extId}/$actions/attach-iscsi-client', {
    ...mutation,
    of: VolumeGroup,
    body: attachedClient,
    iam: 'Attach_Volume_Group_To_External_ISCSI_Client',
  }),
  detachIscsiClient: action('/config/volume-groups/{extId}/$actions/detach-iscsi-client', {
    ...mutation,
    of: VolumeGroup,
    body: detachedClient,
    iam: 'Detach_Volume_Group_From_External_ISCSI_Client',
  }),
  listExternalIscsiAttachmentsByVolumeGroupId: list(
    '/config/volume-groups/{volumeGroupExtId}/external-iscsi-attachments',
    IscsiClientAttachment,
    {
      ...view,
      filter: attachmentFields,
      orderby: attachmentFields,
      select: attachmentFields,
      expand: { iscsiClient: { kind: 'IscsiClient', by: 'extId', into: 'iscsiClientProjection' } },
      expandedType: 'volumes.v4.config.IscsiClientAttachmentProjection',
      deprecated: {},
    },
  ),
}
