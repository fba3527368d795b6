/** A layer-4 load balancer in a VPC. Source: catalogue networking.json; behaviour networking.md 1.14, 2. */
import { names } from '../names.ts'
import { create, get, list, remove, resource, update } from '../operation.ts'
import * as s from '../schema.ts'
import { IPAddress } from '../shapes.ts'
import { mutationRate, routingReaders, vpcWriters } from './roles.ts'
import { PortRange } from './routing-policy.ts'
import { changeHolding, descriptionText, EntityMetadata, nameText, ownAttributes } from './shapes.ts'

const port = () => s.integer({ minimum: 1, maximum: 65535 })
const threshold = () => s.withDefault(s.integer({ minimum: 1, maximum: 64 }), 3)

export const Listener = s.object('networking.v4.config.Listener', {
  protocol: s.enumeration(['TCP', 'UDP']),
  portRanges: s.arrayOf(PortRange, { minItems: 1, maxItems: 20 }),
  virtualIP: s.object('networking.v4.config.VirtualIP', {
    assignmentType: s.enumeration(['DYNAMIC', 'STATIC']),
    /** Chosen by the server for DYNAMIC. */
    ipAddress: s.optional(IPAddress),
    subnetReference: s.immutable(s.referenceTo('Subnet')),
  }),
})

/** `vmReference` and `health` follow from the NIC and the checks of the balancer. */
export const NicTarget = s.object('networking.v4.config.NicTarget', {
  virtualNicReference: s.referenceTo('Nic'),
  vmReference: s.readOnly(s.uuid()),
  /** Default: the port of the listener, if it has one port only. */
  port: s.optional(port()),
  health: s.readOnly(s.enumeration(['HEALTHY', 'UNHEALTHY'])),
})

export const CategoryTarget = s.object('networking.v4.config.CategoryTarget', {
  /** VMs with all these categories, each with its first NIC in the VPC. */
  matchAll: s.arrayOf(
    s.object('networking.v4.config.CategoryVnicSelector', {
      extId: s.referenceTo('Category'),
      scope: s.withDefault(s.enumeration(['VM']), 'VM'),
    }),
    { minItems: 1, maxItems: 10 },
  ),
  port: port(),
  nics: s.readOnly(s.arrayOf(NicTarget)),
})

export const LoadBalancerSession = resource('networking.v4.config.LoadBalancerSession', {
  fields: {
    name: nameText(),
    description: descriptionText(),
    vpcReference: s.immutable(s.referenceTo('Vpc')),
    type: s.withDefault(s.enumeration(['NETWORK_LOAD_BALANCER']), 'NETWORK_LOAD_BALANCER'),
    algorithm: s.withDefault(s.enumeration(['FIVE_TUPLE_HASH']), 'FIVE_TUPLE_HASH'),
    listener: Listener,
    healthCheckConfig: s.object('networking.v4.config.HealthCheck', {
      intervalSecs: s.withDefault(s.integer({ minimum: 1, maximum: 65535 }), 5),
      timeoutSecs: s.withDefault(s.integer({ minimum: 1, maximum: 65535 }), 2),
      successThreshold: threshold(),
      failureThreshold: threshold(),
    }),
    targetsConfig: s.object('networking.v4.config.Target', {
      nicTargets: s.optional(s.arrayOf(NicTarget, { maxItems: 64 })),
      categoryTargets: s.optional(s.arrayOf(CategoryTarget, { maxItems: 64 })),
    }),
    metadata: s.optional(EntityMetadata),
  },
  internal: {
    createdAt: s.optional(s.timestamp()),
    change: changeHolding({
      name: s.optional(s.text()),
      vpcReference: s.optional(s.uuid()),
      listener: s.optional(Listener),
    }),
  },
  unique: [{ fields: ['vpcReference', 'name'], error: 'NETWORKING_ENTITY_ALREADY_EXISTS' }],
  iam: { ...ownAttributes, vpc_uuid: 'vpcReference' },
  gate: { product: 'FLOW_VIRTUAL_NETWORKING', networkController: true },
})

const mutation = { roles: vpcWriters, rateLimit: mutationRate }
const view = { roles: routingReaders }
const selectable = names(`
  algorithm, description, extId, healthCheckConfig, links, listener, metadata, name, targetsConfig, tenantId, type,
  vpcReference
`)
const entity = '/config/load-balancer-sessions/{extId}'

export const loadBalancerSessionOperations = {
  listLoadBalancerSessions: list('/config/load-balancer-sessions', LoadBalancerSession, {
    ...view,
    filter: names('extId, listener/virtualIP/ipAddress/ipv4/value, name, type, vpcReference'),
    orderby: ['name'],
    select: selectable,
  }),
  createLoadBalancerSession: create('/config/load-balancer-sessions', LoadBalancerSession, mutation),
  getLoadBalancerSessionById: get(entity, LoadBalancerSession, { ...view, select: selectable }),
  updateLoadBalancerSessionById: update(entity, LoadBalancerSession, mutation),
  deleteLoadBalancerSessionById: remove(entity, LoadBalancerSession, mutation),
}
