/** Requests by which suites that cover every kind reach BGP sessions. */
import type { FactOwner } from '../kind.ts'

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'fabric.bgp-fault': ({ ids }) => ids('BgpSession'),
  'fabric.bgp-peer': ({ ids }) => ids('BgpSession'),
}
