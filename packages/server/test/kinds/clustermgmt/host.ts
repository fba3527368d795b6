/** Requests by which suites that cover every kind reach hosts. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import type { FactOwner } from '../kind.ts'

/** Ids of the devices that a seed gives to a host. */
const devicesOf = (host: string): string[] =>
  Array.from({ length: 32 }, (_, index) => seedId(`device/${host}/${index}`))

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'hardware.boots': ({ machines }) => machines(),
  'hardware.downtimes': ({ machines }) => machines(),
  'hardware.devices': async ({ ids }) => new Set([...(await ids('Host'))].flatMap(devicesOf)),
  'hardware.faults': 'nobody',
  'hardware.maintenance': ({ ids }) => ids('Host'),
  'hardware.nics': ({ machines }) => machines(),
  'hardware.slowness': ({ machines }) => machines(),
}
