/**
 * Who holds an address of a subnet: the only truth about addresses, never on the wire. Everything that shows one
 * (usage, NICs, reservations, floating IPs) is derived from these rows or names one.
 * Source: behaviour networking.md 1.3; 3.5 (an allocation's cost).
 */
import { resource } from '../operation.ts'
import { boolean, enumeration, integer, optional, text, timestamp, uuid } from '../schema.ts'

export const AddressLease = resource(
  'networking.v4.config.AddressLease',
  {},
  {
    title: 'address lease',
    internal: {
      subnetExtId: uuid(),
      family: enumeration(['IPV4', 'IPV6']),
      /** The address as a number, in hexadecimal of fixed width: one spelling, and text order is number order. */
      address: text({ maxLength: 32, pattern: '^[0-9a-f]+$' }),
      kind: enumeration([
        'ASSIGNED',
        'ASSIGNED_SECONDARY',
        'DHCP_SERVER',
        'FLOATING',
        'GATEWAY',
        'GATEWAY_INTERFACE',
        'RESERVED',
        'ROUTER_PORT',
        'STRETCH_INTERFACE',
        'VIRTUAL_IP',
      ]),
      /** The NIC, VPC, floating IP, session or gateway; reservations have none. */
      holderExtId: optional(uuid()),
      clientContext: optional(text({ maxLength: 256 })),
      since: timestamp(),
      /** A task gives it back: it is held until that has succeeded, and nobody else can give it back. */
      isLeaving: optional(boolean()),
    },
    indexed: ['holderExtId', 'clientContext'],
    unique: [
      { fields: ['subnetExtId', 'family', 'address'] },
      // Follows from the rule above; it is here for its index: the leases of one kind in the order of their addresses.
      { fields: ['subnetExtId', 'kind', 'family', 'address'] },
    ],
  },
)

/**
 * Leased addresses of a subnet without a gap between them, as one row: derived from the leases in the same transaction,
 * so that the lowest free address is found in one look-up, however many leases there are. Neighbouring runs are one run.
 */
export const AddressRun = resource(
  'networking.v4.config.AddressRun',
  {},
  {
    title: 'run of leased addresses',
    internal: {
      subnetExtId: uuid(),
      family: enumeration(['IPV4', 'IPV6']),
      /** As `address` above; both ends are leased. */
      first: text({ maxLength: 32, pattern: '^[0-9a-f]+$' }),
      last: text({ maxLength: 32, pattern: '^[0-9a-f]+$' }),
    },
    unique: [{ fields: ['subnetExtId', 'family', 'first'] }],
  },
)

/** How many leases a subnet has, kept with them like the runs: usage and limits are asked for often. `extId`: the subnet's. */
export const AddressTally = resource(
  'networking.v4.config.AddressTally',
  {},
  {
    title: 'tally of leases',
    internal: {
      /** Leases of the kind RESERVED. */
      reserved: integer({ minimum: 0 }),
      /** All others, but for the subnet's own gateway and DHCP server. */
      assigned: integer({ minimum: 0 }),
    },
  },
)
