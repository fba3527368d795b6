/**
 * A broadcast domain: a VLAN on a virtual switch, or an overlay network of a VPC. External subnets provide addresses to
 * routers.
 * Source: catalogue networking.json; behaviour networking.md 1.2, 2, operation-roles.tsv.
 */
import { create, get, list, remove, resource, update } from '../operation.ts'
import {
  arrayOf,
  boolean,
  enumeration,
  immutable,
  integer,
  object,
  optional,
  readOnly,
  referenceTo,
  text,
  uuid,
  visibleWith,
  withDefault,
} from '../schema.ts'
import { IPAddress, IPv4Address, IPv6Address } from '../shapes.ts'
import { Layer2Stretch } from './layer2-stretch.ts'
import { getRate, listRate, mutationRate, subnetReaders } from './roles.ts'
import { changeHolding, descriptionText, EntityMetadata, IPv4Subnet, IPv6Subnet, nameText } from './shapes.ts'
import { VirtualSwitch } from './virtual-switch.ts'
import { Vpc } from './vpc.ts'

export const IPv4Pool = object('networking.v4.config.IPv4Pool', { startIp: IPv4Address, endIp: IPv4Address })
export const IPv6Pool = object('networking.v4.config.IPv6Pool', { startIp: IPv6Address, endIp: IPv6Address })

/** Address management of a subnet; at least one family. */
export const IPConfig = object('networking.v4.config.IPConfig', {
  ipv4: optional(
    object('networking.v4.config.IPv4Config', {
      ipSubnet: IPv4Subnet,
      defaultGatewayIp: optional(IPv4Address),
      dhcpServerAddress: optional(IPv4Address),
      poolList: optional(arrayOf(IPv4Pool, { maxItems: 255 })),
    }),
  ),
  ipv6: optional(
    object('networking.v4.config.IPv6Config', {
      ipSubnet: IPv6Subnet,
      defaultGatewayIp: optional(IPv6Address),
      dhcpServerAddress: optional(IPv6Address),
      poolList: optional(arrayOf(IPv6Pool, { maxItems: 255 })),
    }),
  ),
})

export const DhcpOptions = object('networking.v4.config.DhcpOptions', {
  // The catalogue's pattern in a form that takes linear time.
  domainName: optional(text({ pattern: '^[a-z0-9][\\w-]*(?:\\.[a-z0-9][\\w-]*)*$' })),
  domainNameServers: optional(arrayOf(IPAddress, { maxItems: 32 })),
  searchDomains: optional(arrayOf(text(), { maxItems: 32 })),
  ntpServers: optional(arrayOf(IPAddress, { maxItems: 32 })),
  tftpServerName: optional(text()),
  bootFileName: optional(text()),
})

/** Counted from the leases; shown by the single read only. */
export const IPUsage = object('networking.v4.config.IPUsage', {
  numMacs: optional(integer({ minimum: 0 })),
  numAssignedIPs: optional(integer({ minimum: 0 })),
  numFreeIPs: optional(integer({ minimum: 0 })),
  ipPoolUsages: readOnly(
    arrayOf(
      object('networking.v4.config.IPPoolUsage', {
        range: optional(IPv4Pool),
        numTotalIPs: optional(integer({ minimum: 0 })),
        numFreeIPs: optional(integer({ minimum: 0 })),
      }),
      { maxItems: 255 },
    ),
  ),
})

