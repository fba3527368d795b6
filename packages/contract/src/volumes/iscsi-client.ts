import { action, get, list, perSecond, resource, update } from '../operation.ts'
import {
  arrayOf,
  enumeration,
  immutable,
  integer,
  object,
  optional,
  readOnly,
  referenceTo,
  text,
  timestamp,
  uuid,
} from '../schema.ts'
import { IPAddressOrFQDN } from '../shapes.ts'
import { iscsiClientAttachmentFields } from './attachment.ts'
import { expandCluster } from './expansion.ts'
import { iscsiClientReaders, volumeAdmins } from './roles.ts'
import { authenticationType, chapSecret, VolumeGroup } from './volume-group.ts'

export const iscsiInitiatorName = text({ minLength: 1, maxLength: 64, pattern: '^[A-Za-z0-9.:_-]+$' })
export const numVirtualTargets = integer({ minimum: 1, maximum: 32 })
export const attachmentSite = enumeration(['PRIMARY', 'SECONDARY'])

/**
 * An initiator outside the cluster, identified by either its iSCSI name or its address. Created by its first attach; it
 * stays after the last detach.
 * Source: specification 4.3, 5, 8; catalogue volumes.json (fields, limits, list fields); behaviour volumes-storage.md
 * 1.5, 2.
 */
export const IscsiClient = resource(
  'volumes.v4.config.IscsiClient',
  {
    iscsiInitiatorName: immutable(optional(iscsiInitiatorName)),
    iscsiInitiatorNetworkId: immutable(optional(IPAddressOrFQDN)),
    // Absent means NONE.
    enabledAuthentications: optional(authenticationType),
    clientSecret: chapSecret,
    // Default: 32.
    numVirtualTargets: immutable(optional(numVirtualTargets)),
    attachmentSite: optional(attachmentSite),
    attachedTargets: readOnly(
      arrayOf(
        object('volumes.v4.config.TargetParam', {
          iscsiTargetName: readOnly(text({ maxLength: 512 })),
          numVirtualTargets: optional(numVirtualTargets),
        }),
        { maxItems: 128 },
      ),
    ),
    clusterReference: readOnly(referenceTo('Cluster')),
  },
  {
    title: 'iSCSI client',
    internal: {
      /** Time of the last detach, while nothing is attached. */
      unusedSince: timestamp(),
    },
    indexed: ['unusedSince'],
    iam: { name: 'external_iscsi_client', attributes: { cluster_uuid: 'clusterReference' } },
    rel: 'volumes:config:iscsi-client',
    unique: [
      { fields: ['clusterReference', 'iscsiInitiatorName'], ignoreCase: true },
      { fields: ['clusterReference', 'iscsiInitiatorNetworkId/ipv4/value'] },
      { fields: ['clusterReference', 'iscsiInitiatorNetworkId/ipv6/value'], ignoreCase: true },
      { fields: ['clusterReference', 'iscsiInitiatorNetworkId/fqdn/value'], ignoreCase: true },
    ],
    notFound: 'VOLUME_UNKNOWN_ENTITY_ERROR',
    ofCluster: { by: 'clusterReference' },
  },
)

/** An iSCSI client that a volume group is attached to. Read from the `attachments` of the group. */
export const IscsiClientAttachment = resource('volumes.v4.config.IscsiClientAttachment', iscsiClientAttachmentFields, {
  title: 'iSCSI client attachment',
  bare: true,
  derived: true,
  internal: { volumeGroupExtId: uuid() },
  parent: { param: 'volumeGroupExtId', kind: 'VolumeGroup', field: 'volumeGroupExtId' },
})

/** Attaching may name an existing client by `extId`, unlike other bodies. */
const attachedClient = object('volumes.v4.config.IscsiClient', {
  ...IscsiClient.schema.fields,
  extId: optional(referenceTo('IscsiClient')),
})
const detachedClient = object('volumes.v4.config.IscsiClientAttachment', {
  ...iscsiClientAttachmentFields,
  extId: referenceTo('IscsiClient'),
})

const attachmentFields = ['clusterReference', 'extId']
const listFields = [...attachmentFields, 'iscsiInitiatorName']

export const iscsiClientOperations = {
  listIscsiClients: list('/config/iscsi-clients', IscsiClient, {
    iam: 'View_External_ISCSI_Client',
    roles: iscsiClientReaders,
    rateLimit: perSecond(20, 25, 25, 25),
    filter: listFields,
    orderby: listFields,
    select: listFields,
    expand: { cluster: expandCluster },
    expandedType: 'volumes.v4.config.IscsiClientProjection',
  }),
  getIscsiClientById: get('/config/iscsi-clients/{extId}', IscsiClient, {
    iam: 'View_External_ISCSI_Client',
    roles: iscsiClientReaders,
    rateLimit: perSecond(20, 25, 25, 25),
    deployments: ['on-prem'],
  }),
  updateIscsiClientById: update('/config/iscsi-clients/{extId}', IscsiClient, {
    iam: 'Update_External_ISCSI_Client',
    roles: volumeAdmins,
    rateLimit: perSecond(5, 5, 10, 10),
    ifMatch: 'required',
    requestId: 'required',
  }),
  attachIscsiClient: action('/config/volume-groups/{extId}/$actions/attach-iscsi-client', {
    of: VolumeGroup,
    body: attachedClient,
    iam: 'Attach_Volume_Group_To_External_ISCSI_Client',
    roles: volumeAdmins,
    rateLimit: perSecond(5, 5, 10, 10),
    requestId: 'required',
  }),
  detachIscsiClient: action('/config/volume-groups/{extId}/$actions/detach-iscsi-client', {
    of: VolumeGroup,
    body: detachedClient,
    iam: 'Detach_Volume_Group_From_External_ISCSI_Client',
    roles: volumeAdmins,
    rateLimit: perSecond(5, 5, 10, 10),
    requestId: 'required',
  }),
  listExternalIscsiAttachmentsByVolumeGroupId: list(
    '/config/volume-groups/{volumeGroupExtId}/external-iscsi-attachments',
    IscsiClientAttachment,
    {
      iam: 'View_External_ISCSI_Client',
      roles: iscsiClientReaders,
      rateLimit: perSecond(20, 25, 25, 25),
      filter: attachmentFields,
      orderby: attachmentFields,
      select: attachmentFields,
      expand: { iscsiClient: { kind: 'IscsiClient', by: 'extId', into: 'iscsiClientProjection' } },
      expandedType: 'volumes.v4.config.IscsiClientAttachmentProjection',
      deprecated: {},
    },
  ),
}
