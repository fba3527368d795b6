/** VLAN or overlay of a VPC. Source: catalogue networking.json; behaviour networking.md 1.2, 2, operation-roles.tsv. */
import { names } from '../names.ts'
import { create, type EntityOf, get, list, remove, resource, update } from '../operation.ts'
import * as s from '../schema.ts'
import { IPAddress } from '../shapes.ts'
import { Layer2Stretch } from './layer2-stretch.ts'
import { mutationRate, subnetReaders } from './roles.ts'
import {
  changeHolding,
  descriptionText,
  EntityMetadata,
  IPConfig,
  IPv4Pool,
  nameText,
  ownAttributes,
} from './shapes.ts'
import { VirtualSwitch } from './virtual-switch.ts'
import { Vpc } from './vpc.ts'

export const DhcpOptions = s.object('networking.v4.config.DhcpOptions', {
  // The catalogue's pattern in a form that takes linear time.
  domainName: s.optional(s.text({ pattern: '^[a-z0-9][\\w-]*(?:\\.[a-z0-9][\\w-]*)*$' })),
  domainNameServers: s.optional(s.arrayOf(IPAddress, { maxItems: 32 })),
  searchDomains: s.optional(s.arrayOf(s.text(), { maxItems: 32 })),
  ntpServers: s.optional(s.arrayOf(IPAddress, { maxItems: 32 })),
  tftpServerName: s.optional(s.text()),
  bootFileName: s.optional(s.text()),
})

/** Counted from the leases; shown by the single read only. */
export const IPUsage = s.object('networking.v4.config.IPUsage', {
  numMacs: s.optional(s.integer({ minimum: 0 })),
  numAssignedIPs: s.optional(s.integer({ minimum: 0 })),
  numFreeIPs: s.optional(s.integer({ minimum: 0 })),
  ipPoolUsages: s.readOnly(
    s.arrayOf(
      s.object('networking.v4.config.IPPoolUsage', {
        range: s.optional(IPv4Pool),
        numTotalIPs: s.optional(s.integer({ minimum: 0 })),
        numFreeIPs: s.optional(s.integer({ minimum: 0 })),
      }),
      { maxItems: 255 },
    ),
  ),
})

export const Subnet = resource('networking.v4.config.Subnet', {
  fields: {
    // A body may contain only the stored value.
    extId: s.immutable(s.readOnly(s.uuid())),
    name: nameText(),
    description: s.optional(descriptionText()),
    subnetType: s.immutable(s.enumeration(['OVERLAY', 'VLAN'])),
    /** VLAN: the tag, default 0. OVERLAY: the network identifier, chosen by the server. */
    networkId: s.optional(s.integer({ minimum: 0, maximum: 16777215 })),
    clusterReference: s.immutable(s.optional(s.referenceTo('Cluster'))),
    clusterName: s.visibleWith('Cluster', 'clusterReference', s.readOnly(s.text())),
    clusterReferenceList: s.readOnly(s.arrayOf(s.uuid())),
    clusterNameList: s.readOnly(s.arrayOf(s.text())),
    hypervisorType: s.readOnly(s.text()),
    virtualSwitchReference: s.optional(s.referenceTo('VirtualSwitch')),
    virtualSwitch: s.readOnly(VirtualSwitch.schema),
    bridgeName: s.readOnly(s.text({ maxLength: 128 })),
    vpcReference: s.immutable(s.optional(s.referenceTo('Vpc'))),
    vpc: s.readOnly(Vpc.schema),
    isExternal: s.immutable(s.withDefault(s.boolean(), false)),
    isNatEnabled: s.optional(s.boolean()),
    isAdvancedNetworking: s.immutable(s.optional(s.boolean())),
    ipConfig: s.optional(s.arrayOf(IPConfig, { maxItems: 1 })),
    dhcpOptions: s.optional(DhcpOptions),
    externalDhcpServers: s.optional(
      s.arrayOf(
        s.object('networking.v4.config.ExternalDhcpServer', {
          externalDhcpServerIpAddress: s.optional(IPAddress),
          externalDhcpServerPort: s.withDefault(s.integer({ minimum: 1, maximum: 65535 }), 67),
        }),
        { minItems: 1, maxItems: 2 },
      ),
    ),
    networkFunctionChainReference: s.optional(s.uuid()),
    ipPrefix: s.readOnly(s.text()),
    dynamicIpAddresses: s.readOnly(s.arrayOf(IPAddress, { maxItems: 255 })),
    /** The first 255; `listReservedIpsBySubnetId` lists all. */
    reservedIpAddresses: s.readOnly(s.arrayOf(IPAddress, { maxItems: 255 })),
    ipUsage: s.readOnly(IPUsage),
    migrationState: s.readOnly(s.enumeration(['IN_PROGRESS', 'FAILED', 'COMPLETED'])),
    layer2StretchReference: s.readOnly(Layer2Stretch.schema),
    metadata: s.optional(EntityMetadata),
  },
  internal: {
    /** OVERLAY: unique in the deployment; never shown. */
    vni: s.optional(s.integer({ minimum: 4096, maximum: 16777215 })),
    change: changeHolding({
      /** Set by a running update; until it ends, addresses must fit both values. */
      ipConfig: s.optional(s.arrayOf(IPConfig, { maxItems: 1 })),
      isNatEnabled: s.optional(s.boolean()),
    }),
  },
  unique: [{ fields: ['vni'] }],
  iam: { ...ownAttributes, cluster_uuid: 'clusterReference', type: 'subnetType', vpc_uuid: 'vpcReference' },
  associationType: 'SUBNET',
  gate: { product: 'FLOW_VIRTUAL_NETWORKING', networkController: true, where: { subnetType: 'OVERLAY' } },
  ofCluster: { by: 'clusterReference', keptByManager: ['metadata'] },
})
export type Subnet = EntityOf<typeof Subnet>

const view = { iam: 'View_Subnet', roles: subnetReaders }
const mutation = {
  roles: ['Account Owner', 'Administrator', 'Network Infra Admin', 'Platform Admin', 'Super Admin', 'VPC Admin'],
  rateLimit: mutationRate,
} as const

export const subnetOperations = {
  listSubnets: list('/config/subnets', Subnet, {
    ...view,
    filter: ['clusterReference', 'extId', 'isExternal', 'name', 'subnetType', 'vpcReference'],
    orderby: ['name'],
    select: names(`
      bridgeName, clusterName, clusterReference, description, dhcpOptions, dynamicIpAddresses, extId, hypervisorType,
      ipConfig, ipPrefix, ipUsage, isAdvancedNetworking, isExternal, isNatEnabled, links, metadata, migrationState,
      name, networkFunctionChainReference, networkId, reservedIpAddresses, subnetType, tenantId, virtualSwitch,
      virtualSwitchReference, vpc, vpcReference
    `),
    expand: {
      virtualSwitch: { kind: 'VirtualSwitch', by: 'virtualSwitchReference' },
      vpc: { kind: 'Vpc', by: 'vpcReference' },
    },
  }),
  createSubnet: create('/config/subnets', Subnet, {
    roles: names('Account Owner, Administrator, Network Infra Admin, Platform Admin, Super Admin, User, VPC Admin'),
    rateLimit: mutationRate,
  }),
  getSubnetById: get('/config/subnets/{extId}', Subnet, view),
  updateSubnetById: update('/config/subnets/{extId}', Subnet, mutation),
  deleteSubnetById: remove('/config/subnets/{extId}', Subnet, mutation),
}
