/** Internal; usage, NICs, reservations and floating IPs derive from it. Source: behaviour networking.md 1.3; 3.5 (an allocation's cost). */
import { resource } from '../operation.ts'
import * as s from '../schema.ts'

export const AddressLease = resource('networking.v4.config.AddressLease', {
  fields: {},
  internal: {
    subnetExtId: s.uuid(),
    family: s.enumeration(['IPV4', 'IPV6']),
    /** In hexadecimal of fixed width, so that text order is number order. */
    address: s.text({ maxLength: 32, pattern: '^[0-9a-f]+$' }),
    kind: s.enumeration(`
        ASSIGNED, ASSIGNED_SECONDARY, DHCP_SERVER, FLOATING, GATEWAY, GATEWAY_INTERFACE, RESERVED, ROUTER_PORT,
        STRETCH_INTERFACE, VIRTUAL_IP
      `),
    /** NIC, VPC, floating IP, session or gateway; absent for reservations. */
    holderExtId: s.optional(s.uuid()),
    clientContext: s.optional(s.text({ maxLength: 256 })),
    since: s.timestamp(),
    /** A task is releasing the address, so others cannot. */
    isLeaving: s.optional(s.boolean()),
  },
  indexed: ['holderExtId', 'clientContext'],
  unique: [
    { fields: ['subnetExtId', 'family', 'address'] },
    // Implied by the rule above; declared for its index, which lists leases of one kind in address order.
    { fields: ['subnetExtId', 'kind', 'family', 'address'] },
  ],
  ofCluster: { by: 'subnetExtId', partOf: 'Subnet' },
})

/** Consecutive leases, so that one look-up finds the lowest free address. Derived from the leases. */
export const AddressRun = resource('networking.v4.config.AddressRun', {
  fields: {},
  title: 'run of leased addresses',
  internal: {
    subnetExtId: s.uuid(),
    family: s.enumeration(['IPV4', 'IPV6']),
    first: s.text({ maxLength: 32, pattern: '^[0-9a-f]+$' }),
    last: s.text({ maxLength: 32, pattern: '^[0-9a-f]+$' }),
  },
  unique: [{ fields: ['subnetExtId', 'family', 'first'] }],
  ofCluster: { by: 'subnetExtId', partOf: 'Subnet' },
})

/** Lease counts of a subnet, stored because they are read often, under the subnet's id. */
export const AddressTally = resource('networking.v4.config.AddressTally', {
  fields: {},
  title: 'tally of leases',
  internal: {
    reserved: s.integer({ minimum: 0 }),
    /** Without the subnet's own gateway and DHCP server. */
    assigned: s.integer({ minimum: 0 }),
  },
  ofCluster: { by: 'extId', partOf: 'Subnet' },
})
