/** One broadcast domain over two sites. Source: catalogue networking.json; behaviour networking.md 1.12, 2. */
import { create, get, list, remove, resource, update } from '../operation.ts'
import * as s from '../schema.ts'
import { IPAddress } from '../shapes.ts'
import { HighAvailabilityGroup } from './gateway.ts'
import { gatewayReaders, gatewayWriters, mutationRate } from './roles.ts'
import { changeHolding, descriptionText, EntityMetadata, IPConfig, nameText, ownAttributes, State } from './shapes.ts'

/** References of the remote side name entities of the other manager, or a remote gateway of this one. */
const SiteParams = s.object('networking.v4.config.SiteParams', {
  stretchSubnetReference: s.immutable(s.uuid()),
  connectionReference: s.immutable(s.uuid()),
  pcClusterReference: s.immutable(s.optional(s.uuid())),
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

export const Layer2Stretch = resource('networking.v4.config.Layer2Stretch', {
  fields: {
    name: nameText(),
    description: s.optional(descriptionText()),
    connectionType: s.immutable(s.enumeration(['VPN', 'VXLAN'])),
    localSiteParams: SiteParams,
    remoteSiteParams: SiteParams,
    vni: s.immutable(s.optional(s.integer({ minimum: 1, maximum: 16777215 }))),
    /** Default: 1392 (VPN) or 1450 (VXLAN), which leaves room for the headers of the tunnel. */
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
  iamNoun: 'Layer2_Stretch',
  title: 'layer-2 stretch',
  internal: {
    subnetExtId: s.referenceTo('Subnet'),
    vpnConnectionExtId: s.optional(s.referenceTo('VpnConnection')),
    gatewayExtId: s.optional(s.referenceTo('Gateway')),
    /** Absent: the remote VTEP gateway is an entity of the other manager. */
    remoteGatewayExtId: s.optional(s.referenceTo('Gateway')),
    /** Addresses of a VTEP gateway of the other manager. */
    remoteVteps: s.optional(s.arrayOf(s.text())),
    /** The remote subnet had it when the stretch was created. */
    remoteIpConfig: s.arrayOf(IPConfig, { maxItems: 1 }),
    createdAt: s.timestamp(),
    change: changeHolding({ name: s.optional(s.text()), interfaceAddress: s.optional(IPAddress) }),
  },
  unique: [
    { fields: ['name'], error: 'NETWORKING_ENTITY_ALREADY_EXISTS' },
    { fields: ['subnetExtId'], error: 'NETWORKING_ENTITY_ALREADY_EXISTS' },
  ],
  iam: ownAttributes,
  gate: { product: 'FLOW_VIRTUAL_NETWORKING', networkController: true },
  ofCluster: { stays: 'a stretch stays with its gateways' },
})

const view = { roles: gatewayReaders }
const mutation = { roles: gatewayWriters, rateLimit: mutationRate }
const entity = '/config/layer2-stretches/{extId}'

export const layer2StretchOperations = {
  listLayer2Stretches: list('/config/layer2-stretches', Layer2Stretch, {
    ...view,
    filter: ['extId', 'name', 'vni'],
    orderby: ['name', 'vni'],
  }),
  createLayer2Stretch: create('/config/layer2-stretches', Layer2Stretch, mutation),
  getLayer2StretchById: get(entity, Layer2Stretch, view),
  updateLayer2StretchById: update(entity, Layer2Stretch, mutation),
  deleteLayer2StretchById: remove(entity, Layer2Stretch, mutation),
}
