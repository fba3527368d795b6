import { action, create, type EntityOf, get, list, perSecond, read, remove, resource, update } from '../operation.ts'
import * as s from '../schema.ts'
import { EntityReference, Metadata } from '../shapes.ts'
import { VGAttachment } from './attachment.ts'
import { expandCluster, expandMetadata } from './expansion.ts'
import { volumeAdmins, volumeEditors, volumeProvisioners, volumeReaders } from './roles.ts'
import { FlashMode, VolumeDisk } from './volume-disk.ts'

export const authenticationType = s.enumeration(['CHAP', 'NONE'])

/** CHAP requires printable characters without blanks. */
export const chapSecret = s.secret(s.text({ minLength: 12, maxLength: 16, pattern: '^[!-~]+$' }))

/**
 * `attachmentType` and `protocol` of a creation apply until the first attachment; then they, and `attachments`, derive from the
 * attachments.
 * Source: specification 2.2, 4.3; catalogue volumes.json; behaviour volumes-storage.md 1.1, 1.2, 2.
 */
export const VolumeGroup = resource('volumes.v4.config.VolumeGroup', {
  fields: {
    name: s.text({ minLength: 1, maxLength: 256 }),
    description: s.optional(s.text({ maxLength: 1000, multiline: true })),
    clusterReference: s.immutable(s.referenceTo('Cluster')),
    // Default: the name of the caller.
    createdBy: s.immutable(s.optional(s.text({ maxLength: 512 }))),
    usageType: s.withDefault(s.enumeration(['USER', 'INTERNAL', 'TEMPORARY', 'BACKUP_TARGET']), 'USER'),
    isHidden: s.withDefault(s.boolean(), false),
    // Absent means NOT_SHARED.
    sharingStatus: s.optional(s.enumeration(['SHARED', 'NOT_SHARED'])),
    shouldLoadBalanceVmAttachments: s.withDefault(s.boolean(), false),
    targetPrefix: s.optional(s.text({ maxLength: 512, pattern: '^[0-9a-zA-Z:.-]+$' })),
    targetName: s.optional(s.text({ minLength: 12, maxLength: 512 })),
    enabledAuthentications: s.optional(authenticationType),
    iscsiFeatures: s.optionalObject('volumes.v4.config.IscsiFeatures', {
      enabledAuthentications: s.optional(authenticationType),
      targetSecret: chapSecret,
    }),
    storageFeatures: s.optionalObject('volumes.v4.config.StorageFeatures', { flashMode: s.optional(FlashMode) }),
    attachmentType: s.withDefault(s.enumeration(['NONE', 'DIRECT', 'EXTERNAL']), 'NONE'),
    protocol: s.withDefault(s.enumeration(['NOT_ASSIGNED', 'ISCSI', 'NVMF']), 'NOT_ASSIGNED'),
    attachments: s.readOnly(s.arrayOf(VGAttachment)),
    hydrationStatus: s.readOnly(s.enumeration(['IN_PROGRESS', 'COMPLETE', 'FAIL'])),
    // Used by create only; later disks have their own operations.
    disks: s.optional(s.arrayOf(VolumeDisk.schema, { minItems: 1, maxItems: 10 })),
  },
  iamNoun: 'Volume_Group_Details',
  internal: {
    categoryIds: s.arrayOf(s.referenceTo('Category'), { maxItems: 20 }),
    ownerReferenceId: s.uuid(),
    isDeleting: s.boolean(),
    isReverting: s.boolean(),
    createdAt: s.timestamp(),
  },
  iam: {
    name: 'name',
    cluster_uuid: 'clusterReference',
    category_uuid: 'categoryIds',
    owner_uuid: 'ownerReferenceId',
  },
  iamName: 'volume_group',
  associationType: 'VOLUMEGROUP',
  unique: [
    { fields: ['clusterReference', 'name'], error: 'VOLUME_GROUP_NAME_EXISTS' },
    { fields: ['clusterReference', 'targetName'] },
  ],
  sparsePut: true,
  ofCluster: { by: 'clusterReference', keptByManager: ['metadata'] },
})
export type VolumeGroup = EntityOf<typeof VolumeGroup>

/** `name` is `key/value`. */
export const CategoryDetails = resource('volumes.v4.config.CategoryDetails', {
  fields: {
    extId: s.readOnly(s.uuid()),
    name: s.readOnly(s.text({ maxLength: 256 })),
    entityType: s.readOnly(EntityReference.fields.entityType),
    uris: s.readOnly(s.arrayOf(s.text(), { maxItems: 100 })),
  },
  title: 'category association',
  bare: true,
  derived: true,
  internal: { volumeGroupExtId: s.uuid() },
  parent: { param: 'volumeGroupExtId', kind: 'VolumeGroup', field: 'volumeGroupExtId' },
})

export const CategoryEntityReferences = s.object('volumes.v4.config.CategoryEntityReferences', {
  categories: s.arrayOf(
    s.object('common.v1.config.EntityReference', { ...EntityReference.fields, extId: s.referenceTo('Category') }),
    { minItems: 1, maxItems: 20 },
  ),
})

export const RevertSpec = s.object('volumes.v4.config.RevertSpec', { volumeGroupRecoveryPointExtId: s.uuid() })

const path = '/config/volume-groups'
const listFields = ['clusterReference', 'extId', 'name']
const expand = { cluster: expandCluster, metadata: expandMetadata }

const view = { iam: 'View_Volume_Group_Details', roles: volumeReaders, rateLimit: perSecond(20, 25, 25, 25) }
const mutation = { rateLimit: perSecond(5, 5, 10, 10), requestId: 'required' } as const
const tagging = {
  of: VolumeGroup,
  body: CategoryEntityReferences,
  roles: volumeProvisioners,
  rateLimit: mutation.rateLimit,
}

export const volumeGroupOperations = {
  listVolumeGroups: list(path, VolumeGroup, {
    ...view,
    filter: listFields,
    orderby: listFields,
    select: 'any',
    expand,
    expandedType: 'volumes.v4.config.VolumeGroupProjection',
  }),
  createVolumeGroup: create(path, VolumeGroup, { ...mutation, iam: 'Create_Volume_Group', roles: volumeAdmins }),
  getVolumeGroupById: get(`${path}/{extId}`, VolumeGroup, { ...view, expand }),
  updateVolumeGroupById: update(`${path}/{extId}`, VolumeGroup, { ...mutation, roles: volumeEditors }),
  deleteVolumeGroupById: remove(`${path}/{extId}`, VolumeGroup, {
    ...mutation,
    iam: 'Delete_Volume_Group',
    roles: volumeAdmins,
  }),
  revertVolumeGroup: action(`${path}/{extId}/$actions/revert`, {
    ...mutation,
    iam: 'Revert_Volume_Group',
    of: VolumeGroup,
    body: RevertSpec,
    roles: volumeEditors,
  }),
  associateCategory: action(`${path}/{extId}/$actions/associate-category`, {
    ...tagging,
    iam: 'Associate_Volume_Group_Categories',
  }),
  disassociateCategory: action(`${path}/{extId}/$actions/disassociate-category`, {
    ...tagging,
    iam: 'Disassociate_Volume_Group_Categories',
  }),
  getVolumeGroupMetadataById: read(`${path}/{volumeGroupExtId}/metadata`, Metadata, {
    ...view,
    of: VolumeGroup,
    deprecated: {},
  }),
  listCategoryAssociationsByVolumeGroupId: list(`${path}/{volumeGroupExtId}/category-associations`, CategoryDetails, {
    ...view,
    deprecated: {},
  }),
}
