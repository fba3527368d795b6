/**
 * An address of an external subnet, translated one to one to a private address of a VPC.
 * Source: catalogue networking.json; behaviour networking.md 1.8, 2, operation-roles.tsv.
 */
import { create, get, list, remove, resource, update } from '../operation.ts'
import { enumeration, immutable, object, oneOf, optional, readOnly, referenceTo, text, uuid } from '../schema.ts'
import { IPAddress, IPv4Address, IPv6Address } from '../shapes.ts'
import { getRate, listRate, mutationRate, routingReaders, vpcWriters } from './roles.ts'
import { changeHolding, descriptionText, EntityMetadata, nameText } from './shapes.ts'

/** The default of `privateIp` is the primary address of the NIC. */
export const VmNicAssociation = object('networking.v4.config.VmNicAssociation', {
  vmNicReference: referenceTo('Nic'),
  privateIp: optional(IPAddress),
  vpcReference: readOnly(uuid()),
})
export const PrivateIpAssociation = object('networking.v4.config.PrivateIpAssociation', {
  privateIp: IPAddress,
  vpcReference: referenceTo('Vpc'),
})
export const LoadBalancerSessionAssociation = object('networking.v4.config.LoadBalancerSessionAssociation', {
  loadBalancerSessionReference: uuid(),
  privateIp: optional(IPAddress),
  vpcReference: optional(referenceTo('Vpc')),
})

const VmNicProjection = object('networking.v4.config.VmNicProjection', { privateIp: readOnly(text()) })

export const FloatingIp = resource(
  'networking.v4.config.FloatingIp',
  {
    name: nameText(),
    description: optional(descriptionText()),
    externalSubnetReference: immutable(referenceTo('Subnet')),
    floatingIp: immutable(
      optional(
        object('networking.v4.config.FloatingIPAddress', {
          ipv4: optional(object('networking.v4.config.FloatingIPv4Address', IPv4Address.fields)),
          ipv6: optional(object('networking.v4.config.FloatingIPv6Address', IPv6Address.fields)),
        }),
      ),
    ),
    floatingIpValue: readOnly(text()),
    association: optional(oneOf(LoadBalancerSessionAssociation, VmNicAssociation, PrivateIpAssociation)),
    associationStatus: readOnly(
      enumeration([
        'NOT_ASSOCIATED',
        'ASSOCIATED_TO_PRIVATE_IP',
        'ASSOCIATED_TO_VNIC',
        'ASSOCIATED_TO_LOAD_BALANCER_SESSION',
      ]),
    ),
    privateIp: readOnly(text()),
    /** These three repeat the association. In a body without `association`, they are a short form of it. */
    loadBalancerSessionReference: optional(uuid()),
    vmNicReference: optional(referenceTo('Nic')),
    vpcReference: optional(referenceTo('Vpc')),
    metadata: optional(EntityMetadata),
  },
  {
    title: 'floating IP',
    internal: {
      change: optional(
        changeHolding({
          /** The association that a running update will set. */
          privateIp: optional(text()),
          vmNicReference: optional(referenceTo('Nic')),
          vpcReference: optional(referenceTo('Vpc')),
        }),
      ),
    },
    indexed: ['vmNicReference'],
    unique: [{ fields: ['vpcReference', 'privateIp'], error: 'NETWORKING_ENTITY_ALREADY_EXISTS' }],
    iam: {
      name: 'floating_ip',
      attributes: {
        category_uuid: 'metadata/categoryIds',
        name: 'name',
        owner_uuid: 'metadata/ownerReferenceId',
        project_uuid: 'metadata/projectReferenceId',
        vpc_uuid: 'vpcReference',
      },
    },
    rel: 'networking:config:floating-ip',
    notFound: 'NETWORKING_ENTITY_NOT_FOUND',
    gate: { product: 'FLOW_VIRTUAL_NETWORKING', networkController: true },
  },
)

const mutation = {
  envelope: 'networking.v4.config.TaskReferenceApiResponse',
  roles: vpcWriters,
  rateLimit: mutationRate,
}

export const floatingIpOperations = {
  listFloatingIps: list('/config/floating-ips', FloatingIp, {
    envelope: 'networking.v4.config.ListFloatingIpsApiResponse',
    iam: 'View_Floating_Ip',
    roles: routingReaders,
    rateLimit: listRate,
    filter: [
      'association/privateIp/ipv4/value',
      'association/vmNicReference',
      'association/vpcReference',
      'extId',
      'externalSubnetReference',
      'floatingIp/ipv4/value',
      'floatingIp/ipv6/value',
      'loadBalancerSessionReference',
      'name',
    ],
    orderby: ['floatingIp/ipv4/value', 'floatingIp/ipv6/value', 'name'],
    expand: {
      externalSubnet: { kind: 'Subnet', by: 'externalSubnetReference', into: 'subnetProjection' },
      vmNic: { into: 'vmNicProjection', shape: VmNicProjection },
      vpc: { kind: 'Vpc', by: 'vpcReference', into: 'vpcProjection' },
    },
    expandedType: 'networking.v4.config.FloatingIpProjection',
  }),
  createFloatingIp: create('/config/floating-ips', FloatingIp, { ...mutation, iam: 'Create_Floating_Ip' }),
  getFloatingIpById: get('/config/floating-ips/{extId}', FloatingIp, {
    envelope: 'networking.v4.config.GetFloatingIpApiResponse',
    iam: 'View_Floating_Ip',
    roles: routingReaders,
    rateLimit: getRate,
  }),
  updateFloatingIpById: update('/config/floating-ips/{extId}', FloatingIp, {
    ...mutation,
    iam: 'Update_Floating_Ip',
    ifMatch: 'required',
  }),
  deleteFloatingIpById: remove('/config/floating-ips/{extId}', FloatingIp, {
    ...mutation,
    iam: 'Delete_Floating_Ip',
  }),
}
