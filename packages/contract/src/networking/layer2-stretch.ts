/** One broadcast domain over two sites. Source: catalogue networking.json; behaviour networking.md 1.12. */
import { resource } from '../operation.ts'
import * as s from '../schema.ts'
import { IPAddress } from '../shapes.ts'
import { HighAvailabilityGroup } from './gateway.ts'
import { descriptionText, EntityMetadata, nameText, State } from './shapes.ts'

const SiteParams = s.object('networking.v4.config.SiteParams', {
  stretchSubnetReference: s.immutable(s.optional(s.uuid())),
  connectionReference: s.immutable(s.optional(s.uuid())),
  pcClusterReference: s.optional(s.uuid()),
  stretchInterfaceIpAddress: s.optional(IPAddress),
  vpnInterfaceIPAddress: s.optional(IPAddress),
  defaultGatewayIPAddress: s.optional(IPAddress),
  highAvailabilityGroup: s.optional(HighAvailabilityGroup),
})
const StretchStatus = s.object('networking.v4.config.StretchStatus', {
  interfaceState: s.optional(State),
  tunnelState: s.optional(State),
  roundTripTimeMillis: s.optional(s.number()),
  detail: s.optional(s.text()),
})
const HighAvailabilityStatus = s.object('networking.v4.config.HighAvailabilityStatus', {
  state: s.optional(s.enumeration(['NORMAL', 'FAILOVER_IN_PROGRESS', 'FAILOVER_FAILED'])),
  errorDetails: s.optional(s.text()),
})

export const Layer2Stretch = resource(
  'networking.v4.config.Layer2Stretch',
  {
    name: nameText(),
    description: s.optional(descriptionText()),
    connectionType: s.immutable(s.optional(s.enumeration(['VPN', 'VXLAN']))),
    localSiteParams: s.optional(SiteParams),
    remoteSiteParams: s.optional(SiteParams),
    vni: s.immutable(s.optional(s.integer({ minimum: 1, maximum: 16777215 }))),
    mtu: s.optional(s.integer({ minimum: 500, maximum: 8950 })),
    stretchStatus: s.readOnly(StretchStatus),
    remoteStretchStatus: s.readOnly(
      s.arrayOf(
        s.object('networking.v4.config.RemoteVtepStretchStatus', {
          address: s.optional(IPAddress),
          status: s.optional(StretchStatus),
          highAvailabilityStatus: s.optional(HighAvailabilityStatus),
        }),
        { maxItems: 10 },
      ),
    ),
    highAvailabilityStatus: s.readOnly(HighAvailabilityStatus),
    metadata: s.optional(EntityMetadata),
  },
  { title: 'layer-2 stretch', rel: 'networking:config:layer2-stretch', notFound: 'NETWORKING_ENTITY_NOT_FOUND' },
)
