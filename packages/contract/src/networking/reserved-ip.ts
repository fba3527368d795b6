/** An address lease of kind RESERVED. Source: catalogue networking.json; behaviour networking.md 1.3, 2. */
import { action, list, perSecond, resource } from '../operation.ts'
import type { RoleName } from '../roles.ts'
import * as s from '../schema.ts'
import { IPAddress } from '../shapes.ts'
import { subnetReaders } from './roles.ts'
import { Subnet } from './subnet.ts'

export const ReservedIp = resource('networking.v4.config.ReservedIp', {
  fields: { ipv4Address: s.optional(s.text()), clientContext: s.optional(s.text({ maxLength: 256 })) },
  title: 'reserved address',
  derived: true,
  internal: { subnetExtId: s.uuid() },
  parent: { param: 'subnetExtId', kind: 'Subnet', field: 'subnetExtId' },
})

const chosenAddresses = {
  startIpAddress: s.optional(IPAddress),
  count: s.optional(s.integer({ minimum: 1, maximum: 1000 })),
  ipAddresses: s.optional(s.arrayOf(IPAddress, { minItems: 1, maxItems: 255 })),
  clientContext: s.optional(s.text({ maxLength: 256 })),
}

/** `reserveType` decides which other fields are required; others are refused. */
export const IpReserveSpec = s.object('networking.v4.config.IpReserveSpec', {
  reserveType: s.enumeration(['IP_ADDRESS_COUNT', 'IP_ADDRESS_RANGE', 'IP_ADDRESS_LIST']),
  ...chosenAddresses,
})
export const IpUnreserveSpec = s.object('networking.v4.config.IpUnreserveSpec', {
  unreserveType: s.enumeration(['IP_ADDRESS_LIST', 'IP_ADDRESS_RANGE', 'CONTEXT']),
  ...chosenAddresses,
})

const reservers: readonly RoleName[] = ['Network Infra Admin', 'Platform Admin', 'Super Admin', 'VPC Admin']

const mutation = { of: Subnet, roles: reservers, rateLimit: perSecond(20, 25) }

export const reservedIpOperations = {
  listReservedIpsBySubnetId: list('/config/subnets/{subnetExtId}/reserved-ips', ReservedIp, {
    envelope: 'networking.v4.config.ListSubnetReservedIpsApiResponse',
    iam: 'View_Subnet',
    roles: subnetReaders,
    filter: ['clientContext', 'extId', 'ipv4Address'],
    // `ipv4Address` orders numerically.
    orderby: ['clientContext', 'extId', 'ipv4Address'],
    select: ['clientContext', 'extId', 'ipv4Address'],
  }),
  reserveIpsBySubnetId: action('/config/subnets/{extId}/addresses/$actions/reserve', {
    ...mutation,
    body: IpReserveSpec,
    iam: 'Reserve_Subnet_IP',
  }),
  unreserveIpsBySubnetId: action('/config/subnets/{extId}/addresses/$actions/unreserve', {
    ...mutation,
    body: IpUnreserveSpec,
    iam: 'Unreserve_Subnet_IP',
  }),
}
