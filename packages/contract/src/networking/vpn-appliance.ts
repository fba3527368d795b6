/** Remote devices whose configuration is generated. Not stored. Source: catalogue networking.json; networking.md 1.11. */
import { list, read, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { gatewayReaders, getRate } from './roles.ts'
import { EntityMetadata } from './shapes.ts'

export const VpnAppliance = resource('networking.v4.config.VpnAppliance', {
  fields: {
    name: s.optional(s.text({ maxLength: 128 })),
    version: s.readOnly(s.text()),
    metadata: s.optional(EntityMetadata),
  },
  derived: true,
  internal: { vpnConnectionExtId: s.uuid() },
  parent: { param: 'vpnConnectionExtId', kind: 'VpnConnection', field: 'vpnConnectionExtId' },
})

const vendorConfigs = '/config/vpn-connections/{vpnConnectionExtId}/vpn-vendor-configs'
const view = { roles: gatewayReaders }

export const vpnApplianceOperations = {
  listVpnAppliancesByVpnConnectionId: list(vendorConfigs, VpnAppliance, {
    ...view,
    envelope: 'networking.v4.config.ListVpnVendorConfigsApiResponse',
    filter: ['extId', 'name', 'version'],
    orderby: ['name', 'version'],
  }),
  getVpnApplianceForVpnConnectionById: read(`${vendorConfigs}/{extId}`, s.text({ multiline: true }), {
    ...view,
    of: VpnAppliance,
    envelope: 'networking.v4.config.GetVpnApplianceForVpnConnectionApiResponse',
    rateLimit: getRate,
    alsoProduces: ['text/plain'],
  }),
}
