/** A tag `key:value`. Source: specification 2.3, 4.4, 5, 8; catalogue platform.json; behaviour platform.md 1, 11. */
import { AppMessage } from '../envelope.ts'
import { names } from '../names.ts'
import { baseFields, create, type EntityOf, get, list, perSecond, remove, resource, update } from '../operation.ts'
import type { RoleName } from '../roles.ts'
import * as s from '../schema.ts'

const ResourceType = s.enumeration(`
  VM, MH_VM, IMAGE, SUBNET, CLUSTER, HOST, REPORT, MARKETPLACE_ITEM, BLUEPRINT, APP, VOLUMEGROUP,
  IMAGE_PLACEMENT_POLICY, NETWORK_SECURITY_POLICY, NETWORK_SECURITY_RULE, VM_HOST_AFFINITY_POLICY,
  VM_VM_ANTI_AFFINITY_POLICY, VM_DEPENDENCY_POLICY, TEMPLATE_PLACEMENT_POLICY, QOS_POLICY, NGT_POLICY, PROTECTION_RULE,
  ACCESS_CONTROL_POLICY, STORAGE_POLICY, IMAGE_RATE_LIMIT, RECOVERY_PLAN, BUNDLE, POLICY_SCHEMA, HOST_NIC, ACTION_RULE,
  VIRTUAL_NIC, VM_TEMPLATE, NETWORK_ENTITY_GROUP, VIRTUAL_NETWORK
`)
const ResourceGroup = s.enumeration(['ENTITY', 'POLICY'])

export const AssociationSummary = s.object('platform.v4.config.AssociationSummary', {
  categoryId: s.readOnly(s.uuid()),
  resourceType: s.readOnly(ResourceType),
  resourceGroup: s.readOnly(ResourceGroup),
  count: s.readOnly(s.integer({ minimum: 0 })),
})

export const AssociationDetail = s.object('platform.v4.config.AssociationDetail', {
  ...baseFields,
  categoryId: s.readOnly(s.uuid()),
  resourceType: s.readOnly(ResourceType),
  resourceGroup: s.readOnly(ResourceGroup),
  resourceId: s.readOnly(s.uuid()),
})

/** Without punctuation that other tools use as separators; `$` only after the first character. */
const tagText = s.text({
  isName: true,
  minLength: 1,
  maxLength: 64,
  pattern: `^[^$/,!"#%'()*+:;=?\\\\|\\[\\]^&][^/,!"#%'()*+:;=?\\\\|\\[\\]^&]{0,63}$`,
})

export const Category = resource('platform.v4.config.Category', {
  fields: {
    key: s.immutable(tagText),
    value: tagText,
    type: s.immutable(s.withDefault(s.enumeration(['USER', 'SYSTEM', 'INTERNAL']), 'USER')),
    description: s.optional(s.text({ maxLength: 512, multiline: true })),
    // Not a reference: a create ignores it; an update checks that the user exists.
    ownerUuid: s.optional(s.uuid()),
    associations: s.readOnly(s.arrayOf(AssociationSummary, { maxItems: 100 })),
    detailedAssociations: s.readOnly(s.arrayOf(AssociationDetail, { maxItems: 100 })),
  },
  iam: { owner_uuid: 'ownerUuid' },
  unique: [{ fields: ['key', 'value'], error: 'CATEGORY_ALREADY_EXISTS' }],
  counted: true,
  isInNewWorld: ({ type }) => type !== 'USER',
})
export type Category = EntityOf<typeof Category>

const writers: readonly RoleName[] = names(`
  CSI System, Category Admin, Kubernetes Admin, Kubernetes Data Services System, Kubernetes Infrastructure Provision,
  Management Connector, Platform Admin, Project Manager, Self-Service Admin (deprecated), Storage Admin, Super Admin
`)
const readers: readonly RoleName[] = [
  ...writers,
  ...names(`
    Backup Admin, Category Viewer, Cluster Admin, Cluster Viewer, Developer, Disaster Recovery Admin,
    Disaster Recovery Viewer, Network Policy Admin, Network Policy Viewer, Platform Viewer, Project Admin,
    Virtual Machine Admin, Virtual Machine Operator, Virtual Machine Viewer
  `),
]

const associationExpansions = {
  associations: { shape: AssociationSummary },
  detailedAssociations: { shape: AssociationDetail },
}

const view = { roles: readers, rateLimit: perSecond(20) }
const mutation = { roles: writers, rateLimit: perSecond(10), runs: 'sync' } as const

export const categoryOperations = {
  listCategories: list('/config/categories', Category, {
    ...view,
    filter: ['extId', 'key', 'ownerUuid', 'type', 'value'],
    orderby: ['key', 'value'],
    select: ['description', 'extId', 'key', 'ownerUuid', 'type', 'value'],
    expand: associationExpansions,
  }),
  createCategory: create('/config/categories', Category, mutation),
  getCategoryById: get('/config/categories/{extId}', Category, {
    ...view,
    // A single read always contains the associations; the details need `$expand`.
    expand: associationExpansions,
  }),
  updateCategoryById: update('/config/categories/{extId}', Category, {
    roles: writers.filter((role) => role !== 'Management Connector'),
    rateLimit: perSecond(10),
    runs: 'sync',
    answer: s.arrayOf(AppMessage),
  }),
  deleteCategoryById: remove('/config/categories/{extId}', Category, mutation),
}
