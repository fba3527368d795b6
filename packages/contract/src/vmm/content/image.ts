/** Stored once in each of its clusters. Source: catalogue vmm.json; behaviour vmm.md 1.8, 2, operation-roles.tsv. */
import { names } from '../../names.ts'
import { action, create, get, list, perSecond, read, remove, resource, update } from '../../operation.ts'
import type { RoleName } from '../../roles.ts'
import * as s from '../../schema.ts'
import { placementRetry } from './placement-retry.ts'

// Checked at creation only, because the image outlives the disk.
export const VmDiskSource = s.object('vmm.v4.content.VmDiskSource', { extId: s.uuid() })
export const ObjectsLiteSource = s.object('vmm.v4.content.ObjectsLiteSource', {
  key: s.text({ minLength: 1, maxLength: 1024 }),
})
export const UrlSource = s.object('vmm.v4.content.UrlSource', {
  url: s.text({
    // The catalogue's pattern in linear time. It ends after the second character of the path: any text may follow.
    pattern: '^(?:(?:https?|nfs):/)?/?[^:/\\s]*(?:/\\w+)*(?::[0-9]+)*/[\\w.-][^#?\\s]',
  }),
  basicAuth: s.secret(
    s.object('vmm.v4.content.UrlBasicAuth', {
      username: s.text({ minLength: 1, maxLength: 1000 }),
      password: s.text({ secret: true }),
    }),
  ),
  shouldAllowInsecureUrl: s.withDefault(s.boolean(), false),
})

export const ImageSha1Checksum = s.object('vmm.v4.content.ImageSha1Checksum', {
  hexDigest: s.text({ pattern: '^[a-fA-F0-9]{40}$' }),
})
export const ImageSha256Checksum = s.object('vmm.v4.content.ImageSha256Checksum', {
  hexDigest: s.text({ pattern: '^[a-fA-F0-9]{64}$' }),
})

export const ImagePlacementStatus = s.object('vmm.v4.content.ImagePlacementStatus', {
  placementPolicyExtId: s.readOnly(s.uuid()),
  complianceStatus: s.readOnly(s.enumeration(['COMPLIANT', 'NON_COMPLIANT'])),
  enforcementMode: s.readOnly(s.enumeration(['ENFORCING', 'ENFORCEMENT_FAILED'])),
  policyClusterExtIds: s.readOnly(s.arrayOf(s.uuid(), { maxItems: 200 })),
  enforcedClusterExtIds: s.readOnly(s.arrayOf(s.uuid(), { maxItems: 200 })),
  conflictingPolicyExtIds: s.readOnly(s.arrayOf(s.uuid(), { maxItems: 100 })),
})

export const Image = resource('vmm.v4.content.Image', {
  fields: {
    name: s.text({ minLength: 1, maxLength: 256 }),
    description: s.withDefault(s.text({ maxLength: 1000, multiline: true }), ''),
    type: s.immutable(s.enumeration(['DISK_IMAGE', 'ISO_IMAGE'])),
    // Required on create. Not `immutable`: an update may omit it or its secret; the handler compares the rest.
    source: s.optional(s.oneOf(VmDiskSource, ObjectsLiteSource, UrlSource)),
    checksum: s.immutable(s.optional(s.oneOf(ImageSha1Checksum, ImageSha256Checksum))),
    sizeBytes: s.readOnly(s.integer()),
    createTime: s.readOnly(s.timestamp()),
    lastUpdateTime: s.readOnly(s.timestamp()),
    ownerExtId: s.readOnly(s.uuid()),
    ownerName: s.readOnly(s.text()),
    categoryExtIds: s.optional(s.arrayOf(s.referenceTo('Category'), { maxItems: 1250 })),
    clusterLocationExtIds: s.optional(s.arrayOf(s.referenceTo('Cluster'), { maxItems: 200 })),
    placementPolicyStatus: s.readOnly(s.arrayOf(ImagePlacementStatus, { maxItems: 100 })),
  },
  iam: {
    category_uuid: 'categoryExtIds',
    cluster_uuid: 'clusterLocationExtIds',
    name: 'name',
    owner_uuid: 'ownerExtId',
    type: 'type',
  },
  associationType: 'IMAGE',
  internal: { placementRetry: s.optionalObject('', placementRetry) },
  ofCluster: { by: 'clusterLocationExtIds', keptByManager: ['categoryExtIds', 'ownerExtId'] },
})

export const ImageImportConfig = s.object('vmm.v4.content.ImageImportConfig', {
  clusterExtId: s.referenceTo('Cluster'),
  imagesExtIds: s.arrayOf(s.uuid(), { minItems: 1, maxItems: 100, uniqueItems: true }),
})

const editors: readonly RoleName[] = names(`
  Account Owner, Administrator, Platform Admin, Project Manager, Self-Service Admin (deprecated), Super Admin,
  Virtual Machine Admin
`)
const creators: readonly RoleName[] = [
  ...editors,
  ...names(`
    CSI System, Consumer, Developer, Kubernetes Data Services System, Kubernetes Infrastructure Provision,
    Management Connector, User
  `),
]
const readers: readonly RoleName[] = [...creators, 'Backup Admin', 'Platform Viewer', 'Project Admin']

const mutationRate = perSecond(2, 2, 5)

const view = { roles: readers }

export const imageOperations = {
  listImages: list('/content/images', Image, {
    ...view,
    filter: names('categoryExtIds, clusterLocationExtIds, createTime, description, extId, name, sizeBytes, type'),
    orderby: ['description', 'lastUpdateTime', 'name', 'sizeBytes', 'type'],
    select: names(`
      categoryExtIds, clusterLocationExtIds, createTime, description, extId, lastUpdateTime, links, name, ownerExtId,
      sizeBytes, tenantId, type
    `),
  }),
  createImage: create('/content/images', Image, { roles: creators, rateLimit: mutationRate, requestId: 'required' }),
  getImageById: get('/content/images/{extId}', Image, view),
  updateImageById: update('/content/images/{extId}', Image, {
    roles: editors,
    rateLimit: mutationRate,
    requestId: 'required',
  }),
  deleteImageById: remove('/content/images/{extId}', Image, {
    roles: [...editors, 'CSI System', 'Kubernetes Data Services System', 'Kubernetes Infrastructure Provision'],
    rateLimit: mutationRate,
  }),
  importImage: action('/content/images/$actions/import', {
    of: Image,
    roles: creators,
    rateLimit: mutationRate,
    requestId: 'required',
    body: ImageImportConfig,
  }),
  getFileByImageId: read('/content/images/{imageExtId}/file', s.anything(), {
    of: Image,
    envelope: 'vmm.v4.content.GetImageFileApiResponse',
    iam: 'Download_Image',
    roles: readers,
    rateLimit: perSecond(1, 1, 2),
    produces: 'application/octet-stream',
  }),
}
