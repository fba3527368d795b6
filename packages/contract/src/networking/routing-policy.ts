/** Highest priority wins. Source: catalogue networking.json; behaviour networking.md 1.7, 2, operation-roles.tsv. */
import { names } from '../names.ts'
import { action, create, get, list, remove, resource, update } from '../operation.ts'
import * as s from '../schema.ts'
import { IPAddress } from '../shapes.ts'
import { mutationRate, routingReaders, vpcWriters } from './roles.ts'
import { changeHolding, descriptionText, EntityMetadata, IPSubnet, nameText } from './shapes.ts'

const port = () => s.integer({ minimum: 0, maximum: 65535 })
export const PortRange = s.object('networking.v4.config.PortRange', { startPort: port(), endPort: port() })
const octet = () => s.integer({ minimum: 0, maximum: 255 })

export const AddressTypeObject = s.object(
  'networking.v4.config.AddressTypeObject',
  {
    addressType: s.enumeration(['ANY', 'EXTERNAL', 'SUBNET']),
    subnetPrefix: s.optional(IPSubnet),
  },
  { filteredBy: 'addressType' },
)

export const ICMPObject = s.object('networking.v4.config.ICMPObject', {
  icmpType: s.optional(octet()),
  icmpCode: s.optional(octet()),
})
export const ProtocolNumberObject = s.object('networking.v4.config.ProtocolNumberObject', { protocolNumber: octet() })
export const LayerFourProtocolObject = s.object('networking.v4.config.LayerFourProtocolObject', {
  sourcePortRanges: s.optional(s.arrayOf(PortRange, { maxItems: 20 })),
  destinationPortRanges: s.optional(s.arrayOf(PortRange, { maxItems: 20 })),
})

export const RoutingPolicyMatchCondition = s.object('networking.v4.config.RoutingPolicyMatchCondition', {
  source: AddressTypeObject,
  destination: AddressTypeObject,
  protocolType: s.enumeration(['ANY', 'ICMP', 'TCP', 'UDP', 'PROTOCOL_NUMBER']),
  protocolParameters: s.optional(s.oneOf(ICMPObject, ProtocolNumberObject, LayerFourProtocolObject)),
})

export const RoutingPolicyAction = s.object('networking.v4.config.RoutingPolicyAction', {
  actionType: s.enumeration(['PERMIT', 'DENY', 'REROUTE', 'FORWARD']),
  nexthopIpAddress: s.optional(IPAddress),
  rerouteParams: s.optional(
    s.arrayOf(
      s.object('networking.v4.config.RerouteParam', {
        serviceIp: s.optional(IPAddress),
        ingressServiceIp: s.optional(IPAddress),
        egressServiceIp: s.optional(IPAddress),
        /** Applied when the service address stops answering. */
        rerouteFallbackAction: s.withDefault(s.enumeration(['ALLOW', 'DROP', 'PASSTHROUGH', 'NO_ACTION']), 'ALLOW'),
      }),
      { maxItems: 1 },
    ),
  ),
})

export const RoutingPolicyRule = s.object('networking.v4.config.RoutingPolicyRule', {
  policyMatch: RoutingPolicyMatchCondition,
  policyAction: RoutingPolicyAction,
  /** Installs the mirrored rule as well. */
  isBidirectional: s.withDefault(s.boolean(), false),
})

const VpcName = s.object('networking.v4.config.VpcName', { name: s.readOnly(s.text()) })
const VpcNameProjection = s.object('networking.v4.config.VpcNameProjection', { name: s.readOnly(s.text()) })

export const RoutingPolicy = resource('networking.v4.config.RoutingPolicy', {
  fields: {
    name: nameText(),
    description: s.optional(descriptionText()),
    priority: s.integer({ minimum: 1, maximum: 1000 }),
    vpcExtId: s.immutable(s.referenceTo('Vpc')),
    vpc: s.visibleWith('Vpc', 'vpcExtId', s.readOnly(VpcName)),
    policies: s.arrayOf(RoutingPolicyRule, { minItems: 1, maxItems: 1 }),
    metadata: s.readOnly(EntityMetadata),
  },
  internal: {
    change: changeHolding({
      priority: s.optional(s.integer()),
    }),
  },
  unique: [{ fields: ['vpcExtId', 'priority'], error: 'NETWORKING_ENTITY_ALREADY_EXISTS' }],
  iam: { name: 'name', owner_uuid: 'metadata/ownerReferenceId', vpc_uuid: 'vpcExtId' },
  gate: { product: 'FLOW_VIRTUAL_NETWORKING', networkController: true },
})

export const RoutingPolicyClearCountersSpec = s.object('networking.v4.stats.RoutingPolicyClearCountersSpec', {
  vpcExtId: s.referenceTo('Vpc'),
  routingPolicyExtId: s.optional(s.referenceTo('RoutingPolicy')),
})

const mutation = { roles: vpcWriters, rateLimit: mutationRate }

const view = { roles: routingReaders }

export const routingPolicyOperations = {
  listRoutingPolicies: list('/config/routing-policies', RoutingPolicy, {
    ...view,
    filter: names(`
      extId, name, policies/policyAction/actionType, policies/policyMatch/protocolType, policies/policyMatch/source,
      priority, vpcExtId
    `),
    orderby: ['name', 'priority'],
    select: names('description, extId, links, metadata, name, policies, priority, tenantId, vpc, vpcExtId'),
    expand: { vpc: { into: 'vpcNameProjection', shape: s.visibleWith('Vpc', 'vpcExtId', VpcNameProjection) } },
    expandedType: 'networking.v4.config.RoutingPolicyProjection',
  }),
  createRoutingPolicy: create('/config/routing-policies', RoutingPolicy, mutation),
  getRoutingPolicyById: get('/config/routing-policies/{extId}', RoutingPolicy, view),
  updateRoutingPolicyById: update('/config/routing-policies/{extId}', RoutingPolicy, mutation),
  deleteRoutingPolicyById: remove('/config/routing-policies/{extId}', RoutingPolicy, mutation),
  clearRoutingPolicyCounters: action('/stats/routing-policies/$actions/clear', {
    ...mutation,
    of: RoutingPolicy,
    body: RoutingPolicyClearCountersSpec,
    iam: 'Clear_Routing_Policy_Stats',
  }),
}
