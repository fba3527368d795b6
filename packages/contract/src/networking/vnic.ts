/** A NIC as its subnet sees it. Source: catalogue networking.json; behaviour networking.md 1.2, 1.4, 2. */
import { names } from '../names.ts'
import { action, baseFields, list, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { IPAddress } from '../shapes.ts'
import { mutationRate, subnetReaders } from './roles.ts'
import { EntityMetadata } from './shapes.ts'

export const Vnic = resource('networking.v4.config.Vnic', {
  fields: {
    vmReference: s.optional(s.uuid()),
    macAddress: s.optional(s.text()),
    assignedIpv4Addresses: s.optional(s.arrayOf(IPAddress)),
    assignedSecondaryIpv4Addresses: s.optional(s.arrayOf(IPAddress)),
    learnedIpv4Addresses: s.optional(s.arrayOf(IPAddress)),
    metadata: s.optional(EntityMetadata),
  },
  title: 'vNIC',
  derived: true,
  internal: { subnetExtId: s.uuid() },
  parent: { param: 'subnetExtId', kind: 'Subnet', field: 'subnetExtId' },
})

export const VnicMigrationItemSpec = s.object('networking.v4.config.VnicMigrationItemSpec', {
  ...baseFields,
  networkUuid: s.referenceTo('Subnet'),
  requestedIpAddresses: s.optional(s.arrayOf(IPAddress, { maxItems: 2 })),
  metadata: s.readOnly(EntityMetadata),
})

export const vnicOperations = {
  listVnicsBySubnetId: list('/config/subnets/{subnetExtId}/vnics', Vnic, {
    envelope: 'networking.v4.config.ListSubnetVnicsApiResponse',
    iam: 'View_Subnet',
    roles: subnetReaders,
    filter: ['extId', 'macAddress', 'vmReference'],
    orderby: ['extId', 'macAddress', 'vmReference'],
    select: names(`
      assignedIpv4Addresses, assignedSecondaryIpv4Addresses, extId, learnedIpv4Addresses, macAddress, vmReference
    `),
  }),
  migrateVnicById: action('/config/vnics/{extId}/$actions/migrate', {
    of: Vnic,
    roles: ['Network Infra Admin', 'Platform Admin', 'Super Admin', 'VPC Admin'],
    rateLimit: mutationRate,
    body: VnicMigrationItemSpec,
  }),
}
