/**
 * A route that a BGP session received, ignored or advertises. Read from the fabric, not stored.
 * Source: specification 2.6, 4.7; catalogue networking.json; behaviour networking.md 1.10.
 */
import { get, list, perSecond, resource } from '../operation.ts'
import { arrayOf, enumeration, object, optional, text, uuid } from '../schema.ts'
import { IPAddress } from '../shapes.ts'
import { bgpReaders } from './roles.ts'
import { BgpCommunity, descriptionText, EntityMetadata, IPSubnet } from './shapes.ts'

export const Nexthop = object('networking.v4.config.Nexthop', {
  nexthopType: enumeration(['IP_ADDRESS', 'DIRECT_CONNECT_VIF', 'LOCAL_SUBNET', 'EXTERNAL_SUBNET', 'VPN_CONNECTION']),
  nexthopReference: optional(uuid()),
  nexthopIpAddress: optional(IPAddress),
  nexthopName: optional(text()),
})

export const BgpRoute = resource(
  'networking.v4.config.BgpRoute',
  {
    /** The prefix, as text. */
    name: optional(text()),
    /** The reason when the route is ignored. */
    description: optional(descriptionText()),
    bgpSessionReference: uuid(),
    bgpRouteType: enumeration(['ADVERTISED', 'RECEIVED', 'RECEIVED_AND_IGNORED']),
    destination: optional(IPSubnet),
    nexthop: optional(Nexthop),
    bgpCommunities: optional(arrayOf(BgpCommunity)),
    metadata: optional(EntityMetadata),
  },
  {
    title: 'BGP route',
    derived: true,
    parent: { param: 'bgpSessionExtId', kind: 'BgpSession', field: 'bgpSessionReference' },
    notFound: 'NETWORKING_ENTITY_NOT_FOUND',
  },
)

export const bgpRouteOperations = {
  listRoutesByBgpSessionId: list('/config/bgp-sessions/{bgpSessionExtId}/bgp-routes', BgpRoute, {
    envelope: 'networking.v4.config.ListBgpRoutesApiResponse',
    iam: 'View_BGP_Route',
    roles: bgpReaders,
    rateLimit: perSecond(3),
    filter: [
      'bgpCommunities/autonomousSystemNumber',
      'bgpCommunities/communityValue',
      'bgpRouteType',
      'bgpSessionReference',
      'extId',
      'name',
    ],
    orderby: ['bgpRouteType', 'name'],
  }),
  getRouteForBgpSessionById: get('/config/bgp-sessions/{bgpSessionExtId}/bgp-routes/{extId}', BgpRoute, {
    envelope: 'networking.v4.config.GetBgpRouteApiResponse',
    iam: 'View_BGP_Route',
    roles: bgpReaders,
    rateLimit: perSecond(3),
  }),
}
