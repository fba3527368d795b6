/**
 * Who holds an address of a subnet: the only truth about addresses, never on the wire. Everything that shows one
 * (usage, NICs, reservations, floating IPs) is derived from these rows or names one.
 * Source: behaviour networking.md 1.3.
 */
import { resource } from '../operation.ts'
import { enumeration, optional, text, timestamp, uuid } from '../schema.ts'

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
    },
    indexed: ['subnetExtId', 'family', 'address', 'kind', 'holderExtId', 'clientContext'],
    unique: [{ fields: ['subnetExtId', 'family', 'address'] }],
  },
)
