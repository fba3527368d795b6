/** One-to-one NAT for a VPC. Source: catalogue networking.json; behaviour networking.md 1.8, 2, operation-roles.tsv. */
import { names } from '../names.ts'
import { create, get, list, remove, resource, update } from '../operation.ts'
import * as s from '../schema.ts'
import { IPAddress, IPv4Address, IPv6Address } from '../shapes.ts'
import { mutationRate, routingReaders, vpcWriters } from './roles.ts'
import { changeHolding, descriptionText, EntityMetadata, nameText, ownAttributes } from './shapes.ts'

/** Default of `privateIp`: the primary address of the NIC. */
export const VmNicAssociation = s.object('networking.v4.config.VmNicAssociation', {
  vmNicReference: s.referenceTo('Nic'),
  privateIp: s.optional(IPAddress),
  vpcReference: s.readOnly(s.uuid()),
})
export const PrivateIpAssociation = s.object('networking.v4.config.PrivateIpAssociation', {
  privateIp: IPAddress,
  vpcReference: s.referenceTo('Vpc'),
})
export const LoadBalancerSessionAssociation = s.object('networking.v4.config.LoadBalancerSessionAssociation', {
  loadBalancerSessionReference: s.referenceTo('LoadBalancerSession'),
  privateIp: s.optional(IPAddress),
  vpcReference: s.optional(s.referenceTo('Vpc')),
})

const VmNicProjection = s.object('networking.v4.config.VmNicProjection', { privateIp: s.readOnly(s.text()) })

export const FloatingIp = resource('networking.v4.config.FloatingIp', {
  fields: {
    name: nameText(),
    description: s.optional(descriptionText()),
    externalSubnetReference: s.immutable(s.referenceTo('Subnet')),
    floatingIp: s.immutable(
      s.optionalObject('networking.v4.config.FloatingIPAddress', {
        ipv4: s.optionalObject('networking.v4.config.FloatingIPv4Address', IPv4Address.fields),
        ipv6: s.optionalObject('networking.v4.config.FloatingIPv6Address', IPv6Address.fields),
      }),
    ),
    floatingIpValue: s.readOnly(s.text()),
    association: s.optional(s.oneOf(LoadBalancerSessionAssociation, VmNicAssociation, PrivateIpAssociation)),
    associationStatus: s.readOnly(
      s.enumeration(`
        NOT_ASSOCIATED, ASSOCIATED_TO_PRIVATE_IP, ASSOCIATED_TO_VNIC, ASSOCIATED_TO_LOAD_BALANCER_SESSION
      `),
    ),
    privateIp: s.readOnly(s.text()),
    /** These three fields repeat the association; a body without `association` may set them instead. */
    loadBalancerSessionReference: s.optional(s.referenceTo('LoadBalancerSession')),
    vmNicReference: s.optional(s.referenceTo('Nic')),
    vpcReference: s.optional(s.referenceTo('Vpc')),
    metadata: s.optional(EntityMetadata),
  },
  iamNoun: 'Floating_Ip',
  internal: {
    change: changeHolding({
      privateIp: s.optional(s.text()),
      loadBalancerSessionReference: s.optional(s.referenceTo('LoadBalancerSession')),
      vmNicReference: s.optional(s.referenceTo('Nic')),
      vpcReference: s.optional(s.referenceTo('Vpc')),
    }),
  },
  indexed: ['loadBalancerSessionReference', 'vmNicReference'],
  unique: [{ fields: ['vpcReference', 'privateIp'], error: 'NETWORKING_ENTITY_ALREADY_EXISTS' }],
  iam: { ...ownAttributes, vpc_uuid: 'vpcReference' },
  gate: { product: 'FLOW_VIRTUAL_NETWORKING', networkController: true },
})

const mutation = { roles: vpcWriters, rateLimit: mutationRate }
const view = { roles: routingReaders }

export const floatingIpOperations = {
  listFloatingIps: list('/config/floating-ips', FloatingIp, {
    ...view,
    filter: names(`
      association/privateIp/ipv4/value, association/vmNicReference, association/vpcReference, extId,
      externalSubnetReference, floatingIp/ipv4/value, floatingIp/ipv6/value, loadBalancerSessionReference, name
    `),
    orderby: ['floatingIp/ipv4/value', 'floatingIp/ipv6/value', 'name'],
    expand: {
      externalSubnet: { kind: 'Subnet', by: 'externalSubnetReference', into: 'subnetProjection' },
      vmNic: { into: 'vmNicProjection', shape: VmNicProjection },
      vpc: { kind: 'Vpc', by: 'vpcReference', into: 'vpcProjection' },
    },
    expandedType: 'networking.v4.config.FloatingIpProjection',
  }),
  createFloatingIp: create('/config/floating-ips', FloatingIp, mutation),
  getFloatingIpById: get('/config/floating-ips/{extId}', FloatingIp, view),
  updateFloatingIpById: update('/config/floating-ips/{extId}', FloatingIp, mutation),
  deleteFloatingIpById: remove('/config/floating-ips/{extId}', FloatingIp, mutation),
}
