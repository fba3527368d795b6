/** Not stored. Source: specification 2.6, 4.7; catalogue networking.json; behaviour networking.md 1.10. */
import { names } from '../names.ts'
import { get, list, perSecond, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { IPAddress } from '../shapes.ts'
import { bgpReaders } from './roles.ts'
import { BgpCommunity, descriptionText, EntityMetadata, IPSubnet } from './shapes.ts'

export const Nexthop = s.object('networking.v4.config.Nexthop', {
  nexthopType: s.enumeration(['IP_ADDRESS', 'DIRECT_CONNECT_VIF', 'LOCAL_SUBNET', 'EXTERNAL_SUBNET', 'VPN_CONNECTION']),
  nexthopReference: s.optional(s.uuid()),
  nexthopIpAddress: s.optional(IPAddress),
  nexthopName: s.readOnly(s.text()),
})

export const BgpRoute = resource('networking.v4.config.BgpRoute', {
  fields: {
    name: s.optional(s.text()),
    description: s.optional(descriptionText()),
    bgpSessionReference: s.uuid(),
    bgpRouteType: s.enumeration(['ADVERTISED', 'RECEIVED', 'RECEIVED_AND_IGNORED']),
    destination: s.optional(IPSubnet),
    nexthop: s.optional(Nexthop),
    bgpCommunities: s.optional(s.arrayOf(BgpCommunity)),
    metadata: s.optional(EntityMetadata),
  },
  derived: true,
  parent: { param: 'bgpSessionExtId', kind: 'BgpSession', field: 'bgpSessionReference' },
})

const view = { roles: bgpReaders, rateLimit: perSecond(3) }

export const bgpRouteOperations = {
  listRoutesByBgpSessionId: list('/config/bgp-sessions/{bgpSessionExtId}/bgp-routes', BgpRoute, {
    ...view,
    envelope: 'networking.v4.config.ListBgpRoutesApiResponse',
    filter: names(`
      bgpCommunities/autonomousSystemNumber, bgpCommunities/communityValue, bgpRouteType, bgpSessionReference, extId,
      name
    `),
    orderby: ['bgpRouteType', 'name'],
  }),
  getRouteForBgpSessionById: get('/config/bgp-sessions/{bgpSessionExtId}/bgp-routes/{extId}', BgpRoute, {
    ...view,
    envelope: 'networking.v4.config.GetBgpRouteApiResponse',
  }),
}
