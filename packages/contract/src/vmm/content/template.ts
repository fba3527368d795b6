/** A named VM configuration with disks, in versions. Source: catalogue vmm.json; behaviour vmm.md 1.10, 2, 3.9, operation-roles.tsv. */
import { action, create, get, list, perSecond, remove, resource, update } from '../../operation.ts'
import type { RoleName } from '../../roles.ts'
import * as s from '../../schema.ts'
import { vmOverrides } from '../vm/clone.ts'
import {
  SysprepConfigOverrideSpec,
  VmGcProfileConfig,
  VmGcProfileReference,
} from '../vm/guest/customization-profile.ts'
import { GuestCustomizationParams } from '../vm/guest/guest-customization.ts'
import { Vm } from '../vm/vm.ts'
import { placementRetry } from './placement-retry.ts'

export const TemplateUser = s.object('vmm.v4.content.TemplateUser', {
  extId: s.optional(s.uuid()),
  username: s.optional(s.text()),
})

const overrides = { ...vmOverrides, guestCustomizationProfileConfig: s.optional(VmGcProfileConfig) }
export const VmConfigOverride = s.object('vmm.v4.content.VmConfigOverride', overrides)

// A source is sealed as a whole.
const guestCustomization = s.optional(GuestCustomizationParams)
export const TemplateVmReference = s.object('vmm.v4.content.TemplateVmReference', {
  extId: s.referenceTo('Vm'),
  guestCustomization,
  guestCustomizationProfile: s.optional(VmGcProfileReference),
})
export const TemplateVersionReference = s.object('vmm.v4.content.TemplateVersionReference', {
  versionId: s.uuid(),
  overrideVmConfig: s.object('vmm.v4.content.VmConfigOverride', { ...overrides, guestCustomization }),
})

const versionName = s.text({ minLength: 1, maxLength: 256 })
const versionDescription = s.text({ minLength: 1, maxLength: 1000, multiline: true })

export const TemplateVersion = resource('vmm.v4.content.TemplateVersionSpec', {
  fields: {
    // Required on update; the first version of a template has defaults.
    versionName: s.optional(versionName),
    versionDescription: s.optional(versionDescription),
    versionSource: s.secret(s.oneOf(TemplateVmReference, TemplateVersionReference)),
    /** Exactly one version of a template is active. */
    isActiveVersion: s.withDefault(s.boolean(), true),
    /** Deployments may replace the guest customisation. */
    isGcOverrideEnabled: s.withDefault(s.boolean(), true),
    guestCustomizationProfile: s.optional(VmGcProfileReference),
    vmSpec: s.readOnly(Vm.schema),
    /** Clusters that hold a copy of the disks. */
    clusterLocationExtIds: s.readOnly(s.arrayOf(s.referenceTo('Cluster'))),
    createTime: s.readOnly(s.timestamp()),
    createdBy: s.readOnly(TemplateUser),
  },
  iamNoun: 'VM_Templates_Versions',
  kind: 'TemplateVersion',
  internal: {
    templateExtId: s.referenceTo('Template'),
    /** For the VMs that are deployed from the version. */
    guestCustomization: s.secret(GuestCustomizationParams),
    /** Settings that replace those of `guestCustomizationProfile`. */
    profileOverride: s.secret(SysprepConfigOverrideSpec),
    copies: s.optional(
      s.arrayOf(
        s.object('', {
          fileExtId: s.uuid(),
          diskExtId: s.uuid(),
          clusterExtId: s.uuid(),
          containerExtId: s.referenceTo('StorageContainer'),
          sizeBytes: s.integer(),
          writtenBytes: s.integer(),
        }),
      ),
    ),
  },
  parent: { param: 'templateExtId', kind: 'Template', field: 'templateExtId' },
  rel: 'vmm:content:template-version',
  ofCluster: { stays: 'a version keeps the clusters of its disks registered' },
})

