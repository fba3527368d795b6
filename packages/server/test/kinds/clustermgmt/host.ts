/** Requests by which suites that cover every kind reach hosts. */
import type { FactOwner } from '../kind.ts'

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'hardware.boots': ({ ids }) => ids('Host'),
  'hardware.downtimes': ({ ids }) => ids('Host'),
  'hardware.drives': 'nobody',
  'hardware.faults': 'nobody',
  'hardware.slowness': ({ ids }) => ids('Host'),
}
