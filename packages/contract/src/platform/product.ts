/** An enabled product needs resources of the manager. Source: catalogue platform.json; behaviour platform.md 5, 11. */
import { names } from '../names.ts'
import { type EntityOf, get, list, perSecond, resource, update } from '../operation.ts'
import type { RoleName } from '../roles.ts'
import * as s from '../schema.ts'
import { KVPair } from '../shapes.ts'

export const productName = s.enumeration(`
  FLOW_VIRTUAL_NETWORKING, FLOW_NETWORK_SECURITY, NUTANIX_DISASTER_RECOVERY, SELF_SERVICE, NUTANIX_MARKETPLACE,
  INTELLIGENT_OPERATIONS, NUTANIX_CLOUD_MANAGER, FLOW_CONTROLLER
`)
export type ProductName = s.ValueOf<typeof productName>

export const GenericMetadata = s.object('platform.v4.management.GenericMetadata', {
  attributes: s.optional(s.arrayOf(KVPair, { maxItems: 100 })),
})

const FlowControllerMetadata = s.object('platform.v4.management.FlowControllerMetadata', {
  cloudSubstrate: s.optional(s.enumeration(['AWS', 'AZURE', 'GCP'])),
  clusterExtId: s.optional(s.referenceTo('Cluster')),
  subnetExtId: s.optional(s.referenceTo('Subnet')),
})

export const Product = resource('platform.v4.management.Product', {
  fields: {
    name: s.immutable(s.optional(productName)),
    enablementState: s.enumeration(['DISABLED', 'ENABLED']),
    metadata: s.optional(s.oneOf(FlowControllerMetadata, GenericMetadata)),
    /** Resources that enabling it adds to each node of the manager. */
    resourceSpec: s.readOnly(
      s.object('platform.v4.management.ResourceSpec', { cpuCount: s.integer(), memorySizeBytes: s.integer() }),
    ),
    version: s.readOnly(s.text()),
    lastModifiedTime: s.readOnly(s.timestamp()),
    resizeTime: s.readOnly(s.timestamp()),
    serviceEnablementTime: s.readOnly(s.timestamp()),
  },
  iamNoun: 'Domain_Manager_Product',
  internal: { domainManagerExtId: s.referenceTo('DomainManager') },
  parent: { param: 'domainManagerExtId', kind: 'DomainManager', field: 'domainManagerExtId' },
  iam: { name: 'name' },
  unique: [{ fields: ['domainManagerExtId', 'name'] }],
  ofCluster: { stays: 'a product only notes for which cluster it was enabled' },
  isInNewWorld: () => true,
})
export type Product = EntityOf<typeof Product>

export const managementReaders: readonly RoleName[] = names(`
  Domain Manager Admin, Domain Manager Viewer, Platform Admin, Platform Viewer, Super Admin
`)

const path = '/management/domain-managers/{domainManagerExtId}/products'

const view = { roles: managementReaders, rateLimit: perSecond(5) }

export const productOperations = {
  listProducts: list(path, Product, {
    ...view,
    filter: ['enablementState', 'name'],
    orderby: ['lastModifiedTime', 'name'],
    select: 'any',
  }),
  getProductById: get(`${path}/{extId}`, Product, view),
  updateProductById: update(`${path}/{extId}`, Product, {
    roles: ['Domain Manager Admin', 'Platform Admin', 'Super Admin'],
    rateLimit: perSecond(1),
    dryRun: true,
  }),
}