export const Template = resource('vmm.v4.content.Template', {
  fields: {
    templateName: s.text({ minLength: 1, maxLength: 256 }),
    templateDescription: s.optional(s.text({ maxLength: 1000, multiline: true })),
    /** Answers: the active version. Bodies: a new version. */
    templateVersionSpec: s.optional(TemplateVersion.schema),
    guestUpdateStatus: s.readOnly(
      s.object('vmm.v4.content.GuestUpdateStatus', { deployedVmReference: s.optional(s.uuid()) }),
    ),
    categoryExtIds: s.optional(s.arrayOf(s.referenceTo('Category'), { maxItems: 1250, uniqueItems: true })),
    createTime: s.readOnly(s.timestamp()),
    createdBy: s.readOnly(TemplateUser),
    updateTime: s.readOnly(s.timestamp()),
    updatedBy: s.readOnly(TemplateUser),
  },
  iamNoun: 'VM_Templates',
  iam: { category_uuid: 'categoryExtIds', name: 'templateName', owner_uuid: 'createdBy/extId' },
  iamName: 'vm_template',
  internal: {
    activeVersionExtId: s.referenceTo('TemplateVersion'),
    /** The temporary VM of the guest update, from the acceptance of its task on. */
    updatedVmExtId: s.optional(s.uuid()),
    placementRetries: s.optional(s.arrayOf(s.object('', { clusterExtId: s.uuid(), ...placementRetry }))),
  },
  indexed: ['updatedVmExtId'],
  associationType: 'VM_TEMPLATE',
  sparsePut: true,
  ofCluster: { stays: 'its versions keep the clusters of their disks registered' },
})

/** The first version of a template is made from a VM, and is active. */
const NewTemplate = s.object('vmm.v4.content.Template', {
  ...Template.schema.fields,
  templateVersionSpec: s.object('vmm.v4.content.TemplateVersionSpec', {
    ...TemplateVersion.schema.fields,
    versionSource: s.secret(TemplateVmReference),
  }),
})

export const TemplateDeployment = s.object('vmm.v4.content.TemplateDeployment', {
  clusterReference: s.referenceTo('Cluster'),
  /** Default: the active version. */
  versionId: s.optional(s.uuid()),
  numberOfVms: s.withDefault(s.integer({ minimum: 1, maximum: 250 }), 1),
  /** Keys are numbers of VMs, from "0". */
  overrideVmConfigMap: s.optional(s.mapOf(VmConfigOverride)),
})
export const TemplatePublishSpec = s.object('vmm.v4.content.TemplatePublishSpec', { versionId: s.uuid() })
export const InitiateGuestUpdateSpec = s.object('vmm.v4.content.InitiateGuestUpdateSpec', {
  versionId: s.optional(s.uuid()),
})
export const CompleteGuestUpdateSpec = s.object('vmm.v4.content.CompleteGuestUpdateSpec', {
  versionName,
  versionDescription,
  isActiveVersion: s.withDefault(s.boolean(), true),
})

const writers: readonly RoleName[] = ['Platform Admin', 'Super Admin', 'Virtual Machine Admin']
const readers: readonly RoleName[] = [...writers, 'Platform Viewer', 'Virtual Machine Operator']

const view = { roles: readers }
const mutation = { roles: writers, rateLimit: perSecond(2, 2, 5), requestId: 'required' } as const
const acting = { ...mutation, of: Template } as const

const one = '/content/templates/{extId}'
const versions = '/content/templates/{templateExtId}/versions'
const version = '/content/templates/{templateExtId}/versions/{extId}'

export const templateOperations = {
  listTemplates: list('/content/templates', Template, {
    ...view,
    filter: ['createTime', 'extId', 'templateDescription', 'templateName', 'updateTime'],
    orderby: ['templateName', 'updateTime'],
    select: [
      'createTime',
      'createdBy',
      'extId',
      'guestUpdateStatus',
      'templateDescription',
      'templateName',
      'templateVersionSpec',
      'updateTime',
      'updatedBy',
    ],
  }),
  createTemplate: create('/content/templates', Template, { ...mutation, body: NewTemplate }),
  getTemplateById: get(one, Template, view),
  updateTemplateById: update(one, Template, mutation),
  deleteTemplateById: remove(one, Template, mutation),
  publishTemplate: action('/content/templates/{extId}/$actions/publish', {
    ...acting,
    body: TemplatePublishSpec,
    iam: 'Publish_VM_Templates_Versions',
    ifMatch: 'required',
  }),
  deployTemplate: action('/content/templates/{extId}/$actions/deploy', { ...acting, body: TemplateDeployment }),
  initiateGuestUpdate: action('/content/templates/{extId}/$actions/initiate-guest-update', {
    ...acting,
    body: InitiateGuestUpdateSpec,
  }),
  completeGuestUpdate: action('/content/templates/{extId}/$actions/complete-guest-update', {
    ...acting,
    body: CompleteGuestUpdateSpec,
  }),
  cancelGuestUpdate: action('/content/templates/{extId}/$actions/cancel-guest-update', acting),
}

export const templateVersionOperations = {
  listTemplateVersions: list(versions, TemplateVersion, {
    ...view,
    filter: ['createTime', 'extId', 'versionDescription', 'versionName'],
    orderby: ['createTime', 'versionName'],
    select: 'any',
  }),
  getTemplateVersionById: get(version, TemplateVersion, view),
  deleteTemplateVersionById: remove(version, TemplateVersion, mutation),
}
