/** A NIC as its subnet sees it. Source: catalogue networking.json; behaviour networking.md 1.2, 2. */
import { names } from '../names.ts'
import { list, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { IPAddress } from '../shapes.ts'
import { listRate, subnetReaders } from './roles.ts'
import { EntityMetadata } from './shapes.ts'

export const Vnic = resource(
  'networking.v4.config.Vnic',
  {
    vmReference: s.optional(s.uuid()),
    macAddress: s.optional(s.text()),
    assignedIpv4Addresses: s.optional(s.arrayOf(IPAddress)),
    assignedSecondaryIpv4Addresses: s.optional(s.arrayOf(IPAddress)),
    learnedIpv4Addresses: s.optional(s.arrayOf(IPAddress)),
    metadata: s.optional(EntityMetadata),
  },
  {
    title: 'vNIC',
    derived: true,
    internal: { subnetExtId: s.uuid() },
    parent: { param: 'subnetExtId', kind: 'Subnet', field: 'subnetExtId' },
    rel: 'networking:config:vnic',
    notFound: 'NETWORKING_ENTITY_NOT_FOUND',
  },
)

export const vnicOperations = {
  listVnicsBySubnetId: list('/config/subnets/{subnetExtId}/vnics', Vnic, {
    envelope: 'networking.v4.config.ListSubnetVnicsApiResponse',
    iam: 'View_Subnet',
    roles: subnetReaders,
    rateLimit: listRate,
    filter: ['extId', 'macAddress', 'vmReference'],
    orderby: ['extId', 'macAddress', 'vmReference'],
    select: names(`
      assignedIpv4Addresses, assignedSecondaryIpv4Addresses, extId, learnedIpv4Addresses, macAddress, vmReference
    `),
  }),
}
