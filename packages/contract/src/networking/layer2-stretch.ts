/**
 * One broadcast domain over two sites, through a VPN connection or VXLAN between VTEP gateways.
 * Source: catalogue networking.json; behaviour networking.md 1.12.
 */
import { resource } from '../operation.ts'
import { arrayOf, enumeration, immutable, integer, number, object, optional, readOnly, text, uuid } from '../schema.ts'
import { IPAddress } from '../shapes.ts'
import { HighAvailabilityGroup } from './gateway.ts'
import { descriptionText, EntityMetadata, nameText, State } from './shapes.ts'

const SiteParams = object('networking.v4.config.SiteParams', {
  stretchSubnetReference: immutable(optional(uuid())),
  connectionReference: immutable(optional(uuid())),
  pcClusterReference: optional(uuid()),
  stretchInterfaceIpAddress: optional(IPAddress),
  vpnInterfaceIPAddress: optional(IPAddress),
  defaultGatewayIPAddress: optional(IPAddress),
  highAvailabilityGroup: optional(HighAvailabilityGroup),
})
const StretchStatus = object('networking.v4.config.StretchStatus', {
  interfaceState: optional(State),
  tunnelState: optional(State),
  roundTripTimeMillis: optional(number()),
  detail: optional(text()),
})
const HighAvailabilityStatus = object('networking.v4.config.HighAvailabilityStatus', {
  state: optional(enumeration(['NORMAL', 'FAILOVER_IN_PROGRESS', 'FAILOVER_FAILED'])),
  errorDetails: optional(text()),
})

export const Layer2Stretch = resource(
  'networking.v4.config.Layer2Stretch',
  {
    name: nameText(),
    description: optional(descriptionText()),
    connectionType: immutable(optional(enumeration(['VPN', 'VXLAN']))),
    localSiteParams: optional(SiteParams),
    remoteSiteParams: optional(SiteParams),
    vni: immutable(optional(integer({ minimum: 1, maximum: 16777215 }))),
    mtu: optional(integer({ minimum: 500, maximum: 8950 })),
    stretchStatus: readOnly(StretchStatus),
    remoteStretchStatus: readOnly(
      arrayOf(
        object('networking.v4.config.RemoteVtepStretchStatus', {
          address: optional(IPAddress),
          status: optional(StretchStatus),
          highAvailabilityStatus: optional(HighAvailabilityStatus),
        }),
        { maxItems: 10 },
      ),
    ),
    highAvailabilityStatus: readOnly(HighAvailabilityStatus),
    metadata: optional(EntityMetadata),
  },
  { title: 'layer-2 stretch', rel: 'networking:config:layer2-stretch', notFound: 'NETWORKING_ENTITY_NOT_FOUND' },
)
