/**
 * A rule of a VPC's router. The matching rule of the highest priority decides what happens to a packet.
 * Source: catalogue networking.json; behaviour networking.md 1.7, 2, operation-roles.tsv.
 */
import { action, create, get, list, remove, resource, update } from '../operation.ts'
import {
  arrayOf,
  boolean,
  enumeration,
  immutable,
  integer,
  object,
  oneOf,
  optional,
  readOnly,
  referenceTo,
  text,
  visibleWith,
  withDefault,
} from '../schema.ts'
import { IPAddress } from '../shapes.ts'
import { getRate, listRate, mutationRate, routingReaders, vpcWriters } from './roles.ts'
import { changeHolding, descriptionText, EntityMetadata, IPSubnet, nameText } from './shapes.ts'

const port = () => integer({ minimum: 0, maximum: 65535 })
const PortRange = object('networking.v4.config.PortRange', { startPort: port(), endPort: port() })
const octet = () => integer({ minimum: 0, maximum: 255 })

export const AddressTypeObject = object(
  'networking.v4.config.AddressTypeObject',
  {
    addressType: enumeration(['ANY', 'EXTERNAL', 'SUBNET']),
    /** Only with SUBNET. */
    subnetPrefix: optional(IPSubnet),
  },
  { filteredBy: 'addressType' },
)

export const ICMPObject = object('networking.v4.config.ICMPObject', {
  icmpType: optional(octet()),
  icmpCode: optional(octet()),
})
export const ProtocolNumberObject = object('networking.v4.config.ProtocolNumberObject', { protocolNumber: octet() })
export const LayerFourProtocolObject = object('networking.v4.config.LayerFourProtocolObject', {
  sourcePortRanges: optional(arrayOf(PortRange, { maxItems: 20 })),
  destinationPortRanges: optional(arrayOf(PortRange, { maxItems: 20 })),
})

export const RoutingPolicyMatchCondition = object('networking.v4.config.RoutingPolicyMatchCondition', {
  source: AddressTypeObject,
  destination: AddressTypeObject,
  protocolType: enumeration(['ANY', 'ICMP', 'TCP', 'UDP', 'PROTOCOL_NUMBER']),
  protocolParameters: optional(oneOf(ICMPObject, ProtocolNumberObject, LayerFourProtocolObject)),
})

export const RoutingPolicyAction = object('networking.v4.config.RoutingPolicyAction', {
  actionType: enumeration(['PERMIT', 'DENY', 'REROUTE', 'FORWARD']),
  nexthopIpAddress: optional(IPAddress),
  rerouteParams: optional(
    arrayOf(
      object('networking.v4.config.RerouteParam', {
        serviceIp: optional(IPAddress),
        ingressServiceIp: optional(IPAddress),
        egressServiceIp: optional(IPAddress),
        /** Applied when the service address stops answering. */
        rerouteFallbackAction: withDefault(enumeration(['ALLOW', 'DROP', 'PASSTHROUGH', 'NO_ACTION']), 'ALLOW'),
      }),
      { maxItems: 1 },
    ),
  ),
})

export const RoutingPolicyRule = object('networking.v4.config.RoutingPolicyRule', {
  policyMatch: RoutingPolicyMatchCondition,
  policyAction: RoutingPolicyAction,
  /** Installs the mirrored rule as well. */
  isBidirectional: withDefault(boolean(), false),
})

const VpcName = object('networking.v4.config.VpcName', { name: readOnly(text()) })
const VpcNameProjection = object('networking.v4.config.VpcNameProjection', { name: readOnly(text()) })

export const RoutingPolicy = resource(
  'networking.v4.config.RoutingPolicy',
  {
    name: nameText(),
    description: optional(descriptionText()),
    priority: integer({ minimum: 1, maximum: 1000 }),
    vpcExtId: immutable(referenceTo('Vpc')),
    vpc: visibleWith('Vpc', 'vpcExtId', readOnly(VpcName)),
    policies: arrayOf(RoutingPolicyRule, { minItems: 1, maxItems: 1 }),
    metadata: readOnly(EntityMetadata),
  },
  {
    internal: {
      change: optional(
        changeHolding({
          /** The `priority` that a running update will set. */
          priority: optional(integer()),
        }),
      ),
    },
    unique: [{ fields: ['vpcExtId', 'priority'], error: 'NETWORKING_ENTITY_ALREADY_EXISTS' }],
    iam: {
      name: 'routing_policy',
      attributes: { name: 'name', owner_uuid: 'metadata/ownerReferenceId', vpc_uuid: 'vpcExtId' },
    },
    rel: 'networking:config:routing-policy',
    notFound: 'NETWORKING_ENTITY_NOT_FOUND',
    gate: { product: 'FLOW_VIRTUAL_NETWORKING', networkController: true },
  },
)

/** Selects the counters to reset: those of one policy, or of all policies of the VPC. */
export const RoutingPolicyClearCountersSpec = object('networking.v4.stats.RoutingPolicyClearCountersSpec', {
  vpcExtId: referenceTo('Vpc'),
  routingPolicyExtId: optional(referenceTo('RoutingPolicy')),
})

const mutation = {
  roles: vpcWriters,
  rateLimit: mutationRate,
}

export const routingPolicyOperations = {
  listRoutingPolicies: list('/config/routing-policies', RoutingPolicy, {
    iam: 'View_Routing_Policy',
    roles: routingReaders,
    rateLimit: listRate,
    filter: [
      'extId',
      'name',
      'policies/policyAction/actionType',
      'policies/policyMatch/protocolType',
      'policies/policyMatch/source',
      'priority',
      'vpcExtId',
    ],
    orderby: ['name', 'priority'],
    select: [
      'description',
      'extId',
      'links',
      'metadata',
      'name',
      'policies',
      'priority',
      'tenantId',
      'vpc',
      'vpcExtId',
    ],
    expand: { vpc: { into: 'vpcNameProjection', shape: visibleWith('Vpc', 'vpcExtId', VpcNameProjection) } },
    expandedType: 'networking.v4.config.RoutingPolicyProjection',
  }),
  createRoutingPolicy: create('/config/routing-policies', RoutingPolicy, { ...mutation, iam: 'Create_Routing_Policy' }),
  getRoutingPolicyById: get('/config/routing-policies/{extId}', RoutingPolicy, {
    iam: 'View_Routing_Policy',
    roles: routingReaders,
    rateLimit: getRate,
  }),
  updateRoutingPolicyById: update('/config/routing-policies/{extId}', RoutingPolicy, {
    ...mutation,
    iam: 'Update_Routing_Policy',
    ifMatch: 'required',
  }),
  deleteRoutingPolicyById: remove('/config/routing-policies/{extId}', RoutingPolicy, {
    ...mutation,
    iam: 'Delete_Routing_Policy',
  }),
  clearRoutingPolicyCounters: action('/stats/routing-policies/$actions/clear', {
    ...mutation,
    of: RoutingPolicy,
    body: RoutingPolicyClearCountersSpec,
    iam: 'Clear_Routing_Policy_Stats',
  }),
}
