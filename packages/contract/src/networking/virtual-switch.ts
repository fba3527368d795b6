/**
 * The same bridge on the hosts of one cluster, with a bond of uplinks.
 * Source: catalogue networking.json; behaviour networking.md 1.18, 2, operation-roles.tsv.
 */
import { get, list, resource } from '../operation.ts'
import type { RoleName } from '../roles.ts'
import {
  arrayOf,
  boolean,
  enumeration,
  integer,
  object,
  optional,
  readOnly,
  referenceTo,
  text,
  uuid,
  withDefault,
} from '../schema.ts'
import { IPv4Address } from '../shapes.ts'
import { getRate, listRate } from './roles.ts'
import { descriptionText, EntityMetadata, IPv4Subnet, nameText } from './shapes.ts'

const vlan = () => integer({ minimum: 0, maximum: 4095 })

/** The switch on one host. */
export const VirtualSwitchHost = object('networking.v4.config.Host', {
  // Not a reference: the host must exist in this cluster, which the handler checks.
  extId: uuid(),
  /** Lowest free `br<n>` of the cluster, set by the server. */
  internalBridgeName: readOnly(text({ maxLength: 128 })),
  /** Names (`eth0`) or ids of the host's NICs. */
  hostNics: optional(arrayOf(text(), { maxItems: 32 })),
  activeUplink: optional(text()),
  ipAddress: optional(IPv4Subnet),
  routeTable: readOnly(integer()),
})

export const VirtualSwitchCluster = object('networking.v4.config.Cluster', {
  extId: referenceTo('Cluster'),
  hosts: arrayOf(VirtualSwitchHost, { minItems: 1, maxItems: 64 }),
  gatewayIpAddress: optional(IPv4Address),
  /** 0 = untagged. */
  vlanIdentifier: optional(vlan()),
})

export const IgmpSpec = object('networking.v4.config.IgmpSpec', {
  isSnoopingEnabled: withDefault(boolean(), false),
  /** Seconds. */
  snoopingTimeout: withDefault(integer({ minimum: 0 }), 300),
  querierSpec: optional(
    object('networking.v4.config.QuerierSpec', {
      isQuerierEnabled: withDefault(boolean(), false),
      vlanIdList: optional(arrayOf(vlan())),
    }),
  ),
})

export const VirtualSwitch = resource(
  'networking.v4.config.VirtualSwitch',
  {
    name: nameText(),
    description: optional(descriptionText()),
    bondMode: enumeration(['ACTIVE_BACKUP', 'BALANCE_SLB', 'BALANCE_TCP', 'NONE']),
    clusters: arrayOf(VirtualSwitchCluster, { minItems: 1, maxItems: 1 }),
    mtu: withDefault(integer({ minimum: 1280, maximum: 9000 }), 1500),
    igmpSpec: optional(IgmpSpec),
    /** Hosts change without maintenance mode. */
    isQuickMode: withDefault(boolean(), false),
    // Writable in form only: a body with `true` is refused.
    isDefault: withDefault(boolean(), false),
    ownerType: readOnly(enumeration(['PE', 'PC'])),
    hasUpdateInProgress: readOnly(boolean()),
    hasDeleteInProgress: readOnly(boolean()),
    hasDeploymentError: readOnly(boolean()),
    metadata: optional(EntityMetadata),
  },
  {
    /** The one cluster of `clusters`, for uniqueness and the header X-Cluster-Id. */
    internal: { clusterExtId: uuid() },
    indexed: ['clusterExtId'],
    unique: [{ fields: ['clusterExtId', 'name'], error: 'NETWORKING_ENTITY_ALREADY_EXISTS' }],
    iam: {
      name: 'virtual_switch',
      attributes: {
        category_uuid: 'metadata/categoryIds',
        cluster_uuid: 'clusters/extId',
        name: 'name',
        owner_uuid: 'metadata/ownerReferenceId',
        project_uuid: 'metadata/projectReferenceId',
      },
    },
    rel: 'networking:config:virtual-switch',
    notFound: 'NETWORKING_ENTITY_NOT_FOUND',
    ofCluster: { by: 'clusterExtId', keptByManager: ['metadata'] },
  },
)

const readers: readonly RoleName[] = [
  'Consumer',
  'Developer',
  'Network Infra Admin',
  'Operator',
  'Platform Admin',
  'Platform Viewer',
  'Project Admin',
  'Super Admin',
  'VPC Admin',
  'Virtual Machine Admin',
  'Virtual Machine Operator',
  'Virtual Machine Viewer',
]

export const virtualSwitchOperations = {
  listVirtualSwitches: list('/config/virtual-switches', VirtualSwitch, {
    iam: 'View_Virtual_Switch',
    roles: readers,
    rateLimit: listRate,
    // Restricts the list to switches of that cluster.
    clusterId: 'optional',
    filter: ['clusters/extId', 'extId', 'isDefault', 'name'],
    orderby: ['extId', 'isDefault', 'name'],
  }),
  getVirtualSwitchById: get('/config/virtual-switches/{extId}', VirtualSwitch, {
    iam: 'View_Virtual_Switch',
    roles: readers,
    rateLimit: getRate,
    // Deprecated; ignored.
    clusterId: 'optional',
  }),
}