export const Subnet = resource(
  'networking.v4.config.Subnet',
  {
    // A body may contain it with the stored value only.
    extId: immutable(readOnly(uuid())),
    name: nameText(),
    description: optional(descriptionText()),
    subnetType: immutable(enumeration(['OVERLAY', 'VLAN'])),
    /** VLAN: the tag, 0 to 4095, by default 0. OVERLAY: the network identifier, chosen by the server. */
    networkId: optional(integer({ minimum: 0, maximum: 16777215 })),
    clusterReference: immutable(optional(referenceTo('Cluster'))),
    clusterName: visibleWith('Cluster', 'clusterReference', readOnly(text())),
    clusterReferenceList: readOnly(arrayOf(uuid())),
    clusterNameList: readOnly(arrayOf(text())),
    hypervisorType: readOnly(text()),
    virtualSwitchReference: optional(referenceTo('VirtualSwitch')),
    /** Present when expanded. */
    virtualSwitch: readOnly(VirtualSwitch.schema),
    bridgeName: readOnly(text({ maxLength: 128 })),
    vpcReference: immutable(optional(referenceTo('Vpc'))),
    /** Present when expanded. */
    vpc: readOnly(Vpc.schema),
    isExternal: immutable(withDefault(boolean(), false)),
    isNatEnabled: optional(boolean()),
    /** Changed only by a migration of the subnet. */
    isAdvancedNetworking: immutable(optional(boolean())),
    ipConfig: optional(arrayOf(IPConfig, { maxItems: 1 })),
    dhcpOptions: optional(DhcpOptions),
    externalDhcpServers: optional(
      arrayOf(
        object('networking.v4.config.ExternalDhcpServer', {
          externalDhcpServerIpAddress: optional(IPAddress),
          externalDhcpServerPort: withDefault(integer({ minimum: 1, maximum: 65535 }), 67),
        }),
        { minItems: 1, maxItems: 2 },
      ),
    ),
    networkFunctionChainReference: optional(uuid()),
    ipPrefix: readOnly(text()),
    dynamicIpAddresses: readOnly(arrayOf(IPAddress, { maxItems: 255 })),
    /** The first 255; `listReservedIpsBySubnetId` lists all. */
    reservedIpAddresses: readOnly(arrayOf(IPAddress, { maxItems: 255 })),
    ipUsage: readOnly(IPUsage),
    migrationState: readOnly(enumeration(['IN_PROGRESS', 'FAILED', 'COMPLETED'])),
    layer2StretchReference: readOnly(Layer2Stretch.schema),
    metadata: optional(EntityMetadata),
  },
  {
    internal: {
      /** OVERLAY: the network identifier, unique in the deployment; never shown. */
      vni: optional(integer({ minimum: 4096, maximum: 16777215 })),
      change: optional(
        changeHolding({
          /** The `ipConfig` that a running update will set; until it ends, addresses must fit both. */
          ipConfig: optional(arrayOf(IPConfig, { maxItems: 1 })),
        }),
      ),
    },
    unique: [{ fields: ['vni'] }],
    iam: {
      name: 'subnet',
      attributes: {
        category_uuid: 'metadata/categoryIds',
        cluster_uuid: 'clusterReference',
        name: 'name',
        owner_uuid: 'metadata/ownerReferenceId',
        project_uuid: 'metadata/projectReferenceId',
        type: 'subnetType',
        vpc_uuid: 'vpcReference',
      },
    },
    rel: 'networking:config:subnet',
    notFound: 'NETWORKING_ENTITY_NOT_FOUND',
    gate: { product: 'FLOW_VIRTUAL_NETWORKING', networkController: true, where: { subnetType: 'OVERLAY' } },
    ofCluster: { by: 'clusterReference', keptByManager: ['metadata'] },
  },
)

export const subnetOperations = {
  listSubnets: list('/config/subnets', Subnet, {
    iam: 'View_Subnet',
    roles: subnetReaders,
    rateLimit: listRate,
    filter: ['clusterReference', 'extId', 'isExternal', 'name', 'subnetType', 'vpcReference'],
    orderby: ['name'],
    select: [
      'bridgeName',
      'clusterName',
      'clusterReference',
      'description',
      'dhcpOptions',
      'dynamicIpAddresses',
      'extId',
      'hypervisorType',
      'ipConfig',
      'ipPrefix',
      'ipUsage',
      'isAdvancedNetworking',
      'isExternal',
      'isNatEnabled',
      'links',
      'metadata',
      'migrationState',
      'name',
      'networkFunctionChainReference',
      'networkId',
      'reservedIpAddresses',
      'subnetType',
      'tenantId',
      'virtualSwitch',
      'virtualSwitchReference',
      'vpc',
      'vpcReference',
    ],
    expand: {
      virtualSwitch: { kind: 'VirtualSwitch', by: 'virtualSwitchReference' },
      vpc: { kind: 'Vpc', by: 'vpcReference' },
    },
  }),
  createSubnet: create('/config/subnets', Subnet, {
    iam: 'Create_Subnet',
    roles: [
      'Account Owner',
      'Administrator',
      'Network Infra Admin',
      'Platform Admin',
      'Super Admin',
      'User',
      'VPC Admin',
    ],
    rateLimit: mutationRate,
  }),
  getSubnetById: get('/config/subnets/{extId}', Subnet, {
    iam: 'View_Subnet',
    roles: subnetReaders,
    rateLimit: getRate,
  }),
  updateSubnetById: update('/config/subnets/{extId}', Subnet, {
    iam: 'Update_Subnet',
    roles: ['Account Owner', 'Administrator', 'Network Infra Admin', 'Platform Admin', 'Super Admin', 'VPC Admin'],
    rateLimit: mutationRate,
    ifMatch: 'required',
  }),
  deleteSubnetById: remove('/config/subnets/{extId}', Subnet, {
    iam: 'Delete_Subnet',
    roles: ['Account Owner', 'Administrator', 'Network Infra Admin', 'Platform Admin', 'Super Admin', 'VPC Admin'],
    rateLimit: mutationRate,
  }),
}
