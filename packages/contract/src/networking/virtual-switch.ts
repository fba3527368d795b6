/** Source: catalogue networking.json; behaviour networking.md 1.18, 2, operation-roles.tsv. */
import { names } from '../names.ts'
import { create, type EntityOf, get, list, remove, resource, update } from '../operation.ts'
import type { RoleName } from '../roles.ts'
import * as s from '../schema.ts'
import { IPv4Address } from '../shapes.ts'
import { controllerWriters, slowMutationRate } from './roles.ts'
import { changeHolding, descriptionText, EntityMetadata, IPv4Subnet, nameText, ownAttributes } from './shapes.ts'

const vlan = () => s.integer({ minimum: 0, maximum: 4095 })

export const VirtualSwitchHost = s.object('networking.v4.config.Host', {
  // Not a reference: the handler checks that the host exists in this cluster.
  extId: s.uuid(),
  /** Lowest free `br<n>` of the cluster. */
  internalBridgeName: s.readOnly(s.text({ maxLength: 128 })),
  /** Names (`eth0`) or ids of the host's NICs. */
  hostNics: s.optional(s.arrayOf(s.text(), { maxItems: 32 })),
  activeUplink: s.optional(s.text()),
  ipAddress: s.optional(IPv4Subnet),
  routeTable: s.readOnly(s.integer()),
})

export const VirtualSwitchCluster = s.object('networking.v4.config.Cluster', {
  extId: s.referenceTo('Cluster'),
  hosts: s.arrayOf(VirtualSwitchHost, { minItems: 1, maxItems: 64 }),
  gatewayIpAddress: s.optional(IPv4Address),
  /** 0: untagged. */
  vlanIdentifier: s.optional(vlan()),
})

export const IgmpSpec = s.object('networking.v4.config.IgmpSpec', {
  isSnoopingEnabled: s.withDefault(s.boolean(), false),
  snoopingTimeout: s.withDefault(s.integer({ minimum: 0 }), 300),
  querierSpec: s.optionalObject('networking.v4.config.QuerierSpec', {
    isQuerierEnabled: s.withDefault(s.boolean(), false),
    vlanIdList: s.optional(s.arrayOf(vlan())),
  }),
})

export const VirtualSwitch = resource('networking.v4.config.VirtualSwitch', {
  fields: {
    name: nameText(),
    description: s.optional(descriptionText()),
    bondMode: s.enumeration(['ACTIVE_BACKUP', 'BALANCE_SLB', 'BALANCE_TCP', 'NONE']),
    clusters: s.arrayOf(VirtualSwitchCluster, { minItems: 1, maxItems: 1 }),
    mtu: s.withDefault(s.integer({ minimum: 1280, maximum: 9000 }), 1500),
    igmpSpec: s.optional(IgmpSpec),
    /** Hosts change without maintenance mode. */
    isQuickMode: s.withDefault(s.boolean(), false),
    // A body with `true` is refused.
    isDefault: s.withDefault(s.boolean(), false),
    ownerType: s.readOnly(s.enumeration(['PE', 'PC'])),
    hasUpdateInProgress: s.readOnly(s.boolean()),
    hasDeleteInProgress: s.readOnly(s.boolean()),
    hasDeploymentError: s.readOnly(s.boolean()),
    metadata: s.optional(EntityMetadata),
  },
  internal: {
    /** The one cluster of `clusters`, for uniqueness and the header X-Cluster-Id. */
    clusterExtId: s.uuid(),
    /** As `<host>/eth0`, however the body names the NIC. */
    uplinks: s.optional(s.arrayOf(s.text())),
    /** With values that the update will store. */
    change: changeHolding({
      name: s.optional(s.text()),
      uplinks: s.optional(s.arrayOf(s.text())),
      hostExtIds: s.optional(s.arrayOf(s.uuid())),
    }),
  },
  indexed: ['clusterExtId'],
  unique: [{ fields: ['clusterExtId', 'name'], error: 'NETWORKING_ENTITY_ALREADY_EXISTS' }],
  iam: { ...ownAttributes, cluster_uuid: 'clusters/extId' },
  ofCluster: { by: 'clusterExtId', keptByManager: ['metadata'] },
})
export type VirtualSwitch = EntityOf<typeof VirtualSwitch>

export const switchReaders: readonly RoleName[] = names(`
  Consumer, Developer, Network Infra Admin, Operator, Platform Admin, Platform Viewer, Project Admin, Super Admin,
  VPC Admin, Virtual Machine Admin, Virtual Machine Operator, Virtual Machine Viewer
`)

const view = { roles: switchReaders }
const mutation = {
  roles: controllerWriters,
  rateLimit: slowMutationRate,
  // Deprecated: the body names the cluster, and the header must not contradict it.
  clusterId: 'optional',
} as const

export const virtualSwitchOperations = {
  listVirtualSwitches: list('/config/virtual-switches', VirtualSwitch, {
    ...view,
    clusterId: 'optional',
    filter: ['clusters/extId', 'extId', 'isDefault', 'name'],
    orderby: ['extId', 'isDefault', 'name'],
  }),
  getVirtualSwitchById: get('/config/virtual-switches/{extId}', VirtualSwitch, {
    ...view,
    // Deprecated; ignored.
    clusterId: 'optional',
  }),
  createVirtualSwitch: create('/config/virtual-switches', VirtualSwitch, { ...mutation, iam: 'Add_Virtual_Switch' }),
  updateVirtualSwitchById: update('/config/virtual-switches/{extId}', VirtualSwitch, mutation),
  deleteVirtualSwitchById: remove('/config/virtual-switches/{extId}', VirtualSwitch, mutation),
}
