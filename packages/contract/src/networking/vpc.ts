/** Ranges may overlap. Source: catalogue networking.json; behaviour networking.md 1.5, 2, operation-roles.tsv. */
import { names } from '../names.ts'
import { create, get, list, remove, resource, update } from '../operation.ts'
import * as s from '../schema.ts'
import { IPAddress } from '../shapes.ts'
import { mutationRate, vpcReaders, vpcWriters } from './roles.ts'
import {
  changeHolding,
  descriptionText,
  EntityMetadata,
  IPSubnet,
  KVStringPair,
  nameText,
  ownAttributes,
} from './shapes.ts'

export const ExternalSubnet = s.object('networking.v4.config.ExternalSubnet', {
  subnetReference: s.referenceTo('Subnet'),
  // The catalogue allows one address, from an older release; clients send two.
  externalIps: s.optional(s.arrayOf(IPAddress, { maxItems: 4 })),
  gatewayNodes: s.optional(s.arrayOf(s.uuid(), { minItems: 3, maxItems: 32 })),
  activeGatewayCount: s.withDefault(s.integer({ minimum: 1, maximum: 4 }), 1),
  activeGatewayNodes: s.readOnly(
    s.arrayOf(
      s.object('networking.v4.config.GatewayNodeReference', {
        nodeId: s.optional(s.uuid()),
        nodeIpAddress: s.optional(IPAddress),
      }),
    ),
  ),
})

export const KubernetesCluster = s.object('networking.v4.config.KubernetesCluster', {
  extId: s.uuid(),
  gatewayNodesSelector: s.optionalObject('networking.v4.config.GatewayNodesSelector', {
    matchLabels: s.optional(s.arrayOf(KVStringPair)),
  }),
})

export const Vpc = resource('networking.v4.config.Vpc', {
  fields: {
    name: nameText(),
    description: s.optional(descriptionText()),
    vpcType: s.immutable(s.withDefault(s.enumeration(['REGULAR', 'TRANSIT']), 'REGULAR')),
    externalSubnets: s.optional(s.arrayOf(ExternalSubnet, { maxItems: 2 })),
    externallyRoutablePrefixes: s.optional(s.arrayOf(IPSubnet, { maxItems: 10 })),
    commonDhcpOptions: s.optionalObject('networking.v4.config.VpcDhcpOptions', {
      domainNameServers: s.optional(s.arrayOf(IPAddress, { maxItems: 32 })),
    }),
    externalRoutingDomainReference: s.optional(s.uuid()),
    kubernetesClusters: s.optional(s.arrayOf(KubernetesCluster)),
    snatIps: s.readOnly(s.arrayOf(IPAddress, { maxItems: 2 })),
    metadata: s.optional(EntityMetadata),
  },
  internal: {
    change: changeHolding({
      /** External subnets that a running update will attach cannot be deleted, and their ports are reserved. */
      externalSubnets: s.optional(s.arrayOf(ExternalSubnet, { maxItems: 2 })),
      externallyRoutablePrefixes: s.optional(s.arrayOf(IPSubnet, { maxItems: 10 })),
    }),
  },
  iam: { ...ownAttributes, type: 'vpcType' },
  associationType: 'VIRTUAL_NETWORK',
  gate: { product: 'FLOW_VIRTUAL_NETWORKING', keepsProductEnabled: true, networkController: true },
})

const mutation = { roles: vpcWriters, rateLimit: mutationRate }

const view = { roles: vpcReaders }

export const vpcOperations = {
  listVpcs: list('/config/vpcs', Vpc, {
    ...view,
    filter: ['extId', 'name', 'vpcType'],
    orderby: ['name'],
    select: names(`
      commonDhcpOptions, description, extId, externalRoutingDomainReference, externalSubnets,
      externallyRoutablePrefixes, links, metadata, name, snatIps, tenantId, vpcType
    `),
  }),
  createVpc: create('/config/vpcs', Vpc, mutation),
  getVpcById: get('/config/vpcs/{extId}', Vpc, view),
  updateVpcById: update('/config/vpcs/{extId}', Vpc, mutation),
  deleteVpcById: remove('/config/vpcs/{extId}', Vpc, mutation),
}
