/**
 * An isolated routing domain with one distributed router; private ranges of different VPCs may overlap.
 * Source: catalogue networking.json; behaviour networking.md 1.5, 2, operation-roles.tsv.
 */
import { create, get, list, remove, resource, update } from '../operation.ts'
import {
  arrayOf,
  enumeration,
  immutable,
  integer,
  object,
  optional,
  readOnly,
  referenceTo,
  uuid,
  withDefault,
} from '../schema.ts'
import { IPAddress } from '../shapes.ts'
import { getRate, listRate, mutationRate, vpcReaders, vpcWriters } from './roles.ts'
import { changeHolding, descriptionText, EntityMetadata, IPSubnet, KVStringPair, nameText } from './shapes.ts'

/** Attachment to an external subnet: router ports, and the hosts that carry them. */
export const ExternalSubnet = object('networking.v4.config.ExternalSubnet', {
  subnetReference: referenceTo('Subnet'),
  // The catalogue allows one address, from an older release; clients send two.
  externalIps: optional(arrayOf(IPAddress, { maxItems: 4 })),
  gatewayNodes: optional(arrayOf(uuid(), { minItems: 3, maxItems: 32 })),
  activeGatewayCount: withDefault(integer({ minimum: 1, maximum: 4 }), 1),
  activeGatewayNodes: readOnly(
    arrayOf(
      object('networking.v4.config.GatewayNodeReference', {
        nodeId: optional(uuid()),
        nodeIpAddress: optional(IPAddress),
      }),
    ),
  ),
})

export const KubernetesCluster = object('networking.v4.config.KubernetesCluster', {
  extId: uuid(),
  gatewayNodesSelector: optional(
    object('networking.v4.config.GatewayNodesSelector', { matchLabels: optional(arrayOf(KVStringPair)) }),
  ),
})

export const Vpc = resource(
  'networking.v4.config.Vpc',
  {
    name: nameText(),
    description: optional(descriptionText()),
    vpcType: immutable(withDefault(enumeration(['REGULAR', 'TRANSIT']), 'REGULAR')),
    externalSubnets: optional(arrayOf(ExternalSubnet, { maxItems: 2 })),
    externallyRoutablePrefixes: optional(arrayOf(IPSubnet, { maxItems: 10 })),
    commonDhcpOptions: optional(
      object('networking.v4.config.VpcDhcpOptions', {
        domainNameServers: optional(arrayOf(IPAddress, { maxItems: 32 })),
      }),
    ),
    externalRoutingDomainReference: optional(uuid()),
    kubernetesClusters: optional(arrayOf(KubernetesCluster)),
    /** Addresses of the attachment with NAT. */
    snatIps: readOnly(arrayOf(IPAddress, { maxItems: 2 })),
    metadata: optional(EntityMetadata),
  },
  {
    title: 'VPC',
    internal: {
      change: optional(
        changeHolding({
          /**
           * External subnets that a running update will attach: they cannot be deleted, and their ports are reserved.
           */
          externalSubnets: optional(arrayOf(ExternalSubnet, { maxItems: 2 })),
          externallyRoutablePrefixes: optional(arrayOf(IPSubnet, { maxItems: 10 })),
        }),
      ),
    },
    iam: {
      name: 'vpc',
      attributes: {
        category_uuid: 'metadata/categoryIds',
        name: 'name',
        owner_uuid: 'metadata/ownerReferenceId',
        project_uuid: 'metadata/projectReferenceId',
        type: 'vpcType',
      },
    },
    rel: 'networking:config:vpc',
    notFound: 'NETWORKING_ENTITY_NOT_FOUND',
    gate: { product: 'FLOW_VIRTUAL_NETWORKING', keepsProductEnabled: true, networkController: true },
  },
)

const mutation = {
  roles: vpcWriters,
  rateLimit: mutationRate,
}

export const vpcOperations = {
  listVpcs: list('/config/vpcs', Vpc, {
    iam: 'View_VPC',
    roles: vpcReaders,
    rateLimit: listRate,
    filter: ['extId', 'name', 'vpcType'],
    orderby: ['name'],
    select: [
      'commonDhcpOptions',
      'description',
      'extId',
      'externalRoutingDomainReference',
      'externalSubnets',
      'externallyRoutablePrefixes',
      'links',
      'metadata',
      'name',
      'snatIps',
      'tenantId',
      'vpcType',
    ],
  }),
  createVpc: create('/config/vpcs', Vpc, { ...mutation, iam: 'Create_VPC' }),
  getVpcById: get('/config/vpcs/{extId}', Vpc, {
    iam: 'View_VPC',
    roles: vpcReaders,
    rateLimit: getRate,
  }),
  updateVpcById: update('/config/vpcs/{extId}', Vpc, { ...mutation, iam: 'Update_VPC', ifMatch: 'required' }),
  deleteVpcById: remove('/config/vpcs/{extId}', Vpc, { ...mutation, iam: 'Delete_VPC' }),
}
